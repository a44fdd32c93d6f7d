// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// The rules are those of Docker, of kube-proxy, and of those who write their own.
func TestWhatRulesSendOnIsListed(t *testing.T) {
	testenv.Namespaces(t)
	const (
		pre    = "nft add table ip n; nft add chain ip n pre { type nat hook prerouting priority -100 ; }; nft add rule ip n pre "
		docker = " -t nat -N DOCKER; iptables-nft -t nat -A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER; iptables-nft -t nat -A DOCKER "
	)
	for name, c := range map[string]struct{ rules, want string }{
		"none":                    {"", ""},
		"a port":                  {pre + "fib daddr type local tcp dport 6379 dnat to 172.17.0.2:6379", "ip n pre to 172.17.0.2:6379"},
		"the same port":           {pre + "udp dport 53 dnat to 172.17.0.2", "ip n pre to 172.17.0.2"},
		"a map":                   {pre + "dnat to tcp dport map { 80 : 172.17.0.2 }", "ip n pre"},
		"to a port of this host":  {pre + "tcp dport 80 redirect to :8080; nft add rule ip n pre tcp dport 81 dnat to :8081; nft add rule ip n pre tcp dport 82 dnat to 192.0.2.5:80", ""},
		"to loopback":             {pre + "tcp dport 80 dnat to 127.0.0.1:80", ""},
		"for loopback alone":      {pre + "ip daddr 127.0.0.1 tcp dport 80 dnat to 172.17.0.2:80; nft add rule ip n pre iifname lo tcp dport 80 dnat to 172.17.0.3:80", ""},
		"in another family":       {"nft add table ip6 n; nft add chain ip6 n pre { type nat hook prerouting priority -100 ; }; nft add rule ip6 n pre tcp dport 80 dnat to [2001:db8:9::2]:8080", "ip6 n pre to [2001:db8:9::2]:8080"},
		"of what this host sends": {"nft add table ip n; nft add chain ip n out { type nat hook output priority -100 ; }; nft add rule ip n out tcp dport 80 dnat to 172.17.0.2:80", ""},
		"of Docker":               {"iptables-nft" + docker + "! -i docker0 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 172.17.0.2:80", "ip nat DOCKER to 172.17.0.2:80"},
		"of Docker, for loopback": {"iptables-nft" + docker + "-d 127.0.0.1/32 ! -i docker0 -p udp -m udp --dport 53 -j DNAT --to-destination 172.17.0.2:53", ""},
		"of iptables":             {"iptables-legacy -t nat -A PREROUTING -p tcp -m multiport --dports 80,443 -j DNAT --to-destination 172.17.0.2:80; iptables-legacy -t nat -A PREROUTING -p tcp --dport 81 -j REDIRECT --to-ports 80", "ip nat PREROUTING to 172.17.0.2:80"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !testenv.Isolated(t) {
				return
			}
			newNeighbour(t, 1)
			run(t, commands(c.rules))
			var got []string
			for _, s := range liveSource(empty(t)).Firewall(t.Context()).SentOn() {
				got = append(got, s.String())
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
