// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/testenv"
)

// small mounts a file system of 64 KiB.
func small(t *testing.T, dir string) {
	t.Helper()
	must(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=755"))
	t.Cleanup(func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
}

// fill takes all room of a file system, and returns the file that has it.
func fill(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 512)); err != nil {
			return path
		}
	}
}

func TestFullDiskLosesNothing(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	dir := t.TempDir()
	small(t, dir)
	m := newMachine()
	l := m.under(filepath.Join(dir, "state", "blocklist.json"))
	mustBlock(t, l, "203.0.113.7", "203.0.113.8")
	before, err := os.ReadFile(l.path)
	must(t, err)
	ballast := fill(t, dir)

	_, err = block(t, l, Request{Address: "203.0.113.9"})
	if code(err) != fault.Unavailable || !strings.Contains(err.Error(), "no space left") || !strings.Contains(fault.From(err).Fix, "df -h") {
		t.Errorf("block: %v", err)
	}
	if _, err := unblock(t, l, "203.0.113.7", false); code(err) != fault.Unavailable {
		t.Errorf("unblock: %v", err)
	}
	same(t, "kernel", m.addresses(), []string{"203.0.113.7", "203.0.113.8"})
	got, err := unblock(t, l, "203.0.113.7", true)
	if err != nil || !strings.Contains(strings.Join(got.Warnings, " "), "still on the list") || !strings.Contains(strings.Join(got.Warnings, " "), "no space left") {
		t.Errorf("unblock by force: %+v, %v", got, err)
	}
	same(t, "kernel", m.addresses(), []string{"203.0.113.8"})
	if raw, err := os.ReadFile(l.path); err != nil || string(raw) != string(before) {
		t.Errorf("the list is now %q, %v", raw, err)
	}
	if got := listing(t, l); got.Drift == nil || got.Drift.MissingTotal != 1 {
		t.Errorf("%+v", got)
	}
	if half, err := filepath.Glob(filepath.Join(filepath.Dir(l.path), "."+filepath.Base(l.path)+"*")); err != nil || len(half) != 0 {
		t.Errorf("half a file was left behind: %v, %v", half, err)
	}

	must(t, os.Remove(ballast))
	if _, err := unblock(t, l, "203.0.113.7", false); err != nil {
		t.Errorf("with room again: %v", err)
	}
	mustBlock(t, l, "203.0.113.9")
	same(t, "list", listed(t, l), []string{"203.0.113.8", "203.0.113.9"})
}

func TestReadOnlyDiskIsSaid(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	dir := t.TempDir()
	small(t, dir)
	m := newMachine()
	l := m.under(filepath.Join(dir, "state", "blocklist.json"))
	mustBlock(t, l, "203.0.113.7")
	must(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	if _, err := block(t, l, Request{Address: "203.0.113.9"}); code(err) != fault.Unavailable || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("block: %v", err)
	}
	clear(m.held)
	if r := restore(t, l); r.Added != 1 {
		t.Errorf("%+v", r)
	}
	if got := listing(t, l); len(got.IPs) != 1 {
		t.Errorf("%+v", got)
	}
}

// Whoever is not root reads the list, does not wait for those who change it and
// cannot keep them from it.
func TestListIsReadWithoutRoot(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	dir := t.TempDir()
	small(t, dir)
	chmod(t, filepath.Dir(dir), 0o755)
	m := newMachine()
	l := m.under(filepath.Join(dir, "state", "blocklist.json"))
	l.lockTimeout = 10 * testenv.HangLimit
	testenv.HangGuard(t)
	mustBlock(t, l, "203.0.113.7")
	release, err := l.lock(t.Context())
	must(t, err)
	defer release()
	done := make(chan Listing)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		must(t, syscall.Setfsuid(testenv.Nobody))
		got := listing(t, l)
		if _, err := os.Open(l.lockPath()); err == nil {
			t.Error("it can open the lock")
		}
		done <- got
	}()
	if got := <-done; len(got.IPs) != 1 {
		t.Errorf("%+v", got)
	}
}
