// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// The outputs have the form of macOS 12 to 26.
const (
	route4 = `   route to: default
destination: default
       mask: default
    gateway: 192.0.2.1
  interface: en0
      flags: <UP,GATEWAY,DONE,STATIC,PRCLONING,GLOBAL>
 recvpipe  sendpipe  ssthresh  rtt,msec    rttvar  hopcount      mtu     expire
       0         0         0         0         0         0      1500         0
`
	routeTunnel = `   route to: default
destination: default
       mask: default
  interface: utun3
      flags: <UP,DONE,CLONING,STATIC,GLOBAL>
`
	dns = `DNS configuration

resolver #1
  search domain[0] : example.com
  nameserver[0] : 192.0.2.53
  nameserver[1] : fe80::1%en0
  if_index : 14 (en0)
  flags    : Request A records, Request AAAA records
  reach    : 0x00020002 (Reachable,Directly Reachable Address)

resolver #2
  domain   : local
  options  : mdns
  timeout  : 5
  order    : 300000

DNS configuration (for scoped queries)

resolver #1
  nameserver[0] : 198.51.100.53
  if_index : 34 (utun12)
  flags    : Scoped, Request A records
`
	interfaces = "lo0: flags=8049<UP,LOOPBACK,RUNNING,MULTICAST> mtu 16384\n" +
		"\toptions=1203<RXCSUM,TXCSUM,TXSTATUS,SW_TIMESTAMP>\n" +
		"\tinet 127.0.0.1 netmask 0xff000000\n" +
		"\tinet6 ::1 prefixlen 128\n" +
		"\tinet6 fe80::1%lo0 prefixlen 64 scopeid 0x1\n" +
		"gif0: flags=8051<UP,POINTOPOINT,RUNNING,MULTICAST> mtu 1280\n" +
		"\ttunnel inet 192.0.2.7 --> 203.0.113.9\n" +
		"stf0: flags=0<> mtu 1280\n" +
		"en0: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 1500\n" +
		"\tether 00:00:5e:00:53:01\n" +
		"\tinet6 2001:db8::7%en0 prefixlen 64 secured scopeid 0x4\n" +
		"\tinet 192.0.2.7 netmask 0xffffff00 broadcast 192.0.2.255\n" +
		"\tnd6 options=201<PERFORMNUD,DAD>\n" +
		"\tmedia: autoselect\n" +
		"\tstatus: active\n" +
		"utun3: flags=80d1<UP,POINTOPOINT,RUNNING,NOARP,MULTICAST> mtu 1390\n" +
		"\tinet 198.51.100.7 --> 198.51.100.8 netmask 0xffffffff\n"
)

func TestParseRoute(t *testing.T) {
	for text, want := range map[string]Route{
		route4:      {netip.MustParseAddr("192.0.2.1"), "en0"},
		routeTunnel: {Interface: "utun3"},
		strings.Replace(route4, "192.0.2.1", "fe80::1%en0", 1):     {netip.MustParseAddr("fe80::1%en0"), "en0"},
		strings.Replace(route4, "192.0.2.1", "link#14", 1):         {Interface: "en0"},
		strings.Replace(route4, "192.0.2.1", "0:0:5e:0:53:1", 1):   {Interface: "en0"},
		strings.Replace(route4, "192.0.2.1", "00.00.5e.0.53.1", 1): {Interface: "en0"},
		"log: noise\n" + route4:                                    {netip.MustParseAddr("192.0.2.1"), "en0"},
	} {
		if got, err := ParseRoute([]byte(text)); got != want || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	for _, text := range []string{
		"", route4[:60], strings.Replace(route4, "192.0.2.1", "router.example.com", 1), "    gateway: 192.0.2.1\n", "destination: default\n",
	} {
		if got, err := ParseRoute([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestParseResolvers(t *testing.T) {
	got, err := ParseResolvers([]byte("2026-09-01 12:00:00 scutil[1:2] noise\n" + dns))
	want := []Resolver{
		{Interface: "en0", Servers: []netip.Addr{netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("fe80::1%en0")}},
		{Domain: "local"},
		{Interface: "utun12", Servers: []netip.Addr{netip.MustParseAddr("198.51.100.53")}},
	}
	if diff := cmp.Diff(want, got, comparers); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if got, err := ParseResolvers([]byte("No DNS configuration available\n")); len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "resolver #1\n  nameserver[0] : 192.0.2.53\n", "DNS configuration\n\nresolver #1\n  nameserver[0] : 192.0.2.\n"} {
		if got, err := ParseResolvers([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

var comparers = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

func TestParseInterfaces(t *testing.T) {
	got, err := ParseInterfaces([]byte(interfaces))
	if err != nil {
		t.Fatal(err)
	}
	type short struct {
		Name, Ether, Status string
		MTU                 int
		Up, Line            bool
		Addresses           []string
	}
	var all []short
	for _, i := range got {
		s := short{i.Name, i.Ether, i.Status, i.MTU, i.Up(), i.PointToPoint(), nil}
		for _, a := range i.Addresses {
			text := a.Prefix.String()
			if a.Peer.IsValid() {
				text += " to " + a.Peer.String()
			}
			s.Addresses = append(s.Addresses, text)
		}
		if i.Tunnel.IsValid() {
			s.Addresses = append(s.Addresses, "over "+i.Tunnel.String())
		}
		all = append(all, s)
	}
	want := []short{
		{"lo0", "", "", 16384, true, false, []string{"127.0.0.1/8", "::1/128", "fe80::1/64"}},
		{"gif0", "", "", 1280, true, true, []string{"over 203.0.113.9"}},
		{"stf0", "", "", 1280, false, false, nil},
		{"en0", "00:00:5e:00:53:01", "active", 1500, true, false, []string{"2001:db8::7/64", "192.0.2.7/24"}},
		{"utun3", "", "", 1390, true, true, []string{"198.51.100.7/32 to 198.51.100.8"}},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	const head = "en0: flags=8863<UP> mtu 1500\n"
	for _, text := range []string{
		"", "garbage\n", head + "\tinet 192.0.2.\n", head + "\tinet6 2001:db8::7 prefixlen x\n",
		head + "\tinet 192.0.2.7 --> x netmask 0xffffff00\n", head + "\tinet6 2001:db8::7 prefixlen 129\n", head + "\ttunnel inet 192.0.2.7 --> x\n", head + "\tinet 192.0.2.7 netmask 0x1ffffffff\n",
	} {
		if got, err := ParseInterfaces([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// A machine is a Runner with a fixed result for each program.
type machine map[string]sysexec.Result

func (m machine) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if ctx.Err() != nil {
		return sysexec.Result{}, ctx.Err()
	}
	r, ok := m[strings.Join(append([]string{c.Path}, c.Args...), " ")]
	if !ok {
		return sysexec.Result{}, fs.ErrNotExist
	}
	return r, nil
}

func TestPrograms(t *testing.T) {
	none := sysexec.Result{Exit: 1, Stderr: []byte("route: writing to routing socket: not in table\n")}
	m := machine{
		"/sbin/route -n get -inet default":  {Stdout: []byte(route4)},
		"/sbin/route -n get -inet6 default": none,
		"/usr/sbin/scutil --dns":            {Stdout: []byte(dns)},
		"/sbin/ifconfig -a":                 {Stdout: []byte(interfaces)},
	}
	if r, err := Default(t.Context(), m, IPv4); r.Interface != "en0" || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Default(t.Context(), m, IPv6); !errors.Is(err, ErrNoRoute) {
		t.Errorf("%v", err)
	}
	if list, err := Resolvers(t.Context(), m); len(list) != 3 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := Interfaces(t.Context(), m); len(list) != 5 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	for name, m := range map[string]machine{"missing": {}, "failing": {
		"/sbin/route -n get -inet default": {Exit: 64, Stderr: []byte("usage: route\n")}, "/usr/sbin/scutil --dns": {Exit: 1}, "/sbin/ifconfig -a": {Exit: 1},
	}, "empty": {"/sbin/route -n get -inet default": {}, "/usr/sbin/scutil --dns": {}, "/sbin/ifconfig -a": {}}} {
		_, first := Default(t.Context(), m, IPv4)
		_, second := Resolvers(t.Context(), m)
		_, third := Interfaces(t.Context(), m)
		if first == nil || errors.Is(first, ErrNoRoute) || second == nil || third == nil {
			t.Errorf("%s: %v, %v, %v", name, first, second, third)
		}
	}
}

func TestRecordedOutputs(t *testing.T) {
	routes := map[string]string{"n-get-default-facter.txt": "10.160.24.1", "n-get-default-none.txt": "none", "get-default-none-second-wording.txt": "none"}
	for _, r := range testenv.RecordedOutputs(t, "route") {
		got, err := ParseRoute(r.Raw)
		text := got.Gateway.String()
		if noRoute(r.Raw) {
			text = "none"
		}
		if w, known := routes[r.Name]; known && (text != w || w != "none" && err != nil) {
			t.Errorf("%s: %s, %v", r.Name, text, err)
		}
	}
	servers := map[string]int{"dns-head-drduh.txt": 1, "dns-split-dns-vpn.txt": 10, "dns-tailscale-full.txt": 7}
	for _, r := range testenv.RecordedOutputs(t, "scutil") {
		list, err := ParseResolvers(r.Raw)
		n := 0
		for _, one := range list {
			n += len(one.Servers)
		}
		if w, known := servers[r.Name]; known && (n != w || err != nil) {
			t.Errorf("%s: %d name servers, %v", r.Name, n, err)
		}
	}
	for _, r := range testenv.RecordedOutputs(t, "networksetup") {
		ports, err := ParsePorts(r.Raw)
		if want := strings.Count(string(r.Raw), "\nDevice: "); err != nil || len(ports) != want {
			t.Errorf("%s: %v, %v, want %d", r.Name, ports, err, want)
		}
	}
	for _, r := range testenv.RecordedOutputs(t, "ifconfig") {
		list, err := ParseInterfaces(r.Raw)
		text := "\n" + string(r.Raw)
		if strings.Contains(text, "AA.BB.CC.DD") { // its publisher masked the addresses
			if err == nil {
				t.Errorf("%s: letters are an address", r.Name)
			}
			continue
		}
		n := 0
		for _, i := range list {
			n += len(i.Addresses)
		}
		if want := strings.Count(text, "inet ") + strings.Count(text, "inet6 "); n != want || err != nil || len(list) != strings.Count(text, ": flags=") {
			t.Errorf("%s: %d interfaces, %d addresses of %d, %v", r.Name, len(list), n, want, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{route4, routeTunnel, dns, interfaces} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if r, err := ParseRoute(raw); err == nil && r.Interface == "" && !r.Gateway.IsValid() {
			t.Errorf("%q: nothing", raw)
		}
		if list, err := ParseResolvers(raw); err == nil {
			for _, r := range list {
				for _, a := range r.Servers {
					if !a.IsValid() {
						t.Errorf("%q: %v", raw, list)
					}
				}
			}
		}
		list, err := ParseInterfaces(raw)
		for _, i := range list {
			for _, a := range i.Addresses {
				if err == nil && !a.Prefix.IsValid() {
					t.Errorf("%q: %v", raw, i)
				}
			}
		}
	})
}

func TestAnInterfaceMayHaveAMetric(t *testing.T) {
	for line, mtu := range map[string]int{
		"en0: flags=8863<UP,BROADCAST> mtu 1500\n": 1500, "en0: flags=8863<UP,BROADCAST> metric 2 mtu 9000\n": 9000, "en0: flags=8863<UP> metric 2\n": 0, "en0: flags=8863<UP> mtu\n": 0,
	} {
		if list, err := ParseInterfaces([]byte(line)); err != nil || len(list) != 1 || list[0].MTU != mtu || !list[0].Up() {
			t.Errorf("%q: %+v, %v", line, list, err)
		}
	}
}

func TestPortsHaveNames(t *testing.T) {
	const printed = "\nHardware Port: Wi-Fi\nDevice: en0\nEthernet Address: 00:00:5e:00:53:01\n\nHardware Port: Lan: left\nDevice: en7\nEthernet Address: N/A\n\n" +
		"VLAN Configurations\n===================\n\nVLAN User Defined Name: office\nParent Device: en7\nDevice (\"Hardware\" Port): vlan0\nTag: 10\n"
	ports, err := ParsePorts([]byte(printed))
	if diff := cmp.Diff(map[string]string{"en0": "Wi-Fi", "en7": "Lan: left"}, ports); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, none := range []string{"", "Hardware Port: Wi-Fi\nDevice: en", "Device: en0\n", printed[1:len("\nHardware Port: Wi-Fi\n")], "Hardware Port: a\n" + printed, printed + "Hardware Port: b\n", "** Error: The amount of parameters was not correct.\n"} {
		if ports, err := ParsePorts([]byte(none)); err == nil {
			t.Errorf("%q: %v", none, ports)
		}
	}
	for name, m := range map[string]machine{"missing": {}, "failing": {"/usr/sbin/networksetup -listallhardwareports": {Exit: 4, Stdout: []byte(printed)}}} {
		if ports, err := Ports(t.Context(), m); err == nil {
			t.Errorf("%s: %v", name, ports)
		}
	}
}
