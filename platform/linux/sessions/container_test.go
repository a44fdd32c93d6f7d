// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/tunnels"
)

// Containers behind a bridge of this machine, as Docker makes them: what comes to some ports is sent on to the first.
const (
	bridge, first, second = "172.17.0.1", "172.17.0.2", "172.17.0.3"
	proxyTo               = "SENTINEL_TEST_PROXY_TO"
)

// A run with an address in its environment is a proxy that listens at port 2443.
func init() {
	to := os.Getenv(proxyTo)
	if to == "" {
		return
	}
	l, err := net.Listen("tcp", ":2443")
	if err != nil {
		panic(err)
	}
	pass(l, func() (net.Conn, error) { return net.Dial("tcp", to) })
	os.Exit(0)
}

// pass passes each connection on, until the listener is closed.
func pass(l net.Listener, dial func() (net.Conn, error)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		to, err := dial()
		if err != nil {
			c.Close()
			continue
		}
		go io.Copy(to, c)
		go io.Copy(c, to)
	}
}

// containers makes them, without programs.
func (s *site) containers() {
	s.t.Helper()
	commands := []string{
		"ip link set lo up", "sysctl -qw net.ipv4.ip_forward=1", "ip link add docker0 type bridge", "ip addr add " + bridge + "/16 dev docker0", "ip link set docker0 up",
		"nft add table ip nat", "nft add chain ip nat pre { type nat hook prerouting priority -100 ; }",
	}
	for name, c := range map[string]struct{ address, ports string }{"ct1": {first, "2222,2443"}, "ct2": {second, "2444"}} {
		commands = append(commands,
			"ip netns add "+name, "ip link add v-"+name+" type veth peer name e0 netns "+name, "ip link set v-"+name+" master docker0 up",
			"ip -n "+name+" link set lo up", "ip -n "+name+" link set e0 up", "ip -n "+name+" addr add "+c.address+"/16 dev e0",
			"ip -n "+name+" route add default via "+bridge,
			"nft add rule ip nat pre iifname d0 tcp dport { "+c.ports+" } dnat to "+c.address,
		)
	}
	s.commands(commands...)
}

func (s *site) commands(list ...string) {
	s.t.Helper()
	for _, command := range list {
		words := strings.Fields(command)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			s.t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
}

// A proxy of a container is the way that a session takes, and not where it comes from.
func TestSessionsThroughContainersAreFound(t *testing.T) {
	for program, name := range map[string]string{"sshd": "openssh-server", "ssh": "openssh-client", "ip": "iproute2", "nft": "nftables", "sysctl": "procps"} {
		testenv.Program(t, program, name)
	}
	if !testenv.Isolated(t) {
		return
	}
	s := newSite(t)
	s.containers()
	t.Run("a proxy", s.proxyInContainer)
	t.Run("a bastion", s.bastion)
	t.Run("a container in a container", s.hiddenContainer)
	t.Run("no program", s.noProgram)
	t.Run("no container", func(t *testing.T) {
		m := model(t, s.ssh("peer", prompted, here, "2201", "-tt"))
		if c := m.Addresses[netip.MustParseAddr(prompted)]; c.Whose() != sessions.Own || len(m.Hidden()) > 0 {
			t.Errorf("%s; %v", whose(m), m.Hidden())
		}
	})
}

// proxyInContainer has two log in through one proxy, which tells them apart by what they have sent.
func (s *site) proxyInContainer(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	proxy, _, _ := s.start("ct1", func(c *exec.Cmd) { c.Env = append(os.Environ(), proxyTo+"="+bridge+":2201") }, own)
	testenv.WaitFor(t, "the proxy", func() (ok bool) {
		at(t, "ct1", func() {
			c, err := net.Dial("tcp", "127.0.0.1:2443")
			if ok = err == nil; ok {
				c.Close()
			}
		})
		return ok
	})
	caller := s.ssh("peer", ann, here, "2443", "-tt")
	other := s.ssh("peer", bob, here, "2443", "-tt", "-o", "SendEnv=HOME") // so that it sends more
	for pid, want := range map[int]string{
		caller: first + " own, " + ann + " own, " + bob + " others'",
		other:  first + " own, " + ann + " others', " + bob + " own",
	} {
		m := model(t, pid)
		if got := whose(m); got != want || len(m.Hidden()) > 0 {
			t.Errorf("%s, want %s; %v", got, want, m.Hidden())
		}
		if c := m.Processes[proxy.Process.Pid]; c.Sessions == nil || c.Whose() != sessions.Own || c.Listens {
			t.Errorf("the proxy: %v", c)
		}
	}
}

// bastion has an SSH server in the container, by which somebody comes here.
func (s *site) bastion(t *testing.T) {
	s.start("ct1", nil, "/usr/sbin/sshd", "-D", "-f", "/dev/null", "-h", s.dir+"/host", "-p", "2222", "-o", "PidFile=none", "-o", "UsePAM=no",
		"-o", "StrictModes=no", "-o", "AuthorizedKeysFile="+s.dir+"/key.pub")
	at(t, "ct1", func() { s.listens("", "2222") })
	jump := "ProxyCommand=" + strings.Join(s.sshWords(relay, here, "2222", "-W", bridge+":2201"), " ")
	m := model(t, s.ssh("peer", "", bridge, "2201", "-tt", "-o", jump))
	if c := m.Addresses[netip.MustParseAddr(relay)]; c.Sessions == nil || c.Whose() != sessions.Own || len(m.Hidden()) > 0 {
		t.Errorf("%s; %v", whose(m), m.Hidden())
	}
}

// hiddenContainer has a container pass on what comes to it, under its own address, to one within it.
func (s *site) hiddenContainer(t *testing.T) {
	sleep, _, _ := s.start("ct2", nil, "sleep", "600")
	s.commands(
		"ip netns add ct3", "ip -n ct2 link add d3 type veth peer name e0 netns ct3", "ip -n ct2 addr add 10.3.0.1/24 dev d3", "ip -n ct2 link set d3 up",
		"ip -n ct3 link set e0 up", "ip -n ct3 addr add 10.3.0.2/24 dev e0", "ip -n ct3 route add default via 10.3.0.1",
		"ip netns exec ct2 sysctl -qw net.ipv4.ip_forward=1", "ip netns exec ct2 nft add table ip nat",
		"ip netns exec ct2 nft add chain ip nat pre { type nat hook prerouting priority -100 ; }",
		"ip netns exec ct2 nft add chain ip nat post { type nat hook postrouting priority 100 ; }",
		"ip netns exec ct2 nft add rule ip nat pre iifname e0 tcp dport 2444 dnat to 10.3.0.2",
		"ip netns exec ct2 nft add rule ip nat post oifname e0 masquerade",
	)
	var l net.Listener
	at(t, "ct3", func() {
		var err error
		if l, err = net.Listen("tcp", ":2444"); err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(func() { l.Close() })
	go pass(l, func() (c net.Conn, err error) {
		at(t, "ct3", func() { c, err = net.Dial("tcp", bridge+":2201") })
		return c, err
	})
	m := model(t, s.ssh("peer", eve, here, "2444", "-tt"))
	want := fmt.Sprintf("where the connection of %s, which is a container of this machine, goes on is not seen, which carries this call's own session", second)
	if hidden := m.Hidden(); len(hidden) != 1 || !strings.HasPrefix(hidden[0].Why, want) {
		t.Errorf("%v, want %s", hidden, want)
	}
	if c := m.Addresses[netip.MustParseAddr(second)]; c.Sessions == nil || c.Whose() != sessions.Own {
		t.Errorf("%s", whose(m))
	}
	if c := m.Processes[sleep.Process.Pid]; c.Sessions == nil || c.Whose() != sessions.Own {
		t.Errorf("what lives in the container: %v", c)
	}
}

// noProgram asks for a container of which this run sees no process, as it is and as one in a container.
func (s *site) noProgram(t *testing.T) {
	at(t, "ct1", func() {
		c, err := net.Dial("tcp", bridge+":2201")
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	})
	for _, nested := range []bool{false, true} {
		r := &reading{Reader: New("/"), tunnels: tunnels.New("/"), nested: nested}
		_, on, err := r.Container(t.Context(), netip.MustParseAddr(first))
		if on == nested || (err == nil) != nested {
			t.Errorf("nested: %v; on this machine: %v, %v", nested, on, err)
		}
	}
}

// The first program that was seen in a container may have ended since.
func TestAContainerIsEnteredByWhoStillLivesInIt(t *testing.T) {
	const gone = 1 << 30
	r := &reading{Reader: New("/")}
	own := r.namespace(os.Getpid(), "net")
	for _, c := range []struct {
		name string
		pids []int
		want bool
	}{{own, []int{gone, os.Getpid()}, true}, {own, []int{gone}, false}, {"net:[1]", []int{os.Getpid()}, false}} {
		r.lives = map[string][]int{c.name: c.pids}
		f, err := r.openSpace(c.name)
		if got := err == nil && f != nil; got != c.want {
			t.Errorf("%s of %v: %v", c.name, c.pids, err)
		}
		if err == nil {
			f.Close()
		}
	}
}
