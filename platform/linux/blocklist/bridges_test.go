// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

func TestBridgesThatNoFilterSeesAreNamed(t *testing.T) {
	const net, call4, call6 = "sys/class/net/", "proc/sys/net/bridge/bridge-nf-call-iptables", "proc/sys/net/bridge/bridge-nf-call-ip6tables"
	twoPorts := map[string]string{net + "br0/brif/eth0/x": "", net + "br0/brif/tap0/x": "", net + "br1/brif/eth1/x": ""}
	for name, c := range map[string]struct {
		files map[string]string
		names string
	}{
		"br_netfilter is not loaded": {nil, "br0"},
		"off":                        {map[string]string{call4: "0\n", call6: "0\n"}, "br0"},
		"on for IPv4 alone":          {map[string]string{call4: "1\n", call6: "0\n"}, "br0"},
		"on":                         {map[string]string{call4: "1\n", call6: "1\n"}, ""},
		"on for this bridge":         {map[string]string{net + "br0/bridge/nf_call_iptables": "1\n", net + "br0/bridge/nf_call_ip6tables": "1\n"}, ""},
		"many":                       {map[string]string{net + "b2/brif/a/x": "", net + "b2/brif/b/x": "", net + "b3/brif/a/x": "", net + "b3/brif/b/x": "", net + "b4/brif/a/x": "", net + "b4/brif/b/x": ""}, "b2, b3, b4 and 1 more"},
	} {
		root := t.TempDir()
		for _, files := range []map[string]string{twoPorts, c.files} {
			for path, content := range files {
				path = filepath.Join(root, path)
				os.MkdirAll(filepath.Dir(path), 0o755)
				os.WriteFile(path, []byte(content), 0o600)
			}
		}
		if said := unseenBridges(root); c.names == "" && said != "" || c.names != "" && !strings.HasSuffix(said, "are not both 1, for "+c.names+".") {
			t.Errorf("%s: %q", name, said)
		}
	}
	if said := unseenBridges(t.TempDir()); said != "" {
		t.Errorf("without bridges: %q", said)
	}
}

// A blocked host reaches a guest behind a bridge, and the answer says so.
func TestGuestsBehindABridgeAreBeyondABlock(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{
		"mount -t sysfs sysfs /sys", "ip link add br0 type bridge", "ip link add a0 type veth peer name a1", "ip link add b0 type veth peer name b1", "ip link set a0 master br0",
	} {
		run(t, command)
	}
	if said := NewNftables().Abilities().Beyond(); said != "" {
		t.Errorf("with one port: %s", said)
	}
	run(t, "ip link set b0 master br0")
	if _, err := os.Stat("/proc/sys/net/bridge"); err == nil {
		run(t, "sysctl -qw net.bridge.bridge-nf-call-iptables=0")
	}
	for _, b := range []string{"nftables", "iptables-nft"} {
		if said := backendOf(b).Abilities().Beyond(); !strings.HasSuffix(said, "for br0.") {
			t.Errorf("%s: %q", b, said)
		}
	}
}
