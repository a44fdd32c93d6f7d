// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// Each row is a network namespace of its own with real rules in it.
func TestFirewallOfRealKernelRules(t *testing.T) {
	testenv.Namespaces(t)
	for name, c := range map[string]struct {
		commands []string
		want     string
		evidence string
	}{
		"nothing": {nil, firewall.Disabled, "no rule"},
		"nft policy drop": {[]string{
			"nft add table inet filter",
			"nft add chain inet filter input { type filter hook input priority 0 ; policy drop ; }",
		}, firewall.Active, "chain input of table inet filter filters what comes in"},
		"nft accepts": {[]string{
			"nft add table inet filter",
			"nft add chain inet filter input { type filter hook input priority 0 ; }",
			"nft add rule inet filter input tcp dport 22 accept",
		}, firewall.Disabled, "no rule"},
		"nft drop behind a jump": {[]string{
			"nft add table ip t", "nft add chain ip t in { type filter hook input priority 0 ; }", "nft add chain ip t next",
			"nft add rule ip t in jump next", "nft add rule ip t next tcp dport 23 counter reject",
		}, firewall.Active, "chain in of table ip t filters what comes in, IPv4 only"},
		"nft drop in a verdict map": {[]string{
			"nft add table inet t", "nft add chain inet t in { type filter hook input priority 0 ; }",
			"nft add rule inet t in ct state vmap { established : accept, invalid : drop }",
		}, firewall.Active, "table inet t"},
		"nft jump in a named verdict map of ports": {[]string{
			"nft add table inet t", "nft add chain inet t in { type filter hook input priority 0 ; }", "nft add chain inet t closed",
			"nft add rule inet t closed drop", "nft add map inet t ports { type inet_service : verdict ; flags interval ; }",
			"nft add element inet t ports { 1-1023 : jump closed }", "nft add rule inet t in tcp dport vmap @ports",
		}, firewall.Active, "table inet t"},
		"nft set that only marks": {[]string{
			"nft add table inet t", "nft add chain inet t in { type filter hook input priority 0 ; }",
			"nft add rule inet t in meta mark set tcp dport map { 22 : 1, 80 : 2 }", "nft add rule inet t in tcp dport { 22, 80 } accept",
		}, firewall.Disabled, "no rule"},
		"nft drop before routing": {[]string{
			"nft add table inet t", "nft add chain inet t early { type filter hook prerouting priority 0 ; }", "nft add rule inet t early tcp dport 23 drop",
		}, firewall.Active, "chain early of table inet t"},
		"nft drop at a device": {[]string{
			"nft add table netdev t", "nft add chain netdev t dev { type filter hook ingress device lo priority 0 ; policy drop ; }",
		}, firewall.Active, "chain dev of table netdev t"},
		"nft drop at a device, family inet": {[]string{
			"nft add table inet t", "nft add chain inet t dev { type filter hook ingress device lo priority 0 ; policy drop ; }",
		}, firewall.Active, "chain dev of table inet t"},
		"nft drop in the same table of another family": {[]string{
			"nft add table ip t", "nft add chain ip t in { type filter hook input priority 0 ; }", "nft add chain ip t next", "nft add rule ip t in jump next",
			"nft add table ip6 t", "nft add chain ip6 t next", "nft add rule ip6 t next drop",
		}, firewall.Disabled, "no rule"},
		"nft dormant": {[]string{
			"nft add table inet t { flags dormant ; }", "nft add chain inet t in { type filter hook input priority 0 ; policy drop ; }",
		}, firewall.Disabled, "no rule"},
		"nft forward and output only": {[]string{
			"nft add table inet t", "nft add chain inet t f { type filter hook forward priority 0 ; policy drop ; }",
			"nft add chain inet t o { type filter hook output priority 0 ; policy drop ; }",
		}, firewall.Disabled, "no rule"},
		"own table": {[]string{
			"nft add table inet sentinel", "nft add chain inet sentinel input { type filter hook input priority -300 ; }",
			"nft add set inet sentinel blocked4 { type ipv4_addr ; flags timeout ; }",
			"nft add element inet sentinel blocked4 { 203.0.113.7 timeout 1h }",
			"nft add rule inet sentinel input ip saddr @blocked4 counter drop",
		}, firewall.Disabled, "no rule"},
		"fail2ban with nft, nobody banned": {append(slices.Clone(nftBan), banned), firewall.Disabled, "no rule"},
		"fail2ban with nft":                {append(slices.Clone(nftBan), banned, "nft add element inet f2b-table addr-set-sshd { 203.0.113.9 }"), firewall.Disabled, "no rule"},
		"fail2ban beside a firewall":       {append(slices.Clone(nftBan), banned, "iptables-nft -A INPUT -p tcp --dport 23 -j DROP"), firewall.Active, "chain INPUT of table ip filter"},
		"fail2ban over nft": {[]string{
			"iptables-nft -N f2b-sshd", "iptables-nft -A f2b-sshd -j RETURN", "iptables-nft -I INPUT -p tcp -m multiport --dports 5432 -j f2b-sshd",
			"iptables-nft -I f2b-sshd 1 -s 203.0.113.9 -j REJECT --reject-with icmp-port-unreachable",
		}, firewall.Disabled, "no rule"},
		"fail2ban with iptables-legacy": {[]string{
			"iptables-legacy -N f2b-sshd", "iptables-legacy -A f2b-sshd -j RETURN", "iptables-legacy -I INPUT -p tcp -m multiport --dports 22 -j f2b-sshd",
			"iptables-legacy -I f2b-sshd 1 -s 203.0.113.9 -j DROP",
		}, firewall.Disabled, "no rule"},
		"all but one network": {[]string{"iptables-legacy -A INPUT ! -s 192.0.2.0/24 -j DROP"}, firewall.Active, "table ip filter"},
		"iptables over nft, drop": {[]string{
			"iptables-nft -N ufw-user-input", "iptables-nft -A INPUT -j ufw-user-input", "iptables-nft -A ufw-user-input -p tcp --dport 23 -j DROP",
		}, firewall.Active, "chain INPUT of table ip filter"},
		"iptables over nft, reject": {[]string{
			"iptables-nft -N ufw-user-input", "iptables-nft -A INPUT -j ufw-user-input", "iptables-nft -A ufw-user-input -p tcp --dport 23 -j REJECT",
		}, firewall.Active, "chain INPUT of table ip filter"},
		"iptables over nft, accept": {[]string{
			"iptables-nft -A INPUT -p tcp --dport 22 -j ACCEPT",
		}, firewall.Disabled, "no rule"},
		"ip6tables over nft": {[]string{"ip6tables-nft -P INPUT DROP"}, firewall.Active, "IPv6 only"},
		"iptables-legacy": {[]string{
			"iptables-legacy -N x", "iptables-legacy -A INPUT -j x", "iptables-legacy -A x -p tcp --dport 23 -j REJECT",
		}, firewall.Active, "table ip filter filters what comes in, IPv4 only"},
		"iptables-legacy, accept": {[]string{"iptables-legacy -A INPUT -p tcp --dport 22 -j ACCEPT"}, firewall.Disabled, "no rule"},
		"ip6tables-legacy":        {[]string{"ip6tables-legacy -P INPUT DROP"}, firewall.Active, "INPUT"},
	} {
		t.Run(name, func(t *testing.T) {
			if !testenv.Inside(t, "unshare", "--net") {
				return
			}
			run(t, c.commands)
			got := firewall.Assess(liveSource(empty(t)).Firewall(t.Context()))
			if got.State != c.want || !strings.Contains(got.Evidence, c.evidence) {
				t.Errorf("got %+v, want %s with %q", got, c.want, c.evidence)
			}
		})
	}
}

// What the action nftables-multiport of fail2ban loads.
var nftBan = []string{
	"nft add table inet f2b-table", "nft add chain inet f2b-table f2b-chain { type filter hook input priority -1 ; policy accept ; }",
	"nft add set inet f2b-table addr-set-sshd { type ipv4_addr ; }",
}

const banned = "nft add rule inet f2b-table f2b-chain tcp dport 22 ip saddr @addr-set-sshd reject with icmp port-unreachable"

// liveSource reads the kernel's rules, and the configuration of ufw below root.
func liveSource(root string) *Source {
	s := NewSource("/", sysexec.Host{})
	s.root = root
	s.onBus = func(context.Context, string) bool { return false }
	return s
}

func run(t *testing.T, commands []string) {
	t.Helper()
	for _, c := range commands {
		name, args, _ := strings.Cut(c, " ")
		from := "iptables"
		if name == "nft" {
			from = "nftables"
		}
		if out, err := exec.Command(testenv.Program(t, name, from), strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", c, err, out)
		}
	}
}

// empty makes a directory that every user may read.
func empty(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sentinel-netfilter-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFirewallIsUnknownWithoutTheRightToLook(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--net") {
		return
	}
	run(t, []string{"nft add table inet filter", "nft add chain inet filter input { type filter hook input priority 0 ; policy drop ; }"})
	plain, managed := empty(t), empty(t)
	if err := os.MkdirAll(filepath.Join(managed, "etc", "ufw"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(managed, "etc", "ufw", "ufw.conf"), []byte("# /etc/ufw/ufw.conf\nENABLED=yes\nLOGLEVEL=low\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	testenv.Become(t, testenv.Nobody)
	if got := firewall.Assess(liveSource(plain).Firewall(t.Context())); got.State != firewall.Unknown || !strings.Contains(got.Evidence, "without root") {
		t.Errorf("without a manager: %+v", got)
	}
	if got := firewall.Assess(liveSource(managed).Firewall(t.Context())); got.State != firewall.Active || !strings.Contains(got.Evidence, "ufw is on") {
		t.Errorf("with ufw: %+v", got)
	}
	on := liveSource(plain)
	on.onBus = func(_ context.Context, name string) bool { return name == "org.fedoraproject.FirewallD1" }
	if got := firewall.Assess(on.Firewall(t.Context())); got.State != firewall.Active || !strings.Contains(got.Evidence, "firewalld is on") {
		t.Errorf("with firewalld: %+v", got)
	}
}

// Anyone may ask who owns a name on the bus.
func TestNamesOnTheBusAreSeenByNobody(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	testenv.Become(t, testenv.Nobody)
	testenv.WaitFor(t, "the bus", func() bool { return onSystemBus(t.Context(), "org.freedesktop.systemd1") })
	for name, want := range map[string]bool{"org.freedesktop.systemd1": true, "org.fedoraproject.FirewallD1": false, "not a name": false} {
		if got := onSystemBus(t.Context(), name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestMachineWithoutABusHasNoNames(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--mount", "sh", "-c", `mount -t tmpfs tmpfs /run && exec "$@"`, "sh") {
		return
	}
	if onSystemBus(t.Context(), "org.freedesktop.systemd1") {
		t.Error("a name without a bus")
	}
}

func TestOldRulesAreUnknownWithoutTheRightToLook(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--net") {
		return
	}
	run(t, []string{"iptables-legacy -P INPUT DROP"})
	root := empty(t)
	testenv.Become(t, testenv.Nobody)
	s := liveSource(root)
	s.nft = func() ([]firewall.Chain, error) { return nil, nil }
	if got := firewall.Assess(s.Firewall(t.Context())); got.State != firewall.Unknown {
		t.Errorf("got %+v", got)
	}
}
