// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

func TestSyslogGetsTheHead(t *testing.T) {
	for _, network := range []string{"unixgram", "unix"} {
		t.Run(network, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			got := make(chan string, 1)
			switch network {
			case "unixgram":
				c, err := net.ListenUnixgram(network, &net.UnixAddr{Name: path, Net: network})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				go receive(c, got)
			default:
				l, err := net.Listen(network, path)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				go func() {
					if c, err := l.Accept(); err == nil {
						receive(c, got)
					}
				}()
			}
			if !send(t.Context(), []string{path + ".none", path}, Announcement{Head: Head{Seq: 7, Hash: strings.Repeat("ab", 32)}}) {
				t.Fatal("nobody took it")
			}
			want := `^<85>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d sentinel\[\d+\]: journal head seq=7 hash=(ab){32} unsigned\n?$`
			if line := <-got; !regexp.MustCompile(want).MatchString(line) {
				t.Errorf("%q", line)
			}
		})
	}
}

func receive(c net.Conn, got chan<- string) {
	b := make([]byte, 1024)
	n, err := c.Read(b)
	if err != nil {
		n = 0
	}
	got <- string(b[:n])
}

// A syslog that was stopped reads nothing: its queue fills, and every write to it
// would wait for ever.
func TestAStoppedSyslogHoldsNothingUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	testenv.HangGuard(t)
	for range 1000 {
		if !send(t.Context(), []string{path}, Announcement{Head: Head{Seq: 1}}) {
			return
		}
	}
	t.Fatal("the queue never filled")
}
