// SPDX-License-Identifier: Apache-2.0

package connectscan

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/portscan"
	"sentinel/internal/testenv"
)

// A firewall stands before ports 1010 to 1049: each ten of them differently.
const firewalled = `table inet test {
	chain input {
		type filter hook input priority 0; policy accept
		tcp dport 1010-1019 drop
		tcp dport 1020-1029 reject with tcp reset
		tcp dport 1030-1039 reject with icmpx type admin-prohibited
		tcp dport 2000-6999 drop
	}
}`

func TestStatesBehindAFirewall(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	load := exec.Command(testenv.Program(t, "nft", "nftables"), "-f", filed(t, firewalled))
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, address := range []string{"127.0.0.1", "::1"} {
		opened := listen(t, address, 2)
		which := append(ports(t, "1000-1039"), opened...)
		r, err := New(NetDialer{}).Scan(t.Context(), portscan.Job{Address: netip.MustParseAddr(address), Ports: which, Local: true})
		if err != nil || !slices.Equal(r.Open, opened) || r.Closed != 20 || r.Filtered != 20 {
			t.Errorf("%s: %+v, %v", address, r, err)
		}
	}
}

// Five thousand silent ports are waited for with the files that a process may have.
func TestManySilentPorts(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	load := exec.Command(testenv.Program(t, "nft", "nftables"), "-f", filed(t, firewalled))
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	job := portscan.Job{Address: netip.MustParseAddr("127.0.0.1"), Ports: ports(t, "2000-6999"), Local: true}
	r, err := New(NetDialer{}).Scan(t.Context(), job)
	if err != nil || r.Filtered != 5000 {
		t.Errorf("%+v, %v", r, err)
	}
	few := syscall.Rlimit{Cur: 60, Max: 60}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	job.Ports = ports(t, "2000-2050,7000-9000")
	if r, err := New(NetDialer{}).Scan(t.Context(), job); err != nil || r.Filtered != 51 || r.Closed != 2001 {
		t.Errorf("with 60 files: %+v, %v", r, err)
	}
	// With so few files all the silent ports take many seconds.
	job.Ports = ports(t, "2000-6999")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if r, err := New(NetDialer{}).Scan(ctx, job); !errors.Is(err, context.DeadlineExceeded) || r.Known() >= len(job.Ports) {
		t.Errorf("stopped: %+v, %v", r, err)
	}
}

func TestNoWayToTheNetwork(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for _, address := range []string{"192.0.2.7", "2001:db8::7"} {
		r, err := New(NetDialer{}).Scan(t.Context(), portscan.Job{Address: netip.MustParseAddr(address), Ports: ports(t, "1-1000")})
		if !errors.Is(err, portscan.ErrNoRoute) || r.Known() != 0 {
			t.Errorf("%s: %+v, %v", address, r, err)
		}
	}
}

func filed(t *testing.T, text string) string {
	t.Helper()
	path := t.TempDir() + "/rules"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
