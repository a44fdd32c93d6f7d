// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"
)

const (
	syslogLimit = 100 * time.Millisecond
	// authpriv.notice, RFC 5424 section 6.2.1: the facility that other users usually
	// cannot read and that administrators send to other machines. The shipped units drop what is
	// less than a notice.
	syslogPriority = 10<<3 | 5
)

// syslogSockets are those of Linux and macOS, as in log/syslog. That package has
// no timeout: a stopped syslog would block every write.
var syslogSockets = []string{"/dev/log", "/var/run/syslog", "/var/run/log"}

// toSyslog sends a head to syslog. If there is none, or it does not listen, only
// this copy is lost.
func toSyslog(ctx context.Context, a Announcement) { send(ctx, syslogSockets, a) }

// send tries the sockets in turn and reports whether one took the head.
func send(ctx context.Context, sockets []string, a Announcement) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), syslogLimit)
	defer cancel()
	line := fmt.Sprintf("<%d>%s sentinel[%d]: %s", syslogPriority, time.Now().Format(time.Stamp), os.Getpid(), a.text())
	for _, path := range sockets {
		for _, network := range []string{"unixgram", "unix"} {
			if write(ctx, network, path, line) == nil {
				return true
			}
		}
	}
	return false
}

func write(ctx context.Context, network, path, line string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, path)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // nothing can be done about it
	deadline, _ := ctx.Deadline()
	if err := c.SetWriteDeadline(deadline); err != nil {
		return err
	}
	if network == "unix" {
		line += "\n"
	}
	_, err = c.Write([]byte(line))
	return err
}
