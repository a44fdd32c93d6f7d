// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sentinel/internal/blocklist"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/netattr"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestElementsAreParsed(t *testing.T) {
	const key = "0c000180 08000100 c0000201"
	block := func(left time.Duration) []blocklist.Block {
		return []blocklist.Block{{Address: netip.MustParseAddr("192.0.2.1"), Left: left}}
	}
	for name, c := range map[string]struct {
		element string
		want    []blocklist.Block
		err     error
	}{
		"for ever":             {key, block(0), nil},
		"for a while":          {key + "0c000400 00000000 0036ee80 0c000500 00000000 0036ee6c", block(time.Hour - 20*time.Millisecond), nil},
		"in its last moment":   {key + "0c000400 00000000 0036ee80 0c000500 00000000 00000000", block(time.Millisecond), nil},
		"a limit of none":      {key + "0c000400 00000000 00000000", block(0), nil},
		"for ages":             {key + "0c000400 ffffffff ffffffff 0c000500 ffffffff ffffffff", block((1<<63 - 1) / time.Millisecond * time.Millisecond), nil},
		"no address":           {"0c000180 07000100 c0000200", nil, nil},
		"the end of a range":   {key + "08000300 00000001", nil, nil},
		"the begin of a range": {key + "08000300 00000000", block(0), nil},
		"a short limit":        {key + "08000400 0036ee80", nil, netattr.ErrFormat},
		"short flags":          {key + "06000300 00010000", nil, netattr.ErrFormat},
		"cut off":              {"0c000180 08000100 c000", nil, netattr.ErrFormat},
	} {
		element := unhex(t, c.element)
		list := within(3, within(1, element))
		got, err := appendBlocks(nil, append([]byte{1, 0, 0, 0}, list...))
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if _, err := appendBlocks(nil, []byte{1, 0}); !errors.Is(err, netattr.ErrFormat) {
		t.Errorf("short: %v", err)
	}
}

// within is an attribute that holds others.
func within(kind byte, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(content)))
	return append(append(b, kind, 0x80), content...)
}

func FuzzElements(f *testing.F) {
	f.Add(append([]byte{1, 0, 0, 0}, within(3, within(1, within(1, []byte("\x08\x00\x01\x00\xc0\x00\x02\x01"))))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, _ := appendBlocks(nil, b)
		for _, block := range list {
			if !block.Address.IsValid() || block.Left < 0 {
				t.Errorf("%x is %v", b, block)
			}
		}
	})
}

func TestRulesetIsRead(t *testing.T) {
	r := newRuleset(false)
	r.exists = true
	r.noteJumps("INPUT", []string{"-P INPUT ACCEPT", "-A INPUT -j SENTINEL", "-A INPUT -i lo -j ACCEPT", "-A INPUT -j SENTINEL"})
	r.noteJumps("OUTPUT", []string{"-P OUTPUT ACCEPT", "-A OUTPUT -j ACCEPT", "-A OUTPUT -j SENTINEL"})
	r.noteJumps("FORWARD", []string{"-P FORWARD DROP", "-A FORWARD -i eth0 -j SENTINEL"})
	r.noteRules([]string{
		"-N SENTINEL", "-A SENTINEL -s 192.0.2.1/32 -j DROP", "-A SENTINEL -d 192.0.2.1/32 -j DROP", "-A SENTINEL -s 192.0.2.1/32 -j DROP",
		"-A SENTINEL -s 192.0.2.2/32 -j DROP",
	})
	if r.foreign || r.effective() || !slices.Equal(r.addresses(), []netip.Addr{netip.MustParseAddr("192.0.2.1")}) {
		t.Errorf("read %+v", r)
	}
	got := r.adding([]netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")})
	want := []string{"-A SENTINEL -d 192.0.2.2 -j DROP", "-D OUTPUT -j SENTINEL", "-I OUTPUT 1 -j SENTINEL", "-I FORWARD 1 -j SENTINEL"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	want = []string{"-D SENTINEL -s 192.0.2.1 -j DROP", "-D SENTINEL -s 192.0.2.1 -j DROP", "-D SENTINEL -d 192.0.2.1 -j DROP"}
	if diff := cmp.Diff(want, r.removing([]netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.9")})); diff != "" {
		t.Error(diff)
	}
	six := newRuleset(true)
	six.exists, six.first = true, map[string]bool{"INPUT": true, "OUTPUT": true, "FORWARD": true}
	six.noteRules([]string{"-A SENTINEL -s 2001:db8::1/128 -j DROP", "-A SENTINEL -d 2001:db8::1/128 -j DROP"})
	commands := six.adding(nil)
	if six.effective() || len(commands) != 11 || commands[0] != "-F SENTINEL" || commands[3] != "-A SENTINEL -s fe80::/10 -p ipv6-icmp -m icmp6 --icmpv6-type 132 -j RETURN" || commands[8] != "-A SENTINEL -p ipv6-icmp -m icmp6 --icmpv6-type 137 -m hl --hl-eq 255 -j RETURN" || commands[10] != "-A SENTINEL -d 2001:db8::1 -j DROP" {
		t.Errorf("what an earlier version left is not put right: %q", commands)
	}
	// As two runs leave it that made the chain at once.
	twice := newRuleset(true)
	twice.exists, twice.first = true, six.first
	for _, rule := range slices.Concat(neighbourRules(true), neighbourRules(true)) {
		twice.noteRules([]string{"-A " + rule})
	}
	if got := twice.adding(nil); !twice.effective() || len(got) != 0 {
		t.Errorf("rules for neighbours that are there twice are mended by %q", got)
	}
	for _, foreign := range []string{
		"-A SENTINEL -j ACCEPT", "-A SENTINEL -s 192.0.2.0/24 -j DROP", "-A SENTINEL -s 192.0.2.1/32 -j ACCEPT", "-A SENTINEL -i 192.0.2.1/32 -j DROP",
		"-A SENTINEL ! -s 192.0.2.1/32 -j DROP", "-A SENTINEL -s x/32 -j DROP", "-A SENTINEL -s 192.0.2.1/32 -p tcp -j DROP", "-A OTHER -s 192.0.2.1/32 -j DROP",
	} {
		r := newRuleset(false)
		if r.noteRules([]string{foreign}); !r.foreign || len(r.addresses()) != 0 {
			t.Errorf("%s is one of ours", foreign)
		}
	}
}

func FuzzRuleset(f *testing.F) {
	f.Add("-A SENTINEL -s 192.0.2.1/32 -j DROP\n-A SENTINEL -d 192.0.2.1/32 -j DROP", "-A INPUT -j SENTINEL")
	f.Fuzz(func(t *testing.T, rules, jumps string) {
		r := newRuleset(false)
		r.exists = true
		r.noteRules(strings.Split(rules, "\n"))
		r.noteJumps("INPUT", strings.Split(jumps, "\n"))
		for _, command := range append(r.adding(numbered(4, 1)), r.removing(r.addresses())...) {
			if strings.ContainsAny(command, "\n;`$\"") || !strings.Contains(command, OwnChain) {
				t.Errorf("%q", command)
			}
		}
	})
}

// Sockets of UDP that are connected are closed, and others are not.
func TestConnectedUDPIsCut(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	newTestNetwork(t)
	dial := func(network, to string) net.Conn {
		conn, err := net.Dial(network, net.JoinHostPort(to, "9"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	open := []net.Conn{dial("udp4", peer4), dial("udp6", peer6), dial("udp4", peer4)}
	other, err := net.ListenPacket("udp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	stranger := dial("udp4", stranger4)
	for _, c := range []struct {
		address netip.Addr
		want    int
	}{{peers[0], 2}, {peers[0], 0}, {netip.AddrFrom16(peers[0].As16()), 0}, {peers[1], 1}, {netip.MustParseAddr("192.0.2.1"), 0}} {
		if n, err := (ConnKiller{}).Kill(t.Context(), c.address); n != c.want || err != nil {
			t.Errorf("%s: cut %d, %v; want %d", c.address, n, err, c.want)
		}
	}
	for _, c := range open {
		c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := c.Read(make([]byte, 1)); err == nil || errnoOf(err) == 0 {
			t.Errorf("%s is open: %v", c.LocalAddr(), err)
		}
	}
	if _, err := stranger.Write([]byte("x")); err != nil {
		t.Errorf("the stranger's: %v", err)
	}
	if _, err := other.WriteTo([]byte("x"), &net.UDPAddr{IP: net.ParseIP(stranger4), Port: 9}); err != nil {
		t.Errorf("an unconnected one: %v", err)
	}
}

// Half-open connections, listeners and those that are over are no sockets to
// close.
func TestListenersStay(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	w := newTestNetwork(t)
	l, err := net.Listen("tcp4", here4+":8000")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, a := range []netip.Addr{netip.MustParseAddr("0.0.0.0"), netip.MustParseAddr("::"), netip.MustParseAddr(here4)} {
		if n, err := (ConnKiller{}).Kill(t.Context(), a); n != 0 || err != nil {
			t.Errorf("%s: cut %d, %v", a, n, err)
		}
	}
	p := w.connect("tcp4", here4)
	if !p.flows(testenv.HangLimit) {
		t.Error("another connection was cut")
	}
	done := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		done <- err
	}()
	at(t, "peer", func() { _, err = net.DialTimeout("tcp4", here4+":8000", 5*time.Second) })
	if err := errors.Join(err, <-done); err != nil {
		t.Errorf("the listener is gone: %v", err)
	}
}
