// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/sanitize"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/platform/linux/mounts"
)

// Whoever asks what root has mounted waits for its server, and that for whom it has called, or has a program called
// that is joined with it (as sshfs has ssh).
func TestWhomServersOfFileSystemsHaveCalledIsProtected(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.IsolatedAsSecond(t) {
		return
	}
	run(t, "ip link add d0 type veth peer name d1")
	run(t, "ip link set d0 up")
	for n := 1; n <= 7; n++ {
		run(t, fmt.Sprintf("ip addr add 192.0.2.%d/24 dev d0", n))
	}
	const nobody = 65534
	listensBeside(t, connected(t, "192.0.2.1"))
	starts(t, 0, "192.0.2.2", pairOf(t))
	starts(t, nobody, "192.0.2.3", pairOf(t))
	starts(t, 0, "192.0.2.5", named(t))
	fuse, err := os.Create(filepath.Join(t.TempDir(), "fuse"))
	if err != nil {
		t.Fatal(err)
	}
	starts(t, 0, "192.0.2.6", fuse)
	device, err := unix.Open("/dev/fuse", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	starts(t, 0, "192.0.2.7", os.NewFile(uintptr(device), "named"))
	accepted(t, "192.0.2.4")
	if list, err := NewHostContext("/").served(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("without such a file system: %v, %v", list, err)
	}
	mount := deadfuse.New(t, 0)
	list, err := NewHostContext("/").served(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[netip.Prefix]string{}
	for _, p := range list {
		if found[p.Prefix] = p.Why; !p.Announced {
			t.Errorf("%v suspends blocks", p)
		}
	}
	why := "a server of the file system at " + sanitize.Quoted(mount.Dir, maxMounted)
	want := map[netip.Prefix]string{netip.MustParsePrefix("192.0.2.1/32"): why, netip.MustParsePrefix("192.0.2.2/32"): why}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A file system of a disk has the disk's number (fuseblk), of which another may have the minor part.
func TestRootsFileSystemsAreKnownByTheirConnections(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"proc/self/mountinfo": "70 65 0:49 / /home/eve/mnt rw - fuse.x x rw,user_id=1000\n" +
		"71 65 8:49 / /mnt/usb rw - fuseblk /dev/sdd1 rw,user_id=0\n72 65 0:50 / /mnt/ssh rw - fuse.sshfs x rw,user_id=0\n"})
	table, err := mounts.New(root).Table()
	if err != nil {
		t.Fatal(err)
	}
	v := fileServers{at: mountedByRoot(table)}
	for connection, want := range map[uint64]string{8388657: "/mnt/usb", 50: "/mnt/ssh", 49: "", 8388658: ""} {
		if got, known := v.place(connection); got != want || known != (want != "") {
			t.Errorf("%d: %q, %t", connection, got, known)
		}
	}
}

// connected returns a connection with an address, of which this process has no other descriptor.
func connected(t *testing.T, address string) *os.File {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	file, err := c.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// accepted has this process accept a connection from an address.
func accepted(t *testing.T, from string) {
	t.Helper()
	l, err := net.Listen("tcp", "192.0.2.2:0") // whom the joined program has called, too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	came, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { came.Close() })
}

// listensBeside has a user listen at the port that a connection goes out from, of another address.
func listensBeside(t *testing.T, connection *os.File) {
	t.Helper()
	c, err := net.FileConn(connection)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	port := c.LocalAddr().(*net.TCPAddr).Port
	testenv.AsUser(t, 1000, func() error {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		return err
	})
}

// pairOf returns one end of a pair of Unix sockets whose other end this process has.
func pairOf(t *testing.T) *os.File {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(ends[0]) })
	return os.NewFile(uintptr(ends[1]), "pair")
}

// named returns the end of a Unix socket that this process, which listens at a name, has accepted.
func named(t *testing.T) *os.File {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "named"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	came, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { came.Close() })
	file, err := c.(*net.UnixConn).File()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// starts starts a process of a user that has a file open, and alone holds a connection with an address.
func starts(t *testing.T, uid uint32, address string, file *os.File) {
	t.Helper()
	connection := connected(t, address)
	cmd := exec.Command("sleep", "600")
	cmd.ExtraFiles = []*os.File{file, connection}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	file.Close()
	connection.Close()
}
