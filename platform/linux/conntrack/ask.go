// SPDX-License-Identifier: Apache-2.0

//go:build linux

package conntrack

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

const (
	maxAsked = 16                     // name servers
	askTime  = 100 * time.Millisecond // of all of them
)

// Ask sends name servers a question for the root zone, so that the flow is there that tells where rules send it: one
// that nobody answers is remembered for half a minute. Nobody waits for an answer, and a server that cannot be asked has
// no flow either. Nothing is sent where no address is translated.
func Ask(ctx context.Context, servers []netip.Addr) {
	question, err := new(dns.Msg).SetQuestion(".", dns.TypeNS).Pack()
	if err != nil || !translates() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for _, a := range servers[:min(len(servers), maxAsked)] {
		send(ctx, netip.AddrPortFrom(a, 53), question)
	}
}

func send(ctx context.Context, to netip.AddrPort, question []byte) {
	conn, err := new(net.Dialer).DialContext(ctx, "udp", to.String())
	if err != nil {
		return
	}
	defer conn.Close() //nolint:errcheck // nothing is waited for
	deadline, _ := ctx.Deadline()
	conn.SetWriteDeadline(deadline) //nolint:errcheck // of a socket that is open
	conn.Write(question)            //nolint:errcheck // as above
}
