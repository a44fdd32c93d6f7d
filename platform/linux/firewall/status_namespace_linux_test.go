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
			"nft add rule ip t in jump next", "nft add rule ip t next tcp dport != 22 counter reject",
		}, firewall.Active, "chain in of table ip t filters what comes in, IPv4 only"},
		"nft drop in a verdict map": {[]string{
			"nft add table inet t", "nft add chain inet t in { type filter hook input priority 0 ; }",
			"nft add rule inet t in ct state vmap { established : accept, new : drop }",
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
			"nft add table inet t", "nft add chain inet t early { type filter hook prerouting priority 0 ; }", "nft add rule inet t early tcp dport != 22 drop",
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
		"fail2ban beside a firewall":       {append(slices.Clone(nftBan), banned, "iptables-nft -A INPUT -p tcp ! --dport 22 -j DROP"), firewall.Active, "chain INPUT of table ip filter"},
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
			"iptables-nft -N ufw-user-input", "iptables-nft -A INPUT -j ufw-user-input", "iptables-nft -A ufw-user-input -p tcp ! --dport 22 -j DROP",
		}, firewall.Active, "chain INPUT of table ip filter"},
		"iptables over nft, reject": {[]string{
			"iptables-nft -N ufw-user-input", "iptables-nft -A INPUT -j ufw-user-input", "iptables-nft -A ufw-user-input -p tcp ! --dport 22 -j REJECT",
		}, firewall.Active, "chain INPUT of table ip filter"},
		"iptables over nft, accept": {[]string{
			"iptables-nft -A INPUT -p tcp --dport 22 -j ACCEPT",
		}, firewall.Disabled, "no rule"},
		"ip6tables over nft": {[]string{"ip6tables-nft -P INPUT DROP"}, firewall.Active, "IPv6 only"},
		"iptables-legacy": {[]string{
			"iptables-legacy -N x", "iptables-legacy -A INPUT -j x", "iptables-legacy -A x -p tcp ! --dport 22 -j REJECT",
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

// Rules that other programs, or guides to harden a host, add on their own keep nobody from its ports; those of
// firewalls do, whatever they let in.
func TestHelpersAreNoFirewall(t *testing.T) {
	testenv.Namespaces(t)
	input := func(rules ...string) []string {
		list := []string{"nft add table inet t", "nft add chain inet t in { type filter hook input priority 0 ; }"}
		for _, r := range rules {
			list = append(list, "nft add rule inet t in "+r)
		}
		return list
	}
	before := func(table, rule string) []string {
		return []string{"nft add table ip " + table, "nft add chain ip " + table + " pre { type filter hook prerouting priority -300 ; }", "nft add rule ip " + table + " pre " + rule}
	}
	ipt := func(rules ...string) (list []string) {
		for _, r := range rules {
			list = append(list, "iptables-nft "+r, "iptables-legacy "+r)
		}
		return list
	}
	const kube = "-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP"
	for name, c := range map[string]struct {
		commands []string
		want     string
	}{
		"kubelet":                 {ipt("-N KUBE-FIREWALL", "-A INPUT -j KUBE-FIREWALL", kube), firewall.Disabled},
		"kube-proxy":              {ipt("-N KUBE-PROXY-FIREWALL", "-A INPUT -m conntrack --ctstate NEW -j KUBE-PROXY-FIREWALL", "-A KUBE-PROXY-FIREWALL -d 10.2.3.4 -p tcp --dport 80 -j DROP"), firewall.Disabled},
		"kubelet, a mark":         {ipt("-A INPUT -m mark --mark 0x8000/0x8000 -j DROP", "-A INPUT -m connmark --mark 0x1 -j DROP"), firewall.Disabled},
		"broadcasts":              {ipt("-A INPUT -m pkttype --pkt-type broadcast -j DROP"), firewall.Disabled},
		"what has no mark":        {ipt("-A INPUT -m mark ! --mark 0x1 -j DROP"), firewall.Active},
		"what is sent to it":      {ipt("-A INPUT -m pkttype --pkt-type unicast -j DROP"), firewall.Active},
		"wg-quick":                {before("wg-quick-wg0", `iifname != "wg0" ip daddr 10.0.0.2 fib saddr type != local drop`), firewall.Disabled},
		"wg-quick over iptables":  {ipt("-t raw -A PREROUTING ! -i wg0 -d 10.0.0.2/32 -m addrtype ! --src-type LOCAL -j DROP"), firewall.Disabled},
		"Docker":                  {ipt("-t raw -A PREROUTING -d 172.17.0.2/32 ! -i docker0 -j DROP"), firewall.Disabled},
		"Docker, a port":          {ipt("-t raw -A PREROUTING -d 127.0.0.1/32 ! -i lo -p tcp -m tcp --dport 8080 -j DROP"), firewall.Disabled},
		"Docker over nft":         {before("docker-bridges", `ip daddr 172.17.0.2 iifname != "docker0" counter drop`), firewall.Disabled},
		"Tailscale":               {ipt("-N ts-input", "-A INPUT -j ts-input", "-A ts-input -s 100.64.0.0/10 ! -i tailscale0 -j DROP"), firewall.Disabled},
		"a protocol":              {ipt("-A INPUT -p ipencap -j DROP"), firewall.Disabled},
		"invalid":                 {append(input("ct state invalid drop"), ipt("-A INPUT -m state --state INVALID -j DROP")...), firewall.Disabled},
		"reverse path":            {append(before("rp", "fib saddr . iif oif 0 drop"), ipt("-t raw -A PREROUTING -m rpfilter --validmark --invert -j DROP")...), firewall.Disabled},
		"flags":                   {append(input("tcp flags & (fin|syn) == (fin|syn) drop"), ipt("-A INPUT -p tcp --tcp-flags ALL NONE -j DROP", "-A INPUT -p tcp ! --syn -m conntrack --ctstate NEW -j DROP")...), firewall.Disabled},
		"fragments":               {append(input("ip frag-off & 0x1fff != 0 drop"), ipt("-A INPUT -f -j DROP")...), firewall.Disabled},
		"timestamps":              {ipt("-A INPUT -p icmp --icmp-type timestamp-request -j DROP"), firewall.Disabled},
		"source routes":           {append(input("rt type 0 drop"), "ip6tables-nft -A INPUT -m rt --rt-type 0 -j DROP", "ip6tables-legacy -A INPUT -m rt --rt-type 0 -j DROP"), firewall.Disabled},
		"an absent interface":     {append(input("iifname eth9 drop"), ipt("-A INPUT -i eth9 -j DROP")...), firewall.Disabled},
		"one port":                {append(input("tcp dport 23 drop"), ipt("-A INPUT -p tcp --dport 23 -j DROP")...), firewall.Disabled},
		"UDP alone":               {ipt("-A INPUT -p udp -j DROP"), firewall.Disabled},
		"addresses that none has": {input("ip saddr 0.0.0.0/8 drop", "iifname != lo ip daddr 127.0.0.0/8 drop"), firewall.Disabled},
		"rates": {append(input("tcp flags syn ct count over 1000 reject"),
			ipt("-A INPUT -p tcp -m connlimit --connlimit-above 10 -j REJECT", "-A INPUT -p tcp -m hashlimit --hashlimit-above 50/sec --hashlimit-mode srcip --hashlimit-name x -j DROP",
				"-A INPUT -m mac --mac-source 00:11:22:33:44:55 -j DROP", "-A INPUT -p tcp --syn -m limit --limit 10/s -j ACCEPT", "-A INPUT -p tcp --syn -j DROP")...), firewall.Disabled},
		"a text in it":           {ipt("-A INPUT -m string --algo bm --string evil -j DROP"), firewall.Unknown},
		"the outer interface":    {ipt("-A INPUT -i outer0 -p tcp --dport 22 -j ACCEPT", "-A INPUT -i outer0 -j DROP"), firewall.Active},
		"a wildcard":             {ipt("-A INPUT -i out+ -j DROP"), firewall.Active},
		"the last rule":          {input("ct state established accept", "tcp dport { 22, 443 } accept", "reject"), firewall.Active},
		"what is not understood": {ipt("-A INPUT -m string --algo bm --string knock -j ACCEPT", "-A INPUT -j DROP"), firewall.Active},
		"beside what is not tracked": {append(before("raw", "udp dport 53 notrack"), append(ipt("-t raw -A PREROUTING -p tcp --dport 80 -j NOTRACK"),
			"nft add table inet f", "nft add chain inet f in { type filter hook input priority 0 ; policy drop ; }", "nft add rule inet f in ct state established,related accept")...), firewall.Active},
	} {
		t.Run(name, func(t *testing.T) {
			if !testenv.Inside(t, "unshare", "--net") {
				return
			}
			command(t, "ip link add outer0 type veth peer name far0")
			command(t, "ip link set outer0 up")
			command(t, "ip link set far0 up")
			command(t, "ip addr add 192.0.2.5/24 dev outer0")
			command(t, "ip addr add 2001:db8:1::5/64 dev outer0 nodad")
			run(t, c.commands)
			if got := firewall.Assess(liveSource(empty(t)).Firewall(t.Context())); got.State != c.want {
				t.Errorf("got %+v, want %s", got, c.want)
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
