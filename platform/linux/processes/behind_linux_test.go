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
	for _, command := range []string{
		"mount -t tmpfs -o mode=755 tmpfs /run", "mkdir /run/netns", "ip netns add ct", "ip link set lo up",
		"ip link add v0 type veth peer name e0 netns ct", "ip addr add 10.1.0.1/24 dev v0", "ip link set v0 up",
		"ip -n ct addr add 10.1.0.2/24 dev e0", "ip -n ct link set e0 up", "ip -n ct link set lo up",
		"ip neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev v0", "ip addr add 192.0.2.10/32 dev lo",
	} {
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
	if !testenv.Isolated(t) {
		return
	}
	container(t)
	send(t) // so that the flow to 192.0.2.10 is remembered
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
		{"for the container alone", "nameserver 10.1.0.2\n", 0, udp("127.0.0.1:53"), false},
		{"at another port", "nameserver 10.1.0.2\n", 0, udp("0.0.0.0:5353"), false},
		{"where another host is asked", "nameserver 203.0.113.53\n", 0, udp("0.0.0.0:53"), false},
		{"where a neighbour is asked", "nameserver 10.1.0.9\n", 0, udp("0.0.0.0:53"), false},
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

// send sends a question to 192.0.2.10, which rules send on to the container.
func send(t *testing.T) {
	t.Helper()
	for _, command := range []string{
		"nft add table ip n", "nft add chain ip n o { type nat hook output priority -100 ; }", "nft add rule ip n o ip daddr 192.0.2.10 udp dport 53 dnat to 10.1.0.2",
	} {
		words := strings.Fields(command)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	conn, err := net.Dial("udp", "192.0.2.10:53")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("who?")); err != nil {
		t.Fatal(err)
	}
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
	if out, err := exec.Command("ip", "route", "add", "default", "via", "10.1.0.2").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	duties(processes.Duty{Routing: true}, one)
	inContainer(t, func() { another = sleeper(t) })
	duties(processes.Duty{}, one, another, sleeper(t))
	duties(processes.Duty{Routing: true}, first(t, udp("127.0.0.9:5300")))
	duties(processes.Duty{}, one)
}
