// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sentinel/internal/blocklist/blocklisttest"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/pfctl"
)

// The one proof that no recorded output gives: that pf of this macOS looks at the
// own anchor and drops packets there. The test changes pf of this Mac, and for
// moments flushes its main ruleset, so that it has to be asked for.
func TestPFOfThisMacKeepsTheContract(t *testing.T) {
	if os.Geteuid() != 0 || os.Getenv("SENTINEL_MAC_WRITES") != "yes" {
		t.Skip("this flushes and reloads the rules of pf; it needs root and SENTINEL_MAC_WRITES=yes")
	}
	b := NewPF(Parts{Runner: sysexec.Host{}, StateDir: filepath.Join(t.TempDir(), "state")})
	reload := func(t *testing.T) { pf(t, "-f", "/etc/pf.conf") }
	clean := func(t *testing.T) {
		reload(t)
		if err := b.Remove(t.Context(), addressesOf(blocklisttest.MustLoad(t, b))); err != nil {
			t.Fatal(err)
		}
		if err := b.Remove(t.Context(), peers); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { clean(t) })
	blocklisttest.Contract(t, blocklisttest.Subject{
		Backend: b, Peers: peers, Strangers: strangers, Most: 20_000, LetsGo: true, Kept: true,
		Clean:  clean,
		Passes: func(t *testing.T, peer netip.Addr) { dropped(t, peer, false) },
		Stops: func(t *testing.T, peer netip.Addr) {
			dropped(t, peer, true)
			for _, s := range strangers {
				dropped(t, s, false)
			}
		},
		Flush: func(t *testing.T) { pf(t, "-F", "rules") },
		Overtake: func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pf.conf")
			text := "scrub-anchor \"com.apple/*\"\npass quick all\nanchor \"com.apple/*\"\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			pf(t, "-f", file)
		},
		Repair: reload,
	})
}

func pf(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(pfctl.Program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("pfctl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// packets is what "-v -s rules" shows below each rule.
var packets = regexp.MustCompile(`Packets: ([0-9]+)`)

// countDropped counts the packets that the own rules have dropped.
func countDropped(t *testing.T) int {
	t.Helper()
	out, err := exec.Command(pfctl.Program, "-a", anchor, "-v", "-s", "rules").Output()
	if err != nil {
		return 0 // there is no such anchor
	}
	sum := 0
	for _, found := range packets.FindAllSubmatch(out, -1) {
		n, err := strconv.Atoi(string(found[1]))
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// dropped checks what becomes of a packet to an address. One that this Mac has
// no route for tells nothing.
func dropped(t *testing.T, to netip.Addr, want bool) {
	t.Helper()
	before := countDropped(t)
	conn, err := net.Dial("udp", net.JoinHostPort(to.String(), "9"))
	if err != nil {
		t.Logf("%s: %v", to, err)
		return
	}
	defer conn.Close()
	for range 50 {
		<-time.After(20 * time.Millisecond)
		fmt.Fprint(conn, "x") // fails where pf tells the sender
		if n := countDropped(t) - before; n > 0 {
			if !want {
				t.Errorf("%s: %d packets are dropped", to, n)
			}
			return
		}
		if !want {
			return
		}
	}
	if want {
		t.Errorf("%s: no packet is dropped; the rules are %q", to, slices.Collect(strings.Lines(pf(t, "-s", "rules"))))
	}
}
