// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"encoding/hex"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// The kernel's own tunnels, whoever comes through them.
func TestFarEndsOfKernelTunnelsAreProtected(t *testing.T) {
	testenv.Program(t, "bridge", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{
		"ip link add d0 type veth peer name p0", "ip link set d0 up", "ip link set p0 up", "ip addr add 192.0.2.1/24 dev d0",
		"ip link add vx0 type vxlan id 5 remote 192.0.2.9 dstport 4789", "ip link add vx1 type vxlan id 6 remote 2001:db8::9 dstport 4790",
		"ip link add vx2 type vxlan id 7 dstport 4791 local 192.0.2.1", "bridge fdb append 00:00:00:00:00:00 dev vx2 dst 192.0.2.8",
	} {
		run(t, command)
	}
	found := protectedBelow(t, "/")
	for end, tunnel := range map[string]string{"192.0.2.9/32": "vx0", "2001:db8::9/128": "vx1", "192.0.2.8/32": "vx2"} {
		if want := "the other end of the tunnel " + tunnel; found[end] != want {
			t.Errorf("%s is %q, want %q", end, found[end], want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func message(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	must(t, err)
	return b
}
