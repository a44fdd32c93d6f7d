// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
	"sentinel/internal/testenv"
)

// container makes one with 10.1.0.2, and a line from it to 10.1.0.1 of this machine.
func container(t *testing.T) {
	t.Helper()
	testenv.RequireIsolated(t)
	commands(t,
		"mount -t tmpfs -o mode=755 tmpfs /run", "mkdir /run/netns", "ip netns add ct", "ip link set lo up",
		"ip link add v0 type veth peer name e0 netns ct", "ip addr add 10.1.0.1/24 dev v0", "ip link set v0 up",
		"ip -n ct addr add 10.1.0.2/24 dev e0", "ip -n ct link set e0 up", "ip -n ct link set lo up",
		"ip neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev v0", "ip addr add 192.0.2.10/32 dev lo",
		"ip link add d0 type veth peer name d1", "ip addr add 10.2.0.1/24 dev d0", "ip link set d0 up", "ip link set d1 up",
	)
}

func commands(t *testing.T, list ...string) {
	t.Helper()
	for _, command := range list {
		words := strings.Fields(command)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
}

func inContainer(t *testing.T, do func()) { testenv.InNetworkNamespace(t, "/run/netns/ct", do) }

// first starts the first process of a PID namespace in the container, with a child that has the socket alone.
func first(t *testing.T, open func() (*os.File, error)) int {
	t.Helper()
	var c *exec.Cmd
	inContainer(t, func() {
		file, err := open()
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		c = exec.Command("sh", "-c", "sleep 600 & exec 3<&-; wait")
		c.ExtraFiles, c.SysProcAttr = []*os.File{file}, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
		if err := c.Start(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	testenv.WaitFor(t, "the socket to be with the child alone", func() bool {
		_, err := os.Lstat(filepath.Join("/proc", strconv.Itoa(c.Process.Pid), "fd", "3"))
		return os.IsNotExist(err)
	})
	return c.Process.Pid
}

func dutyBelow(t *testing.T, conf string, pid, uid int) processes.Duty {
	t.Helper()
	root := testenv.Plant(t, map[string]string{"etc/resolv.conf": conf})
	if err := os.Symlink("/proc", root+"/proc"); err != nil {
		t.Fatal(err)
	}
	return NewTerminator(root).duty(t.Context(), pid, uid)
}

func TestTheNameServerInAContainerIsFound(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	testenv.Program(t, "nft", "nftables")
	remember := testenv.Program(t, "conntrack", "conntrack")
	if !testenv.Isolated(t) {
		return
	}
	container(t)
	translate(t)
	for _, flow := range []string{"-s 198.51.100.7 -d 203.0.113.54 -g 10.1.0.2", "-s 192.0.2.10 -d 203.0.113.55 -g 10.1.0.2:5354"} {
		words := strings.Fields("-I -p udp --sport 5000 --dport 53 -t 600 -u SEEN_REPLY " + flow)
		if out, err := exec.Command(remember, words...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, c := range []struct {
		what, conf string
		uid        int
		open       func() (*os.File, error)
		want       bool
	}{
		{"at each address", "nameserver 10.1.0.2\n", 0, udp("0.0.0.0:53"), true},
		{"at its address, over TCP", "nameserver 10.1.0.2\n", 0, tcp("10.1.0.2:53"), true},
		{"of an account of the container", "nameserver 10.1.0.2\n", 1000, udp("[::]:53"), true},
		{"behind a rule", "nameserver 192.0.2.10\n", 0, udp("0.0.0.0:53"), true},
		{"within TLS", "nameserver 10.1.0.2\n", 0, tcp("0.0.0.0:853"), true},
		{"behind a rule, at another port", "nameserver 203.0.113.55\n", 0, udp("0.0.0.0:5354"), true},
		{"beside where a rule sends it", "nameserver 203.0.113.55\n", 0, udp("0.0.0.0:53"), false},
		{"for the container alone", "nameserver 10.1.0.2\n", 0, udp("127.0.0.1:53"), false},
		{"at another port", "nameserver 10.1.0.2\n", 0, udp("0.0.0.0:5353"), false},
		{"where another host is asked", "nameserver 203.0.113.53\n", 0, udp("0.0.0.0:53"), false},
		{"behind a rule for what others ask", "nameserver 203.0.113.54\n", 0, udp("0.0.0.0:53"), false},
		{"where a neighbour is asked", "nameserver 10.2.0.9\n", 0, udp("0.0.0.0:53"), false},
	} {
		t.Run(c.what, func(t *testing.T) {
			var pid int
			inContainer(t, func() { pid = socketOf(t, c.uid, c.open) })
			if d := dutyBelow(t, c.conf, pid, c.uid); d != (processes.Duty{NameServer: c.want}) {
				t.Errorf("%+v", d)
			}
			inContainer(t, func() { pid = sleeper(t) })
			if d := dutyBelow(t, c.conf, pid, 0); d != (processes.Duty{}) {
				t.Errorf("another process there: %+v", d)
			}
			pid = first(t, udp("127.0.0.9:5300"))
			if d := dutyBelow(t, c.conf, pid, 0); d != (processes.Duty{}) {
				t.Errorf("the first of other processes: %+v", d)
			}
		})
	}
	if d := dutyBelow(t, "nameserver 10.1.0.2\n", first(t, udp("10.1.0.2:53")), 0); d != (processes.Duty{NameServer: true}) {
		t.Errorf("the process that others end with: %+v", d)
	}
}

// translate has rules send what asks 192.0.2.10 to the container.
func translate(t *testing.T) {
	t.Helper()
	commands(t, "nft add table ip n", "nft add chain ip n o { type nat hook output priority -100 ; }", "nft add rule ip n o ip daddr 192.0.2.10 udp dport 53 dnat to 10.1.0.2")
}

// A network namespace, and the line to it, ends with the last process in it.
func TestTheGatewayInAContainerIsFound(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	container(t)
	var one, another int
	inContainer(t, func() { one = sleeper(t) })
	duties := func(want processes.Duty, pids ...int) {
		t.Helper()
		for _, pid := range pids {
			if d := dutyBelow(t, "", pid, 0); d != want {
				t.Errorf("process %d: %+v, want %+v", pid, d, want)
			}
		}
	}
	duties(processes.Duty{}, one)
	commands(t, "ip route add default via 10.1.0.2")
	gateway := processes.Duty{Routing: true}
	duties(gateway, one)
	inContainer(t, func() { another = sleeper(t) })
	duties(processes.Duty{}, one, another, sleeper(t))
	if both := dutiesTogether(t, nil, one, another); both[one] != gateway || both[another] != gateway {
		t.Errorf("two that end together: %+v", both)
	}
	if either := dutiesTogether(t, []int{another}, one); either[one] != gateway {
		t.Errorf("one that ends along with the other: %+v", either)
	}
	// A first process takes its own namespace along, and others of a pod go on.
	pod := first(t, udp("127.0.0.9:5300"))
	duties(processes.Duty{}, pod)
	if all := dutiesTogether(t, []int{one, another}, pod); all[pod] != gateway {
		t.Errorf("the first process of a namespace along with the others: %+v", all)
	}
	for _, pid := range []int{one, another} {
		unix.Kill(pid, unix.SIGKILL)
		testenv.WaitFor(t, "a process to end", func() bool { return !alive(pid) })
	}
	duties(gateway, pod)
}

// dutiesTogether are those of processes that end together, and along with others.
func dutiesTogether(t *testing.T, along []int, pids ...int) map[int]processes.Duty {
	t.Helper()
	of := map[int]*processes.Facts{}
	for _, pid := range pids {
		of[pid] = &processes.Facts{}
	}
	NewTerminator("/").Holdings(t.Context(), of, along, true)
	found := map[int]processes.Duty{}
	for pid, f := range of {
		found[pid] = f.Duty
	}
	return found
}

// The way of a session to a network that no wide route leads to has a gateway as well; a container that somebody
// comes from has none.
func TestTheGatewayOfASessionIsFound(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	script := testenv.Program(t, "script", "bsdutils")
	if !testenv.Isolated(t) {
		return
	}
	container(t)
	commands(t, "ip -n ct link set e0 address 02:00:00:00:00:02", "ip -n ct addr add 203.0.113.9/32 dev lo", "ip route add 203.0.113.0/24 via 10.1.0.2")
	var one int
	inContainer(t, func() { one = sleeper(t) })
	duties := func(what string, want processes.Duty) {
		t.Helper()
		if d := dutiesTogether(t, nil, one)[one]; d != want {
			t.Errorf("%s: %+v, want %+v", what, d, want)
		}
	}
	duties("nobody", processes.Duty{})
	session(t, script, "10.1.0.2")
	duties("somebody in the container", processes.Duty{})
	session(t, script, "203.0.113.9")
	duties("somebody behind it", processes.Duty{Routing: true})
}

// session has a server of root serve a terminal to somebody in the container, who connects from an address.
func session(t *testing.T, script, from string) {
	t.Helper()
	listener, err := net.Listen("tcp", "10.1.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	inContainer(t, func() {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client, err := dialer.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { client.Close() })
	})
	if t.Failed() {
		t.FailNow()
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	server := exec.Command(script, "-qc", "echo in; exec sleep 600", "/dev/null")
	server.ExtraFiles, server.SysProcAttr = []*os.File{file}, &syscall.SysProcAttr{Setsid: true}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	run(t, server)
	if _, err := out.Read(make([]byte, 1)); err != nil { // the terminal is served
		t.Fatal(err)
	}
}

// A program that carries the packets of a gateway counts as one that carries those of this machine.
func TestTheTunnelOfAGatewayIsFound(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	container(t)
	var holder, beside int
	inContainer(t, func() {
		beside = sleeper(t)
		holder = socketOf(t, 0, tun)
	})
	want := processes.Duty{}
	for range 2 {
		if d := dutiesTogether(t, nil, holder)[holder]; d != want {
			t.Errorf("the program of the tunnel: %+v, want %+v", d, want)
		}
		if d := dutiesTogether(t, nil, beside)[beside]; d != (processes.Duty{}) {
			t.Errorf("another process there: %+v", d)
		}
		commands(t, "ip route replace default via 10.1.0.2")
		want.WayOut = true
	}
}

// Any container can have itself known as a neighbour, from any address, and a bridge believe that it is another.
func TestAContainerThatIsSpokenForDoesNothingHere(t *testing.T) {
	testenv.Program(t, "bridge", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	container(t)
	commands(t,
		"ip netns add other", "ip -n other link set lo up", "ip link add br0 type bridge", "ip addr add 10.3.0.1/24 dev br0", "ip link set br0 up",
		"ip link add vb0 type veth peer name e1 netns ct", "ip link set vb0 master br0 up", "ip -n ct addr add 10.3.0.2/24 dev e1", "ip -n ct link set e1 up",
		"ip link add vb1 type veth peer name e0 netns other", "ip link set vb1 master br0 up", "ip -n other addr add 10.3.0.3/24 dev e0", "ip -n other link set e0 up",
		"ip link add up0 type veth peer name router", "ip link set up0 up", "ip link set router up",
		"ip neigh add 10.3.0.2 lladdr 02:00:00:00:00:02 dev br0", "ip neigh add fe80::1 lladdr 02:00:00:00:00:03 dev br0",
		"ip -6 route add default via fe80::1 dev up0",
	)
	var server, hostile int
	inContainer(t, func() { server = socketOf(t, 0, udp("0.0.0.0:53")) })
	testenv.InNetworkNamespace(t, "/run/netns/other", func() { hostile = sleeper(t) })
	asked := func(what, conf string, want processes.Duty) {
		t.Helper()
		if d := dutyBelow(t, conf, server, 0); d != want {
			t.Errorf("%s: the server: %+v, want %+v", what, d, want)
		}
		if d := dutyBelow(t, conf, hostile, 0); d != (processes.Duty{}) {
			t.Errorf("%s: another container: %+v", what, d)
		}
	}
	const known = "nameserver 10.3.0.2\n"
	asked("a bridge that has not learned it", known, processes.Duty{NameServer: true})
	commands(t, "bridge fdb append 02:00:00:00:00:02 dev vb1 master static")
	asked("one that believes another", known, processes.Duty{NameServer: true})
	asked("a neighbour without the address", "nameserver fe80::1%br0\n", processes.Duty{})
	commands(t, "ip -n other addr add fe80::1/64 dev e0 nodad", "ip -n ct addr add fe80::1/64 dev e0 nodad")
	asked("a gateway and name server behind another interface", "nameserver fe80::1\nnameserver fe80::1%up0\n", processes.Duty{})
	asked("a name server behind one", "nameserver fe80::1%v0\n", processes.Duty{NameServer: true})
	commands(t, "ip -6 route del default", "ip route add default via inet6 fe80::1 dev v0")
	asked("a gateway of the other family", "", processes.Duty{Routing: true})
}
