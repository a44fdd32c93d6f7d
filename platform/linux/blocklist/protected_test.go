// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/blocklist"
	"sentinel/internal/testenv"
	linuxsessions "sentinel/platform/linux/sessions"
)

// protectedBelow reads what is protected below root, by prefix.
func protectedBelow(t *testing.T, root string) map[string]string {
	t.Helper()
	list, err := NewHostContext(root).ProtectedAddrs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, v := range list {
		if old := found[v.Prefix.String()]; old == "" || v.Why < old {
			found[v.Prefix.String()] = v.Why
		}
		if v.Own != strings.HasPrefix(v.Why, "an address of this machine") {
			t.Errorf("%s is %s, own %v", v.Prefix, v.Why, v.Own)
		}
	}
	return found
}

func TestWhatTheMachineDependsOnIsProtected(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{
		"ip link add d0 type veth peer name p0", "ip link set d0 up", "ip link set p0 up", "ip link add d1 type veth peer name p1",
		"ip addr add 192.0.2.10/24 dev d0", "ip addr add 2001:db8::10/64 dev d0 nodad",
		"ip addr add 198.51.100.10/31 dev d1", "ip addr add 2001:db8:9::1/64 dev d1", // which is down
		"ip route add default via 192.0.2.1 metric 10",
		"ip route add default nexthop via 192.0.2.2 nexthop via 192.0.2.3",
		"ip route add 128.0.0.0/1 via 192.0.2.4",
		"ip -4 route add 0.0.0.0/0 via inet6 fe80::4 dev d0 metric 20",
		"ip route add default via 192.0.2.5 table 1000",
		"ip route add 203.0.113.0/24 via 192.0.2.6",
		"ip route add local 203.0.113.128/25 dev lo table local",
		"ip route add local default dev lo table 100", "ip route add local 203.0.113.0/26 dev lo table 100",
		"ip nexthop add id 7 via 192.0.2.7 dev d0", "ip route add default nhid 7 metric 30",
		"ip -6 route add default via fe80::1 dev d0", "ip -6 route add default via 2001:db8::1 table 1000",
		"ip -6 route add default metric 5000 nexthop via 2001:db8::2 dev d0 nexthop via fe80::3 dev d0",
	} {
		run(t, command)
	}
	root := testenv.Plant(t, map[string]string{
		"proc/1/stat":                            "1 (init) S 0 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 0 0 0\n",
		"etc/resolv.conf":                        "# made by hand\nnameserver 127.0.0.53\nnameserver 2001:db8::53\nnameserver fe80::53%d0\noptions edns0\nsearch nameserver 192.0.2.99\nsortlist 192.0.2.98\n",
		"run/systemd/resolve/resolv.conf":        "nameserver 192.0.2.53\nnameserver\nnameserver example.org\n",
		"run/NetworkManager/no-stub-resolv.conf": "nameserver 192.0.2.54",
		"run/dnsmasq/resolv.conf":                "nameserver ::ffff:192.0.2.55\n",
	})
	compatible := protectedBelow(t, root)
	run(t, "sysctl -qw net.ipv4.nexthop_compat_mode=0")
	found := protectedBelow(t, root)
	if diff := cmp.Diff(compatible, found); diff != "" {
		t.Errorf("what is protected depends on how the kernel shows nexthop objects: %s", diff)
	}
	const server = "a name server of this machine"
	want := map[string]string{
		"192.0.2.10/32": "an address of this machine", "2001:db8::10/128": "an address of this machine",
		"198.51.100.10/32": "an address of this machine", "2001:db8:9::1/128": "an address of this machine, on d1", "192.0.2.255/32": "a broadcast address of a network of this machine",
		"192.0.2.1/32": blocklist.WhyGateway, "192.0.2.2/32": blocklist.WhyGateway, "192.0.2.3/32": blocklist.WhyGateway, "192.0.2.4/32": blocklist.WhyGateway,
		"192.0.2.5/32": blocklist.WhyGateway, "192.0.2.6/32": blocklist.WhyGateway, "192.0.2.7/32": blocklist.WhyGateway, "fe80::4/128": blocklist.WhyGateway, "203.0.113.128/25": "an address of this machine",
		"fe80::1/128": blocklist.WhyGateway, "2001:db8::1/128": blocklist.WhyGateway, "2001:db8::2/128": blocklist.WhyGateway, "fe80::3/128": blocklist.WhyGateway,
		"127.0.0.53/32": server, "2001:db8::53/128": server, "fe80::53/128": server, "192.0.2.53/32": server, "192.0.2.54/32": server, "192.0.2.55/32": server,
		"127.0.0.0/8": "an address of this machine", "127.0.0.1/32": "an address of this machine", "::1/128": "an address of this machine",
	}
	for prefix, why := range want {
		if found[prefix] != why {
			t.Errorf("%s is %q, want %q", prefix, found[prefix], why)
		}
		delete(found, prefix)
	}
	for prefix, why := range found {
		// Made by the kernel: link-local addresses, and broadcasts of older kernels.
		if !strings.HasPrefix(prefix, "fe80::") && !strings.HasSuffix(prefix, ".0/32") && prefix != "127.255.255.255/32" {
			t.Errorf("%s is %s", prefix, why)
		}
	}
}

func TestWhatCannotBeReadIsSaidBesideTheRest(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"etc/resolv.conf/": "", "run/systemd/resolve/resolv.conf": "nameserver 192.0.2.53\n"})
	list, err := NewHostContext(root).ProtectedAddrs(t.Context())
	if err == nil || !strings.Contains(err.Error(), "name servers: /etc/resolv.conf: not a regular file") || !strings.Contains(err.Error(), "sessions: ") || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if !slices.Contains(list, blocklist.Protect(netip.MustParseAddr("192.0.2.53"), "a name server of this machine")) {
		t.Errorf("the rest is lost: %v", list)
	}
}

// sshUnits make a server that listens by itself, and one behind a socket of
// systemd as Debian has it.
var sshUnits = map[string]string{
	"plain-ssh.service":   "[Service]\nExecStart=/usr/sbin/sshd -D -o Port=2201 -o PidFile=none -o UsePAM=no -o PermitRootLogin=yes -o StrictModes=no -o AuthorizedKeysFile=/tmp/key.pub\nRuntimeDirectory=sshd\nRuntimeDirectoryPreserve=yes\n",
	"socket-ssh.socket":   "[Socket]\nListenStream=2202\nAccept=yes\n",
	"socket-ssh@.service": "[Service]\nExecStart=-/usr/sbin/sshd -i -o UsePAM=no -o PermitRootLogin=yes -o StrictModes=no -o AuthorizedKeysFile=/tmp/key.pub\nStandardInput=socket\nRuntimeDirectory=sshd\nRuntimeDirectoryPreserve=yes\n",
}

// Real servers and real sessions; who has only connected is none.
func TestSSHSessionsAreFound(t *testing.T) {
	if !testenv.Booted(t, sshUnits) {
		return
	}
	const here, ann, root, eve = "192.0.2.1", "192.0.2.21", "192.0.2.22", "192.0.2.66"
	for _, command := range []string{
		"ip link add d0 type veth peer name p0", "ip link set d0 up",
		"ip addr add " + here + "/24 dev d0", "ip addr add " + ann + "/24 dev d0", "ip addr add " + root + "/24 dev d0", "ip addr add " + eve + "/24 dev d0",
		"ssh-keygen -A", "useradd -m -p * ann", "ssh-keygen -q -t ed25519 -N  -f /tmp/key",
	} {
		words := strings.Split(command, " ")
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	os.Chmod("/tmp/key.pub", 0o644)
	run(t, "systemctl start --no-block plain-ssh.service socket-ssh.socket")
	for port, user := range map[string]string{"2201": "ann", "2202": "root"} {
		session(t, map[string]string{"ann": ann, "root": root}[user], here, port, user)
		for range 2 {
			knock(t, eve, net.JoinHostPort(here, port))
		}
	}
	var users []string
	testenv.WaitFor(t, "the sessions", func() bool {
		users = sessionUsers(t)
		return len(users) >= 2
	})
	if want := []string{"ann", "root"}; !slices.Equal(users, want) { // who only knocks has none
		out, _ := try("ps -eo pid,user,comm,args")
		t.Errorf("sessions: %q, want %q\n%s", users, want, out)
	}
}

// sessionUsers names who is logged in over a connection, once for each session.
func sessionUsers(t *testing.T) (users []string) {
	t.Helper()
	m, err := linuxsessions.New("/").Model(t.Context())
	must(t, err)
	for _, s := range m.Sessions {
		if !s.Local {
			users = append(users, s.User)
		}
	}
	slices.Sort(users)
	return users
}

// session logs in and stays until the test ends.
func session(t *testing.T, from, to, port, user string) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := try("journalctl -n 30 --no-pager")
			t.Log(logs)
		}
	})
	testenv.WaitFor(t, user+" at port "+port, func() bool {
		cmd := exec.Command("ssh", "-b", from, "-p", port, "-i", "/tmp/key", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes",
			user+"@"+to, "echo in && exec sleep 600")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		word := make([]byte, 2)
		if n, _ := out.Read(word); n != 2 || string(word) != "in" {
			cmd.Wait()
			return false
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return true
	})
}

// knock connects, waits for the server's greeting, and goes no further.
func knock(t *testing.T, from, to string) {
	t.Helper()
	dialer := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Read(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	conn.Write([]byte("SSH-2.0-knock\r\n"))
}

func FuzzNextHop(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00\x08\x00\x06\x00\xc0\x00\x02\x07"))
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00\x06\x00\x07\x00\x05\x00\x00\x00\x0c\x00\x08\x00\x08\x00\x01\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, _ := parseNextHop(b)
		for _, v := range list {
			if !v.Prefix.IsSingleIP() || v.Why != blocklist.WhyGateway && v.Why != whyEncap {
				t.Errorf("%x is %v", b, v)
			}
		}
	})
}
