// SPDX-License-Identifier: Apache-2.0

//go:build linux

package network

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/answer"
	"sentinel/internal/network"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/sockdiag"
)

// vsock listens for a virtual machine until the test ends; has is false for a kernel without AF_VSOCK.
func vsock(t *testing.T, cid uint32) (port uint32, has bool) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return 0, false
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrVM{CID: cid, Port: unix.VMADDR_PORT_ANY}), unix.Listen(fd, 1)); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return name.(*unix.SockaddrVM).Port, true
}

// What a user has listen for the hypervisor is in no list, which is said, with whose it is. A kernel that does not
// tell of such listeners is named.
func TestListenersForVirtualMachinesAreSaid(t *testing.T) {
	want := " of AF_VSOCK (port"
	port, has := vsock(t, unix.VMADDR_CID_ANY)
	found, err := New("/").Unlisted(t.Context())
	if !has {
		if err != nil || len(found.Machines) > 0 {
			t.Errorf("%+v, %v", found, err)
		}
		return
	}
	at := slices.IndexFunc(found.Machines, func(s network.VSock) bool { return s.Port == port })
	switch {
	case errors.Is(err, sockdiag.ErrNoVSock):
		want = err.Error()
	case err != nil || at < 0:
		t.Fatalf("%d is not in %+v, %v", port, found, err)
	default:
		owners, _, err := New("/").Owners(t.Context(), []network.Socket{{ID: found.Machines[at].ID}})
		if o := owners[found.Machines[at].ID]; err != nil || o.PID != os.Getpid() {
			t.Errorf("%+v, %v", owners, err)
		}
	}
	var gaps answer.Gaps
	if _, err := network.Collect(t.Context(), New("/"), 0, &gaps); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(gaps, func(g answer.Gap) bool { return g.Field == "listening" && strings.Contains(g.Reason, want) }) {
		t.Errorf("%q is not in %+v", want, gaps)
	}
}

// A kernel without AF_VSOCK is not asked for it, and one that only this machine reaches is no gap.
func TestWhatIsNotListedIsCounted(t *testing.T) {
	const heading, with = "protocol size sockets\n", "AF_VSOCK 1240 0\n"
	some := []sockdiag.VSock{{CID: 1, Port: 1, Inode: 4}, {CID: 1<<32 - 1, Port: 22, Inode: 5}}
	dead := errors.New("refused")
	for what, c := range map[string]struct {
		protocols string
		err       error
		machines  []network.VSock
		open      []network.Count
	}{
		"neither":  {heading + "SCTP 1680 0\nSCTPv6 1680 1\n", nil, nil, nil},
		"both":     {heading + with + "SCTP 1680 1\nSCTPv6 1680 2\nDCCPv6 1 4\n", nil, []network.VSock{{Port: 22, ID: 5}}, []network.Count{{Protocol: "SCTP", Sockets: 2}, {Protocol: "DCCP", Sockets: 4}}},
		"not told": {heading + with + "SCTP 1680 2\n", dead, nil, []network.Count{{Protocol: "SCTP", Sockets: 1}}},
	} {
		s := New(testenv.Plant(t, map[string]string{"proc/net/protocols": c.protocols}))
		s.vsock = func(_ context.Context, visit func(sockdiag.VSock)) error {
			for _, v := range some {
				if c.err == nil {
					visit(v)
				}
			}
			return c.err
		}
		if got, err := s.Unlisted(t.Context()); !errors.Is(err, c.err) || !slices.Equal(got.Machines, c.machines) || !slices.Equal(got.Open, c.open) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	if got, err := New(t.TempDir()).Unlisted(t.Context()); err != nil || len(got.Machines)+len(got.Open) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
