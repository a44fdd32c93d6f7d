// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
)

// programs answer by their last two words, such as "-inet default", or by their
// path.
type programs map[string]sysexec.Result

func (p programs) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if ctx.Err() != nil {
		return sysexec.Result{}, ctx.Err()
	}
	all := strings.Join(append([]string{c.Path}, c.Args...), " ")
	for key, r := range p {
		if key == c.Path || strings.HasSuffix(all, " "+key) || strings.Contains(all, key+" -p") {
			return r, nil
		}
	}
	return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, fs.ErrNotExist)
}

func printed(text string) sysexec.Result { return sysexec.Result{Stdout: []byte(text)} }

const (
	route4    = "   route to: default\ndestination: default\n       mask: default\n    gateway: 192.0.2.1\n  interface: en0\n"
	route6    = "   route to: default\ndestination: default\n       mask: default\n    gateway: fe80::1%en0\n  interface: en0\n"
	resolvers = "DNS configuration\n\nresolver #1\n  nameserver[0] : 192.0.2.53\n  nameserver[1] : 2001:db8::53\n\nDNS configuration (for scoped queries)\n\nresolver #1\n  nameserver[0] : 192.0.2.53\n  nameserver[1] : fe80::53%en0\n"
	cards     = "lo0: flags=8049<UP,LOOPBACK,RUNNING,MULTICAST> mtu 16384\n\tinet 127.0.0.1 netmask 0xff000000\n" +
		"en0: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 1500\n\tinet6 fe80::10%en0 prefixlen 64 scopeid 0x4\n\tinet 192.0.2.10 netmask 0xffffff00 broadcast 192.0.2.255\n" +
		"gif0: flags=8051<UP,POINTOPOINT,RUNNING,MULTICAST> mtu 1280\n\ttunnel inet 192.0.2.10 --> 203.0.113.9\n" +
		"utun3: flags=80d1<UP,POINTOPOINT,RUNNING,NOARP,MULTICAST> mtu 1390\n\tinet 198.51.100.7 --> 198.51.100.8 netmask 0xffffff00\n"
	// A session of before OpenSSH 9.8, one of after it over IPv6, one who has not
	// logged in, a client, and a listener.
	sockets = "p100\ncsshd\nf4\ntIPv4\nd0x1\nPTCP\nn192.0.2.10:22->203.0.113.20:50000\nTST=ESTABLISHED\n" +
		"p101\ncsshd\nf4\ntIPv4\nd0x1\nPTCP\nn192.0.2.10:22->203.0.113.20:50000\nTST=ESTABLISHED\n" +
		"p200\ncsshd-session\nf4\ntIPv6\nd0x2\nPTCP\nn[2001:db8::10]:22->[2001:db8::20]:50001\nTST=ESTABLISHED\n" +
		"p300\ncsshd-session\nf4\ntIPv4\nd0x3\nPTCP\nn192.0.2.10:22->203.0.113.66:50002\nTST=ESTABLISHED\n" +
		"p301\ncsshd-session\nf4\ntIPv4\nd0x3\nPTCP\nn192.0.2.10:22->203.0.113.66:50002\nTST=ESTABLISHED\n" +
		"p400\ncssh\nf3\ntIPv4\nd0x4\nPTCP\nn192.0.2.10:50003->203.0.113.77:22\nTST=ESTABLISHED\n" +
		"p1\nclaunchd\nf8\ntIPv4\nd0x5\nPTCP\nn*:22\nTST=LISTEN\n"
	psHead = "  PID  PPID   UID STAT     TIME    RSS USER     STARTED                      COMM\n"
)

func psRow(parent, pid, uid int, title string) string {
	return fmt.Sprintf("%5d %5d %5d Ss    0:00.01   1000 root     Tue Sep 23 21:15:00 2025     %s\n", pid, parent, uid, title)
}

func psLine(pid int, title string) string {
	return fmt.Sprintf("%5d Tue Sep 23 21:15:00 2025     %s\n", pid, title)
}

// mac is a Mac with everything that protected addresses are read from.
func mac() programs {
	return programs{
		"-inet default": printed(route4), "-inet6 default": printed(route6), "/usr/sbin/scutil": printed(resolvers), "/sbin/ifconfig": printed(cards),
		"/usr/sbin/lsof": printed(sockets),
		"-o pid,ppid,uid,state,time,rss,user,lstart,comm": printed(psHead + psRow(1, 100, 0, "sshd: admin [priv]") + psRow(100, 101, 501, "sshd: admin@ttys000") +
			psRow(1, 200, 0, "sshd-session: admin [priv]") + psRow(1, 300, 0, "sshd-session: root [priv]") + psRow(300, 301, 75, "sshd-session: root [net]")),
		"-o pid,lstart,args": printed("  PID STARTED                      ARGS\n" + psLine(100, "sshd: admin [priv]") + psLine(101, "sshd: admin@ttys000") +
			psLine(200, "sshd-session: admin [priv]") + psLine(300, "sshd-session: root [priv]") + psLine(301, "sshd-session: root [net]")),
	}
}

func (p programs) with(key, text string) programs {
	other := maps.Clone(p)
	other[key] = printed(text)
	return other
}

func (p programs) without(key string) programs {
	other := maps.Clone(p)
	delete(other, key)
	return other
}

// protectedOn sums up what is protected, by prefix.
func protectedOn(t *testing.T, p programs, euid int) (map[string]string, error) {
	t.Helper()
	list, err := NewHostContext(p, euid, 900, t.TempDir()).ProtectedAddrs(t.Context())
	found := map[string]string{}
	for _, v := range list {
		why := v.Why
		if strings.HasPrefix(why, sessionWhy) { // and whose
			why = sessionWhy
		}
		found[v.Prefix.String()] = why
		if v.Own != strings.HasPrefix(v.Why, "an address of this machine") {
			t.Errorf("%s is %s, own %v", v.Prefix, v.Why, v.Own)
		}
	}
	return found, err
}

const (
	gatewayWhy = "a gateway of this machine"
	serverWhy  = "a name server of this machine"
	sessionWhy = "the other end of the session"
)

func TestWhatTheMachineDependsOnIsProtected(t *testing.T) {
	found, err := protectedOn(t, mac(), 0)
	want := map[string]string{
		"127.0.0.1/32": "an address of this machine, on lo0", "192.0.2.10/32": "an address of this machine, on en0", "fe80::10/128": "an address of this machine, on en0",
		"192.0.2.255/32": "a broadcast address of a network of this machine", "198.51.100.7/32": "an address of this machine, on utun3",
		"198.51.100.8/32": "the other end of the line utun3", "203.0.113.9/32": "the other end of the tunnel gif0",
		"192.0.2.1/32": gatewayWhy, "fe80::1/128": gatewayWhy,
		"192.0.2.53/32": serverWhy, "2001:db8::53/128": serverWhy, "fe80::53/128": serverWhy,
		"203.0.113.20/32": sessionWhy, "2001:db8::20/128": sessionWhy,
	}
	if diff := cmp.Diff(want, found); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestWithoutNetworkAndSessionsThereIsLittle(t *testing.T) {
	p := mac().with("/usr/sbin/scutil", "No DNS configuration available\n")
	p["/usr/sbin/lsof"] = sysexec.Result{Exit: 1} // found nothing
	none := sysexec.Result{Exit: 1, Stderr: []byte("route: writing to routing socket: not in table\n")}
	p["-inet default"], p["-inet6 default"] = none, none
	found, err := protectedOn(t, p, 0)
	if len(found) != 7 || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

// What is unknown is no permission, and no reason to forget the rest.
func TestWhatCannotBeReadIsSaidBesideTheRest(t *testing.T) {
	for key, what := range map[string]string{
		"/sbin/ifconfig": "addresses: ", "-inet default": "routes: ", "-inet6 default": "routes: ", "/usr/sbin/scutil": "name servers: ", "/usr/sbin/lsof": "sessions: ",
		"-o pid,ppid,uid,state,time,rss,user,lstart,comm": "sessions: ", "-o pid,lstart,args": "sessions: ",
	} {
		found, err := protectedOn(t, mac().without(key), 0)
		if err == nil || !strings.Contains(err.Error(), what) || len(found) < 6 {
			t.Errorf("without %s: %d are found, %v", key, len(found), err)
		}
		if _, err = protectedOn(t, mac().with(key, "garbage\n"), 0); err == nil {
			t.Errorf("garbage of %s is understood", key)
		}
	}
	found, err := protectedOn(t, mac(), 501)
	if !errors.Is(err, fs.ErrPermission) || found["192.0.2.1/32"] != gatewayWhy {
		t.Errorf("without root: %v", err)
	}
}

func TestDropbearSessionIsProtected(t *testing.T) {
	p := mac().with("/usr/sbin/lsof", sockets+"p800\ncdropbear\nf4\ntIPv4\nd0x8\nPTCP\nn192.0.2.10:22->203.0.113.80:50008\nTST=ESTABLISHED\n")
	for key, row := range map[string]string{
		"-o pid,ppid,uid,state,time,rss,user,lstart,comm": psRow(1, 800, 0, "/opt/homebrew/sbin/dropbear"),
		"-o pid,lstart,args":                              psLine(800, "/opt/homebrew/sbin/dropbear -R -p 22"),
	} {
		p = p.with(key, string(p[key].Stdout)+row)
	}
	if found, err := protectedOn(t, p, 0); err != nil || found["203.0.113.80/32"] != sessionWhy {
		t.Errorf("%v, %v", found, err)
	}
}

func TestTunnelsThatCarrySessions(t *testing.T) {
	inside := strings.Replace(sockets, "n192.0.2.10:22->203.0.113.20", "n198.51.100.7:22->198.51.100.99", 2)
	_, err := protectedOn(t, mac().with("/usr/sbin/lsof", inside), 0)
	if err == nil || !strings.Contains(err.Error(), "the other end of the tunnel utun3") {
		t.Errorf("a tunnel that nobody can tell about: %v", err)
	}
	daemon := inside + "p500\ncopenvpn\nu0\nf5\ntIPv4\nd0x9\nPUDP\nn192.0.2.10:50009->203.0.113.88:1194\np501\ncopenvpn\nu0\nf5\ntIPv4\nd0xa\nPTCP\nn127.0.0.1:7505->127.0.0.1:50010\nTST=ESTABLISHED\n"
	found, err := protectedOn(t, mac().with("/usr/sbin/lsof", daemon), 0)
	if err != nil || found["203.0.113.88/32"] != `whom "openvpn" has its tunnel with` || found["198.51.100.99/32"] != sessionWhy {
		t.Errorf("%v, %v", found, err)
	}
	if found["127.0.0.1/32"] != "an address of this machine, on lo0" {
		t.Errorf("%v", found)
	}
	const more = "utun4: flags=8051<UP,POINTOPOINT,RUNNING,MULTICAST> mtu 1380\n\tinet6 fe80::1%utun4 prefixlen 64 scopeid 0x9\n"
	for extra, known := range map[string]bool{more: true, more + "\tinet 198.51.100.40 --> 198.51.100.41 netmask 0xffffffff\n": false} {
		_, err := protectedOn(t, mac().with("/usr/sbin/lsof", daemon).with("/sbin/ifconfig", cards+extra), 0)
		if (err == nil) != known || err != nil && !strings.Contains(err.Error(), "the other end of the tunnel utun3") {
			t.Errorf("beside %q: %v", extra, err)
		}
	}
}

// Anybody can name a program after a VPN: it makes no address one that cannot be blocked, and does not
// stand for the tunnel that a session comes through.
func TestProgramsOfUsersHaveNoTunnels(t *testing.T) {
	inside := strings.Replace(sockets, "n192.0.2.10:22->203.0.113.20", "n198.51.100.7:22->198.51.100.99", 2)
	const socket = "f5\ntIPv4\nd0x9\nPUDP\nn192.0.2.10:50009->203.0.113.66:4242\n"
	for user, believed := range map[string]bool{"u0\n": true, "u241\n": true, "u-2\n": true, "u4294967294\n": true, "u501\n": false, "u500\n": false, "": false} {
		found, err := protectedOn(t, mac().with("/usr/sbin/lsof", inside+"p500\ncnebula\n"+user+socket), 0)
		if _, protected := found["203.0.113.66/32"]; protected != believed {
			t.Errorf("%q: protected is %v", user, protected)
		}
		if said := err != nil && strings.Contains(err.Error(), "the other end of the tunnel utun3"); said == believed {
			t.Errorf("%q: %v", user, err)
		}
	}
}

// A user of this machine can connect to where an administrator comes from, and
// call the program what a server is called that still waits for a login.
func TestOthersDoNotHideASession(t *testing.T) {
	foreign := "p900\ncsshd\nf3\ntIPv4\nd0x9\nPTCP\nn192.0.2.10:60000->203.0.113.20:50000\nTST=SYN_SENT\n"
	p := mac().with("/usr/sbin/lsof", sockets+foreign)
	for key, row := range map[string]string{
		"-o pid,ppid,uid,state,time,rss,user,lstart,comm": psRow(1, 900, 501, "sshd: admin [net]"), "-o pid,lstart,args": psLine(900, "sshd: admin [net]"),
	} {
		p = p.with(key, string(p[key].Stdout)+row)
	}
	if found, err := protectedOn(t, p, 0); err != nil || found["203.0.113.20/32"] != sessionWhy {
		t.Errorf("%v, %v", found, err)
	}
}
