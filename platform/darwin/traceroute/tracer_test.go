// SPDX-License-Identifier: Apache-2.0

package traceroute

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/sysexec/replay"

	"sentinel/internal/sysexec"
	"sentinel/internal/traceroute"
)

// brief shows what came back: "1: 192.0.2.1 1ms, * 2: …".
func brief(hops [][]traceroute.Response) string {
	var b strings.Builder
	for i, responses := range hops {
		fmt.Fprintf(&b, "%d:", i+1)
		for _, e := range responses {
			switch {
			case !e.From.IsValid():
				b.WriteString(" *")
			default:
				fmt.Fprintf(&b, " %s %v", e.From, e.RTT)
				if e.Reached {
					b.WriteString(" reached")
				}
				if e.Rejected != "" {
					b.WriteString(" (" + e.Rejected + ")")
				}
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// The forms are those of traceroute(8) and traceroute6(8) of macOS 14, which come
// from FreeBSD's.
func TestParseTrace(t *testing.T) {
	for name, c := range map[string]struct{ to, printed, want string }{
		"as usual": {
			"198.51.100.9",
			" 1  192.0.2.1  1.125 ms  0.5 ms  2 ms\n 2  * * *\n 3  198.51.100.9  10.5 ms *  9.75 ms\n",
			"1: 192.0.2.1 1.125ms 192.0.2.1 500µs 192.0.2.1 2ms\n2: * * *\n3: 198.51.100.9 10.5ms reached * 198.51.100.9 9.75ms reached\n",
		},
		"routers that take turns": {
			"198.51.100.9",
			" 1  192.0.2.1  1 ms\n    192.0.2.2  2 ms\n    192.0.2.1  3 ms\n 2  * 192.0.2.9  4 ms *\n",
			"1: 192.0.2.1 1ms 192.0.2.2 2ms 192.0.2.1 3ms\n2: * 192.0.2.9 4ms *\n",
		},
		"in one line": {"198.51.100.9", " 1  192.0.2.1  1 ms 192.0.2.2  2 ms  3 ms\n", "1: 192.0.2.1 1ms 192.0.2.2 2ms 192.0.2.2 3ms\n"},
		"a router that refuses": {
			"198.51.100.9", " 1  192.0.2.1  1 ms !H  2 ms !N  3 ms !X\n",
			"1: 192.0.2.1 1ms (host unreachable) 192.0.2.1 2ms (network unreachable) 192.0.2.1 3ms (forbidden by a firewall)\n",
		},
		"other marks": {
			"198.51.100.9", " 1  192.0.2.1  1 ms !P  2 ms !F-1400  3 ms !<15>\n",
			"1: 192.0.2.1 1ms (protocol unreachable) 192.0.2.1 2ms (the packet is too large) 192.0.2.1 3ms (unreachable (!<15>))\n",
		},
		"the target refuses": {"198.51.100.9", " 1  198.51.100.9  1 ms !X  2 ms !  3 ms\n", "1: 198.51.100.9 1ms reached 198.51.100.9 2ms reached 198.51.100.9 3ms reached\n"},
		"no packets left":    {"198.51.100.9", " 1  192.0.2.1  1 ms !\n", "1: 192.0.2.1 1ms\n"},
		"IPv6": {
			"2001:db8::9",
			"traceroute6 to 2001:db8::9 (2001:db8::9) from 2001:db8:1::7, 30 hops max, 12 byte packets\n 1  fe80::1%en0  1 ms  2 ms *\n 2  2001:db8::9  3 ms  4 ms !A  5 ms\n",
			"1: fe80::1 1ms fe80::1 2ms *\n2: 2001:db8::9 3ms reached 2001:db8::9 4ms reached 2001:db8::9 5ms reached\n",
		},
		"IPv6, refused": {"2001:db8::9", " 1  2001:db8::1  1 ms !P  2 ms !A  3 ms !N\n", "1: 2001:db8::1 1ms (forbidden by a firewall) 2001:db8::1 2ms (host unreachable) 2001:db8::1 3ms (network unreachable)\n"},
		"cut":           {"198.51.100.9", " 1  192.0.2.1  1 ms  0.5 ms  2 ms\n 2  192.0.2.2  4 ms  0.", "1: 192.0.2.1 1ms 192.0.2.1 500µs 192.0.2.1 2ms\n2: 192.0.2.2 4ms\n"},
		"cut early":     {"198.51.100.9", " 1  192.0", "1:\n"},
		"many hops":     {"198.51.100.9", strings.Repeat("\n", 3) + " 1  *\n 2  *\n", "1: *\n2: *\n"},
		"nothing":       {"198.51.100.9", "", ""},
	} {
		hops, err := ParseTrace([]byte(c.printed), netip.MustParseAddr(c.to))
		if got := brief(hops); err != nil || got != c.want {
			t.Errorf("%s: %v\ngot  %q\nwant %q", name, err, got, c.want)
		}
	}
}

func TestWhatIsNoTraceIsAnError(t *testing.T) {
	for name, printed := range map[string]string{
		"words":                 "something else\n",
		"a hop left out":        " 1  192.0.2.1  1 ms\n 3  192.0.2.3  1 ms\n",
		"a time without end":    " 1  192.0.2.1  1 s\n",
		"a time of nobody":      " 1  1.5 ms\n",
		"a negative time":       " 1  192.0.2.1  -1 ms\n",
		"no number":             " 1  192.0.2.1  NaN ms\n",
		"a mark of nobody":      " 1  !H\n",
		"a mark after silence":  " 1  * !H\n",
		"a name":                " 1  router.example (192.0.2.1)  1 ms\n",
		"no first hop":          "    192.0.2.1  1 ms\n",
		"a number out of range": " 1  192.0.2.1  1e300 ms\n",
	} {
		if hops, err := ParseTrace([]byte(printed), netip.MustParseAddr("198.51.100.9")); err == nil {
			t.Errorf("%s: %s", name, brief(hops))
		}
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add([]byte(" 1  192.0.2.1  1.125 ms  0.5 ms *\n    192.0.2.2  4 ms !H\n"))
	f.Add([]byte(" 1  fe80::1%en0  1 ms !P\n 2  * * *\n"))
	f.Fuzz(func(t *testing.T, printed []byte) {
		hops, _ := ParseTrace(printed, netip.MustParseAddr("198.51.100.9"))
		for _, responses := range hops {
			for _, e := range responses {
				if e.RTT < 0 || e.RTT > 1000*time.Second || !e.From.IsValid() && (e.Reached || e.Rejected != "") || e.Reached && e.Rejected != "" || e.From.Zone() != "" {
					t.Errorf("%+v", e)
				}
			}
		}
	})
}

func TestTrace(t *testing.T) {
	const hop = " 1  192.0.2.1  1 ms\n"
	deadline := fmt.Errorf("run: %w", context.DeadlineExceeded)
	for name, c := range map[string]struct {
		to   string
		tool replay.Sequence
		hops int
		err  error
		ran  []string
	}{
		"IPv4":   {"198.51.100.9", replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(hop)}}}, 1, nil, []string{"/usr/sbin/traceroute -n -q 3 -w 1 -m 30 198.51.100.9"}},
		"IPv6":   {"2001:db8::9", replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(hop)}}}, 1, nil, []string{"/usr/sbin/traceroute6 -n -q 3 -w 1 -m 30 2001:db8::9"}},
		"mapped": {"::ffff:198.51.100.9", replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(hop)}}}, 1, nil, []string{"/usr/sbin/traceroute -n -q 3 -w 1 -m 30 198.51.100.9"}},
		"waits longer": {
			"198.51.100.9", replay.Sequence{Results: []sysexec.Result{{Exit: 1, Stderr: []byte("traceroute: wait time must be > 1\n")}, {Stdout: []byte(hop)}}}, 1, nil,
			[]string{"/usr/sbin/traceroute -n -q 3 -w 1 -m 30 198.51.100.9", "/usr/sbin/traceroute -n -q 3 -w 2 -m 30 198.51.100.9"},
		},
		"out of time":   {"198.51.100.9", replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(hop + " 2  *")}}, Err: deadline}, 2, context.DeadlineExceeded, nil},
		"no route":      {"198.51.100.9", replay.Sequence{Results: []sysexec.Result{{Exit: 1, Stderr: []byte("traceroute to 198.51.100.9 (198.51.100.9), 30 hops max, 40 byte packets\ntraceroute: sendto: No route to host\n")}}}, 0, traceroute.ErrNoRoute, nil},
		"no network":    {"2001:db8::9", replay.Sequence{Results: []sysexec.Result{{Exit: 1, Stderr: []byte("connect: Network is unreachable\n")}}}, 0, traceroute.ErrNoRoute, nil},
		"not to be run": {"198.51.100.9", replay.Sequence{Err: context.Canceled}, 0, context.Canceled, nil},
		"words":         {"198.51.100.9", replay.Sequence{Results: []sysexec.Result{{Stdout: []byte("odd\n")}}}, 0, errFormat, nil},
	} {
		hops, err := NewTracer(&c.tool).Trace(t.Context(), netip.MustParseAddr(c.to), 30, 3)
		if len(hops) != c.hops || !errors.Is(err, c.err) || c.ran != nil && !slices.Equal(c.tool.Ran, c.ran) {
			t.Errorf("%s: %s, %v, ran %q", name, brief(hops), err, c.tool.Ran)
		}
	}
	for _, bad := range []netip.Addr{{}, netip.MustParseAddr("fe80::1%en0")} {
		o := &replay.Sequence{}
		if _, err := NewTracer(o).Trace(t.Context(), bad, 30, 3); err == nil || len(o.Ran) > 0 {
			t.Errorf("%v: %v, ran %q", bad, err, o.Ran)
		}
	}
	o := &replay.Sequence{Results: []sysexec.Result{{Exit: 77}}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := NewTracer(o).Trace(ctx, netip.MustParseAddr("198.51.100.9"), 30, 3); err == nil || !strings.Contains(err.Error(), "status 77") || o.Limits[0] > 10*time.Second-waitDelay || o.Limits[0] < time.Second {
		t.Errorf("%v, limits %v", err, o.Limits)
	}
}
