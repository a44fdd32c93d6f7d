// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/sanitize"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// Whoever asks what root has mounted waits for its server, and that for whom it is connected with, or has a
// program connected with it that is (as sshfs has ssh).
func TestWithWhomServersOfFileSystemsAreConnectedIsProtected(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	run(t, "ip link add d0 type veth peer name d1")
	run(t, "ip link set d0 up")
	for n := range 3 {
		run(t, fmt.Sprintf("ip addr add 192.0.2.%d/24 dev d0", n+1))
	}
	const nobody = 65534
	connected(t, "192.0.2.1")
	starts(t, 0, "192.0.2.2")
	starts(t, nobody, "192.0.2.3")
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
		found[p.Prefix] = p.Why
	}
	why := "a server of the file system at " + sanitize.Quoted(mount.Dir, maxMounted)
	want := map[netip.Prefix]string{netip.MustParsePrefix("192.0.2.1/32"): why, netip.MustParsePrefix("192.0.2.2/32"): why}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
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

// starts starts a process of a user that is joined to this one by a pair of Unix sockets, and alone holds a
// connection with an address.
func starts(t *testing.T, uid uint32, address string) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(pair[0]) })
	theirs := os.NewFile(uintptr(pair[1]), "pair")
	connection := connected(t, address)
	cmd := exec.Command("sleep", "600")
	cmd.ExtraFiles = []*os.File{theirs, connection}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	theirs.Close()
	connection.Close()
}
