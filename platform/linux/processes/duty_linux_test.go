// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/sockdiag"
)

// mayRoute is an account of the system whose processes may change routes.
const mayRoute = 34

// socketOf has another process hold a socket that this one opens, until the end of the test.
func socketOf(t *testing.T, uid int, open func() (*os.File, error)) int {
	t.Helper()
	file, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	holder := exec.Command("sleep", "600")
	holder.ExtraFiles = []*os.File{file}
	if uid != 0 {
		holder.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	if uid == mayRoute {
		holder.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN}
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // which frees the port
		holder.Process.Kill()
		holder.Wait()
	})
	return holder.Process.Pid
}

func udp(address string) func() (*os.File, error) {
	return func() (*os.File, error) {
		conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(address)))
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		return conn.File()
	}
}

func tcp(address string) func() (*os.File, error) {
	return func() (*os.File, error) {
		listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)))
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		return listener.File()
	}
}

func raw(protocol int) func() (*os.File, error) {
	return func() (*os.File, error) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
		return os.NewFile(uintptr(fd), "raw"), err
	}
}

// duty tells what the network of this machine has of one process.
func (t *Terminator) duty(ctx context.Context, pid, uid int) processes.Duty {
	f := processes.Facts{UserID: uid}
	t.Holdings(ctx, map[int]*processes.Facts{pid: &f}, nil, true)
	return f.Duty
}

// The configuration is of a directory, the sockets are those of the system.
func TestWhatTheNetworkHasOfAProcess(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	const names, routes = "names", "routes"
	for _, c := range []struct {
		what, conf, duty string
		uid              int
		open             func() (*os.File, error)
	}{
		{"the server of resolv.conf", "nameserver 127.0.0.1\n", names, 0, udp("127.0.0.1:53")},
		{"over TCP", "nameserver 127.0.0.1\n", names, 0, tcp("127.0.0.1:53")},
		{"at each address", "nameserver 127.0.0.1\n", names, 0, udp("0.0.0.0:53")},
		{"at each address of IPv6", "nameserver 127.0.0.1\n", names, 0, udp("[::]:53")},
		{"where nobody is named", "search example\n", names, 0, udp("127.0.0.1:53")},
		{"of an account of the system", "nameserver ::1\n", names, 65534, udp("[::1]:53")},
		{"of an ordinary user", "nameserver 127.0.0.1\n", "", 1000, udp("127.0.0.1:53")},
		{"at another address", "nameserver 127.0.0.1\n", "", 0, udp("127.0.0.9:53")},
		{"at another port", "nameserver 127.0.0.1\n", "", 0, udp("127.0.0.1:5353")},
		{"where another host is asked", "nameserver 192.0.2.53\n", "", 0, udp("0.0.0.0:53")},
		{"where it is not known who", strings.Repeat("#", 70_000), names, 0, udp("127.0.0.1:53")},
		{"BGP", "", routes, 0, tcp("127.0.0.1:179")},
		{"Babel", "", routes, 0, udp("[::]:6696")},
		{"OSPF", "", routes, 0, raw(89)},
		{"VRRP", "", routes, 0, raw(112)},
		{"ping", "", "", 0, raw(unix.IPPROTO_ICMP)},
		{"Babel of a service", "", "", 33, udp("[::]:6696")},
		{"BGP of a service", "", "", 33, tcp("127.0.0.1:179")},
		{"BGP of a service that may change routes", "", routes, mayRoute, tcp("127.0.0.1:179")},
		{"Babel of an ordinary user", "", "", 1000, udp("[::]:6696")},
	} {
		t.Run(c.what, func(t *testing.T) {
			root := testenv.Plant(t, map[string]string{"etc/resolv.conf": c.conf})
			if err := os.Symlink("/proc", root+"/proc"); err != nil {
				t.Fatal(err)
			}
			pid := socketOf(t, c.uid, c.open)
			d := NewTerminator(root).duty(t.Context(), pid, c.uid)
			if d.NameServer != (c.duty == names) || d.Routing != (c.duty == routes) || d.Unread != nil {
				t.Errorf("%+v", d)
			}
			if other := NewTerminator(root).duty(t.Context(), sleeper(t), 0); other != (processes.Duty{}) {
				t.Errorf("another process: %+v", other)
			}
		})
	}
}

// Anybody can begin to connect to such a port.
func TestOnlyAConnectionThatIsThereRoutes(t *testing.T) {
	port := netip.MustParseAddrPort("203.0.113.66:179")
	for state, want := range map[uint8]bool{stateEstablished: true, stateListen: true, 2: false, 6: false} { // SYN_SENT, TIME_WAIT
		s := dutySearch{func() []netip.Addr { return nil }, map[uint64]processes.Duty{}}
		s.tcp(sockdiag.Socket{State: state, Remote: port, Inode: 7})
		if got := s.found[7].Routing; got != want {
			t.Errorf("in state %d: %v", state, got)
		}
	}
}

// Whoever has more open than is read can be ended, but root.
func TestWhoHasTooMuchOpenHasNoDuty(t *testing.T) {
	for why, hides := range map[error][2]bool{procfs.ErrFilesTime: {true, false}, procfs.ErrManyFiles: {false, false}, unix.EACCES: {true, true}} {
		for i, uid := range []int{0, 33} {
			if got := unread(uid, why) != nil; got != hides[i] {
				t.Errorf("%v of account %d: %v", why, uid, got)
			}
		}
	}
}

// A daemon by any name that speaks OSPF is neither ended nor restarted; force ends it.
func TestARouterByWhatItSpeaksIsProtected(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := socketOf(t, 0, raw(89))
	_, err := processes.PlanTermination(t.Context(), NewTerminator("/"), processes.Target{PID: pid}, nil)
	if err == nil {
		t.Fatal("it may be ended")
	}
	if f := fault.From(err); f.Code != fault.ProtectedProcess || !strings.Contains(f.Message, processes.WhyRouting) {
		t.Error(err)
	}
	if _, _, why, err := processes.Essential(t.Context(), NewTerminator("/"), []processes.Ending{{PID: pid, ComesBack: true}}, nil, nil); err != nil || why != processes.WhyRouting {
		t.Errorf("%q, %v", why, err)
	}
	if p := plan(t, processes.Target{PID: pid, Force: true}); p == nil {
		t.Error("force does not lift it")
	}
}

// tun opens a queue of a TUN device, which it makes where there is none.
func tun() (*os.File, error) {
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	ask, err := unix.NewIfreq("tun7")
	if err == nil {
		ask.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_MULTI_QUEUE)
		err = unix.IoctlIfreq(int(f.Fd()), unix.TUNSETIFF, ask)
	}
	return f, err
}

// A program by any name that holds the device of the default route is neither ended nor restarted; a user's is.
func TestTheProgramOfTheWayOutIsProtected(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	pid, users := socketOf(t, 0, tun), socketOf(t, 1000, tun)
	essential := func(pid int) string {
		_, _, why, err := processes.Essential(t.Context(), NewTerminator("/"), []processes.Ending{{PID: pid, ComesBack: true}}, nil, nil)
		if err != nil {
			t.Error(err)
		}
		return why
	}
	if why := essential(pid); why != "" {
		t.Errorf("without a route: %s", why)
	}
	for _, command := range []string{"ip link set tun7 up", "ip route add default dev tun7"} {
		if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	if why := essential(pid); why != processes.WhyWayOut {
		t.Errorf("%q", why)
	}
	_, err := processes.PlanTermination(t.Context(), NewTerminator("/"), processes.Target{PID: pid}, nil)
	if err == nil || fault.From(err).Code != fault.ProtectedProcess || !strings.Contains(err.Error(), processes.WhyWayOut) {
		t.Errorf("it may be ended: %v", err)
	}
	if why := essential(users); why != "" {
		t.Errorf("a user's program: %s", why)
	}
}

func TestDaemonsThatKnowPeople(t *testing.T) {
	for text, want := range map[string]string{
		"passwd: files sss\n": "sssd sssd_be sssd_nss sssd_pam", "passwd: files\ngroup: files winbind\n": "winbindd", "initgroups: ldap": "nslcd",
		"passwd: files systemd\nhosts: files ldap\n": "", strings.Repeat("#", maxSwitch+1): "sssd sssd_be sssd_nss sssd_pam winbindd nslcd ypbind lwsmd lsassd vasd adclient himmelblaud authd",
	} {
		rules := NewTerminator(testenv.Plant(t, map[string]string{"etc/nsswitch.conf": text})).Critical()
		last := rules[len(rules)-1]
		if got := strings.Join(last.Names, " "); got != want || last.Restart || len(rules) != len(critical)+1 {
			t.Errorf("%.30q: %q, %+v", text, got, last)
		}
	}
	if rules := NewTerminator(t.TempDir()).Critical(); len(rules[len(rules)-1].Names) != 0 {
		t.Errorf("without the file: %+v", rules)
	}
}
