// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"sentinel/internal/reach"
	"sentinel/internal/testenv"
)

// What is said of a socket under a set of rules.
const (
	entry    = "reachable"
	some     = "limited" // to hosts or networks
	shut     = "filtered"
	notKnown = "unknown"
)

// otherSource is a second address of the other host.
const otherSource = "192.0.2.130"

// Each row is real rules in a network of its own, what they are said to do with three sockets at
// all addresses, and a real connection to each from another host. 22 and 80 are what rules are
// about; nothing says anything of 9999.
func TestWhatIsSaidOfRulesIsWhatAConnectionMeets(t *testing.T) {
	testenv.Namespaces(t)
	const (
		base    = "nft add table inet f; nft add chain inet f in { type filter hook input priority 0 ; policy drop ; }; "
		lax     = "nft add table inet f; nft add chain inet f in { type filter hook input priority 0 ; }; "
		started = "nft add rule inet f in ct state established,related accept; nft add rule inet f in iif lo accept; nft add rule inet f in icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept; "
		drop4   = "iptables-nft -P INPUT DROP; ip6tables-nft -P INPUT DROP; ip6tables-nft -A INPUT -p ipv6-icmp -j ACCEPT; iptables-nft -A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT; "
		old4    = "iptables-legacy -P INPUT DROP; ip6tables-legacy -P INPUT DROP; ip6tables-legacy -A INPUT -p ipv6-icmp -j ACCEPT; iptables-legacy -A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT; "
	)
	for name, c := range map[string]struct {
		rules             string
		ssh, web, nothing string
	}{
		"no rules":                  {"", entry, entry, entry},
		"policy":                    {base + started, shut, shut, shut},
		"a port":                    {base + started + "nft add rule inet f in tcp dport 22 accept", entry, shut, shut},
		"new connections":           {base + started + "nft add rule inet f in tcp dport 22 ct state new counter log accept", entry, shut, shut},
		"a set of ports":            {base + started + "nft add rule inet f in tcp dport { 22, 80-90 } accept", entry, entry, shut},
		"a named set of ports":      {base + "nft add set inet f ports { type inet_service ; flags interval ; }; nft add element inet f ports { 22, 70-79 }; " + started + "nft add rule inet f in tcp dport @ports accept", entry, shut, shut},
		"all but a port":            {lax + "nft add rule inet f in tcp dport != 22 drop", entry, shut, shut},
		"a range":                   {lax + "nft add rule inet f in tcp dport 1-1023 reject", shut, shut, entry},
		"a verdict map":             {base + started + "nft add chain inet f web; nft add rule inet f web accept; nft add rule inet f in tcp dport vmap { 22 : accept, 80 : jump web, 100-200 : drop }", entry, entry, shut},
		"states in a verdict map":   {base + "nft add rule inet f in ct state vmap { established : accept, related : accept, invalid : drop }; nft add rule inet f in icmpv6 type nd-neighbor-solicit accept; nft add rule inet f in tcp dport 22 accept", entry, shut, shut},
		"return and goto":           {lax + "nft add chain inet f a; nft add chain inet f b; nft add rule inet f in jump a; nft add rule inet f in tcp dport 80 drop; nft add rule inet f a tcp dport 22 return; nft add rule inet f a tcp dport 9999 goto b; nft add rule inet f b reject with tcp reset", entry, shut, shut},
		"the interface":             {base + started + "nft add rule inet f in iifname cable1 tcp dport 22 accept; nft add rule inet f in iifname other0 tcp dport 80 accept", entry, shut, shut},
		"a wildcard of interfaces":  {base + started + "nft add rule inet f in iifname \"cab*\" tcp dport 22 accept", entry, shut, shut},
		"the index":                 {base + started + "nft add rule inet f in iif cable1 tcp dport 22 accept", entry, shut, shut},
		"the address of this host":  {base + started + "nft add rule inet f in ip daddr 192.0.2.5 tcp dport 22 accept; nft add rule inet f in ip daddr 192.0.2.77 tcp dport 80 accept", entry, shut, shut},
		"a source":                  {base + started + "nft add rule inet f in ip saddr 192.0.2.128/25 tcp dport 22 accept", some, shut, shut},
		"two sources":               {base + started + "nft add rule inet f in ip saddr { 192.0.2.128/25, 198.51.100.7 } tcp dport { 22, 80 } accept", some, some, shut},
		"a source of the zone":      {base + started + "nft add chain inet f trusted; nft add rule inet f trusted accept; nft add rule inet f in ip saddr 192.0.2.128/25 goto trusted; nft add rule inet f in tcp dport 22 accept", entry, some, some},
		"a blocked source":          {lax + "nft add set inet f bad { type ipv4_addr ; flags timeout ; }; nft add element inet f bad { 192.0.2.130 timeout 1h }; nft add rule inet f in ip saddr @bad drop", entry, entry, entry},
		"an allowed set":            {base + "nft add set inet f good { type ipv4_addr ; }; nft add element inet f good { 192.0.2.130 }; " + started + "nft add rule inet f in ip saddr @good tcp dport 22 accept", notKnown, shut, shut},
		"a rate":                    {base + started + "nft add rule inet f in tcp dport 22 limit rate 60/minute burst 30 packets accept", entry, shut, shut},
		"too high a rate":           {lax + "nft add rule inet f in tcp dport 22 limit rate over 60/minute burst 30 packets drop", entry, entry, entry},
		"a mark that nobody sets":   {lax + "nft add rule inet f in meta mark 1 drop", entry, entry, entry},
		"a mark that is set":        {lax + "nft add chain inet f pre { type filter hook prerouting priority -150 ; }; nft add rule inet f pre tcp dport 22 meta mark set 1; nft add rule inet f in meta mark 1 drop", notKnown, notKnown, notKnown},
		"reverse path":              {lax + "nft add chain inet f pre { type filter hook prerouting priority -150 ; }; nft add rule inet f pre fib saddr . iif oif missing drop; nft add rule inet f in fib daddr type != local drop", entry, entry, entry},
		"dropped before routing":    {lax + "nft add chain inet f pre { type filter hook prerouting priority -150 ; }; nft add rule inet f pre tcp dport 22 drop", shut, entry, entry},
		"two chains":                {base + started + "nft add rule inet f in tcp dport { 22, 80 } accept; nft add chain inet f late { type filter hook input priority 10 ; }; nft add rule inet f late tcp dport 80 reject", entry, shut, shut},
		"IPv4 alone":                {"nft add table ip f; nft add chain ip f in { type filter hook input priority 0 ; policy drop ; }", entry, entry, entry},
		"another table of a name":   {"nft add table ip f; nft add chain ip f in { type filter hook input priority 0 ; }; nft add chain ip f x; nft add rule ip f in jump x; nft add table ip6 f; nft add chain ip6 f x; nft add rule ip6 f x drop", entry, entry, entry},
		"dormant":                   {"nft add table inet f { flags dormant ; }; nft add chain inet f in { type filter hook input priority 0 ; policy drop ; }", entry, entry, entry},
		"a device":                  {"nft add table netdev n; nft add chain netdev n in { type filter hook ingress device cable1 priority 0 ; }; nft add rule netdev n in tcp dport 22 drop", notKnown, entry, entry},
		"redirected":                {base + started + "nft add rule inet f in tcp dport 80 accept; nft add table ip n; nft add chain ip n pre { type nat hook prerouting priority -100 ; }; nft add rule ip n pre tcp dport 22 redirect to :80", notKnown, entry, shut},
		"translated to a container": {base + started + "nft add rule inet f in ct status dnat accept; nft add rule inet f in tcp dport 22 accept; nft add table ip n; nft add chain ip n pre { type nat hook prerouting priority -100 ; }; nft add rule ip n pre tcp dport 80 dnat to 203.0.113.9:8080", entry, notKnown, shut},
		"a quota":                   {base + started + "nft add rule inet f in tcp dport 22 quota 1000 mbytes accept", notKnown, shut, shut},
		"source ports":              {base + started + "nft add rule inet f in tcp sport 1024-65535 tcp dport 22 accept; nft add rule inet f in tcp sport 53 tcp dport 80 accept", entry, notKnown, shut},
		"flags":                     {base + started + "nft add rule inet f in tcp flags & (fin|syn|rst|ack) == syn tcp dport 22 accept; nft add rule inet f in tcp flags ack tcp dport 80 accept", entry, shut, shut},
		"the next header":           {base + started + "nft add rule inet f in ip6 nexthdr tcp tcp dport 22 accept; nft add rule inet f in ip protocol tcp tcp dport 22 accept; nft add rule inet f in ip6 nexthdr != tcp accept; nft add rule inet f in ip6 nexthdr icmpv6 accept", entry, shut, shut},
		"IPv6 sources":              {base + started + "nft add rule inet f in ip6 saddr 2001:db8:1::/64 tcp dport 22 accept", some, shut, shut},
		"what the library leaves":   {base + started + "nft add rule inet f in tcp dport 22 socket transparent 0 accept; nft add rule inet f in tcp dport 80 socket mark 0 accept", notKnown, notKnown, shut},
		"left out behind a range":   {base + started + "nft add rule inet f in tcp dport 20-30 socket mark 0 accept", notKnown, shut, shut},
		"a proxy":                   {base + started + "nft add rule inet f in tcp dport 22 accept; nft add chain inet f pre { type filter hook prerouting priority -150 ; }; nft add rule inet f pre tcp dport 22 tproxy to :80 accept", notKnown, notKnown, notKnown},
		"a copy":                    {base + started + "nft add rule inet f in tcp dport 22 accept; nft add table ip d; nft add chain ip d pre { type filter hook prerouting priority -150 ; }; nft add rule ip d pre tcp dport 80 dup to 192.0.2.6 device cable1 drop", entry, shut, shut},
		"concatenated":              {base + started + "nft add rule inet f in ip saddr . tcp dport { 192.0.2.130 . 22 } accept", some, shut, shut},
		"iptables over nft":         {drop4 + "iptables-nft -A INPUT -p tcp -m conntrack --ctstate NEW -m tcp --dport 22 -m comment --comment ssh -j ACCEPT; iptables-nft -A INPUT -p tcp -m multiport --dports 80,8000:8010 -j ACCEPT", entry, entry, shut},
		"iptables, sources":         {drop4 + "iptables-nft -A INPUT -s 192.0.2.128/25 -p tcp --dport 22 -j ACCEPT; iptables-nft -A INPUT -i other+ -p tcp --dport 80 -j ACCEPT", some, shut, shut},
		"iptables, ufw's way": {drop4 + "iptables-nft -N not-local; iptables-nft -N user; iptables-nft -N limited; iptables-nft -A INPUT -j not-local; iptables-nft -A INPUT -j user; " +
			"iptables-nft -A not-local -m addrtype --dst-type LOCAL -j RETURN; iptables-nft -A not-local -m limit --limit 3/min --limit-burst 10 -j LOG; iptables-nft -A not-local -j DROP; " +
			"iptables-nft -A user -p tcp --dport 22 -m conntrack --ctstate NEW -m recent --set; iptables-nft -A user -p tcp --dport 22 -m conntrack --ctstate NEW -m recent --update --seconds 30 --hitcount 6 -j limited; iptables-nft -A limited -j REJECT; iptables-nft -A user -p tcp --dport 22 -j ACCEPT", entry, shut, shut},
		"iptables, reject":  {"iptables-nft -A INPUT -p tcp --syn --dport 22 -j REJECT; ip6tables-nft -A INPUT -p tcp --dport 22 -j REJECT", shut, entry, entry},
		"iptables, knock":   {drop4 + "iptables-nft -A INPUT -p tcp --dport 22 -m recent --rcheck --name knocked -j ACCEPT", notKnown, shut, shut},
		"iptables, dnat":    {drop4 + "iptables-nft -A INPUT -p tcp --dport 22 -j ACCEPT; iptables-nft -t nat -A PREROUTING -m addrtype --dst-type LOCAL -p tcp --dport 80 -j DNAT --to-destination 203.0.113.9:80", entry, notKnown, shut},
		"iptables, a proxy": {drop4 + "iptables-nft -A INPUT -p tcp --dport 22 -j ACCEPT; iptables-nft -t mangle -A PREROUTING -p tcp --dport 22 -j TPROXY --on-port 80", notKnown, notKnown, notKnown},
		"legacy, a proxy":   {old4 + "iptables-legacy -A INPUT -p tcp --dport 22 -j ACCEPT; iptables-legacy -t mangle -A PREROUTING -p tcp --dport 22 -j TPROXY --on-port 80", notKnown, notKnown, notKnown},
		"legacy":            {old4 + "iptables-legacy -A INPUT -p tcp -m tcp --dport 22 -m comment --comment \"-j.DROP\" -j ACCEPT; iptables-legacy -A INPUT -p tcp -m multiport --dports 80,8000:8010 -j ACCEPT", entry, entry, shut},
		"legacy, sources":   {old4 + "iptables-legacy -A INPUT -s 192.0.2.128/25 -p tcp --dport 22 -j ACCEPT; iptables-legacy -A INPUT -i cab+ ! -s 192.0.2.128/25 -p tcp --dport 80 -j ACCEPT", some, entry, shut},
		"legacy, ufw's way": {old4 + "iptables-legacy -N user; iptables-legacy -A INPUT -m addrtype --dst-type LOCAL -g user; iptables-legacy -A INPUT -j DROP; iptables-legacy -A user -p tcp -m tcp --dport 22 -m conntrack --ctstate NEW -m recent --update --seconds 30 --hitcount 6 --name DEFAULT --mask 255.255.255.255 --rsource -j REJECT; iptables-legacy -A user -p tcp --dport 22 -j ACCEPT", entry, shut, shut},
		"legacy, reject":    {"iptables-legacy -A INPUT -p tcp --tcp-flags SYN,RST,ACK,FIN SYN --dport 22 -j REJECT; ip6tables-legacy -A INPUT -p tcp --dport 22 -j REJECT", shut, entry, entry},
		"legacy, not read":  {old4 + "iptables-legacy -A INPUT -p tcp --dport 22 -m ttl --ttl-gt 3 -j ACCEPT", notKnown, shut, shut},
		"legacy, redirect":  {"iptables-legacy -t nat -A PREROUTING -p tcp --dport 22 -j REDIRECT --to-ports 80; iptables-legacy -t raw -A PREROUTING -p tcp --dport 80 -j DROP; ip6tables-legacy -P INPUT DROP", notKnown, notKnown, entry},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !testenv.Isolated(t) {
				return
			}
			h := newNeighbour(t, 1)
			h.add(otherSource)
			run(t, commands(c.rules))
			var each sync.WaitGroup
			for port, want := range map[string]string{"22": c.ssh, "80": c.web, "9999": c.nothing} {
				serve(t, port)
				each.Go(func() { h.holds(port, want) })
			}
			each.Wait()
		})
	}
}

// A packet for an address of this host is let in by every interface, also by one that has no address.
func TestAnInterfaceWithoutAnAddressIsAWayIn(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	h := newNeighbour(t, 1)
	inside := "nsenter -t " + h.id() + " -n ip "
	command(t, "ip link add cable2 type veth peer name eth1 netns "+h.id())
	command(t, "sysctl -q -w net.ipv6.conf.cable2.disable_ipv6=1")
	command(t, "ip link set cable2 up")
	command(t, "ip route add "+otherSource+" dev cable2")
	command(t, inside+"addr add "+otherSource+"/32 dev eth1")
	command(t, inside+"link set eth1 up")
	command(t, inside+"route add "+h.gateway()+"/32 dev eth1")
	run(t, commands("nft add table inet f; nft add chain inet f in { type filter hook input priority 0 ; }; nft add rule inet f in iifname cable1 drop"))
	serve(t, "22")
	h.holds("22", some)
}

// commands divides "nft ...; iptables-nft ..." into its commands, which have semicolons of their own.
func commands(rules string) []string {
	for _, program := range []string{"nft", "iptables-", "ip6tables-"} {
		rules = strings.ReplaceAll(rules, "; "+program, "\n"+program)
	}
	return strings.FieldsFunc(strings.TrimSuffix(strings.ReplaceAll(rules, `"`, ""), "; "), func(r rune) bool { return r == '\n' })
}

// add gives the other host one more address, and this one a route to it.
func (h *neighbour) add(address string) {
	h.t.Helper()
	command(h.t, "ip route add "+address+" dev cable1")
	command(h.t, "nsenter -t "+h.id()+" -n ip addr add "+address+"/32 dev eth0")
}

// holds asserts what is said of a port, and that connections meet that: none gets in where it is
// filtered, those of any address where it is reachable, and some where that is limited.
func (h *neighbour) holds(port, want string) {
	h.t.Helper()
	v := judged(h.t, "tcp", "[::]:"+port)
	said := string(v.Answer)
	if v.Limited {
		said = some
	}
	if said != want || (v.Answer == reach.Unknown) != (v.Why != "") {
		h.t.Errorf("port %s is said to be %s (%s), want %s", port, said, v.Why, want)
	}
	var each sync.WaitGroup
	var over4, over6, other bool
	try := func() bool {
		each.Go(func() { over4 = h.connects(h.address(), net.JoinHostPort(h.gateway(), port), silence) })
		each.Go(func() { over6 = h.connects("", net.JoinHostPort(h.gateway6(), port), silence) })
		each.Go(func() { other = h.connects(otherSource, net.JoinHostPort(h.gateway(), port), silence) })
		each.Wait()
		return over4 || over6
	}
	ordinary := try() || said == entry && testenv.Becomes(try)
	switch {
	case said == shut && (ordinary || other):
		h.t.Errorf("port %s is said to be filtered, and another host got in", port)
	case said == entry && !ordinary:
		h.t.Errorf("port %s is said to be reachable, and another host did not get in", port)
	case said == some && !ordinary && !other:
		h.t.Errorf("port %s is said to be reachable for some, and nobody got in", port)
	}
}

// connects tries to connect from an address of the other host.
func (h *neighbour) connects(from, to string, limit time.Duration) (ok bool) {
	h.t.Helper()
	h.do(func() {
		d := net.Dialer{Timeout: limit}
		if from != "" {
			d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 0))
		}
		c, err := d.Dial("tcp", to)
		if ok = err == nil; ok {
			c.Close()
		}
	})
	return ok
}
