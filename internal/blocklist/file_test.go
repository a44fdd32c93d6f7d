// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/fault"
)

// A damaged list is set aside by whatever changes something first, reported,
// and made anew from what the kernel has by the next.
func TestDamagedListIsSetAside(t *testing.T) {
	for name, text := range map[string]string{"cut off": golden[:200], "empty": "", "garbage": "\x00\xffgarbage", "twice": strings.Replace(golden, "2001:db8::7", "203.0.113.7", 1)} {
		for how, change := range map[string]func(m *machine, l *List) error{
			"block":   func(_ *machine, l *List) error { _, err := block(t, l, Request{Address: "203.0.113.9"}); return err },
			"unblock": func(_ *machine, l *List) error { _, err := unblock(t, l, "203.0.113.7", false); return err },
			"restore": func(_ *machine, l *List) error { _, err := l.Restore(t.Context()); return err },
		} {
			m := newMachine()
			l := m.on(t)
			mustBlock(t, l, "203.0.113.7", "203.0.113.8")
			write(t, l, text)
			err := change(m, l)
			aside := l.path + ".corrupt-20260301T120000Z"
			if code(err) != fault.StateCorrupt || !strings.Contains(err.Error(), aside) {
				t.Errorf("%s, %s: %v", name, how, err)
			}
			if kept, err := os.ReadFile(aside); err != nil || string(kept) != text {
				t.Errorf("%s, %s: kept %q, %v", name, how, kept, err)
			}
			same(t, name+", "+how+", kernel", m.addresses(), []string{"203.0.113.7", "203.0.113.8"})
			if got := listing(t, l); len(got.Warnings) != 2 || !strings.Contains(got.Warnings[0], aside) {
				t.Errorf("%s, %s: warned of %v", name, how, got.Warnings)
			}
			if err := change(m, l); err != nil {
				t.Errorf("%s, %s again: %v", name, how, err)
			}
			if r := restore(t, l); r.Removed != 0 || !strings.Contains(strings.Join(m.addresses(), " "), "203.0.113.8") {
				t.Errorf("%s, %s, then: %+v, the kernel has %v", name, how, r, m.addresses())
			}
		}
	}
}

func TestPlanTellsOfADamagedListAndLeavesIt(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	write(t, l, "garbage")
	b, err := l.PlanBlock(t.Context(), Request{Address: "203.0.113.7"})
	if err != nil || !strings.Contains(b.Summary(), "damaged") {
		t.Errorf("%v, %v", b, err)
	}
	u, err := l.PlanUnblock(t.Context(), "203.0.113.7", false)
	if _, err := l.Pending(t.Context()); code(err) != fault.StateCorrupt {
		t.Errorf("%v", err)
	}
	if err != nil || !strings.Contains(u.Summary(), "damaged") || len(l.quarantined()) != 0 {
		t.Errorf("%v, %v, %v", u, err, l.quarantined())
	}
}

func TestSetAsideListsAreNeverOverwrittenAndBounded(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	for n := range maxQuarantined {
		write(t, l, strings.Repeat("x", n+1))
		if _, err := l.Restore(t.Context()); code(err) != fault.StateCorrupt {
			t.Fatal(err)
		}
	}
	sizes := 0
	for _, path := range l.quarantined() {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		sizes += int(info.Size())
	}
	if len(l.quarantined()) != maxQuarantined || sizes != maxQuarantined*(maxQuarantined+1)/2 {
		t.Errorf("kept %v with %d bytes", l.quarantined(), sizes)
	}
	write(t, l, "one more")
	_, err := l.Restore(t.Context())
	if raw, rerr := os.ReadFile(l.path); code(err) != fault.StateCorrupt || rerr != nil || string(raw) != "one more" || len(l.quarantined()) != maxQuarantined {
		t.Errorf("%v; the list is %q, %v", err, raw, rerr)
	}
}

// What others could have written, or what is no file, is refused and stays.
func TestListThatCannotBeReliedOnStaysForItsOwner(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(elsewhere, []byte(golden), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(l *List)
		says  string
	}{
		"writable for others": {func(l *List) { write(t, l, golden); chmod(t, l.path, 0o646) }, "can be written by others (chmod go-w"},
		"writable for group":  {func(l *List) { write(t, l, golden); chmod(t, l.path, 0o664) }, "can be written by others"},
		"folder for others":   {func(l *List) { write(t, l, golden); chmod(t, filepath.Dir(l.path), 0o777) }, "can be written by others"},
		"link": {func(l *List) {
			mkdir(t, filepath.Dir(l.path))
			must(t, os.Symlink(elsewhere, l.path))
		}, "symbolic link"},
		"link to nothing": {func(l *List) {
			mkdir(t, filepath.Dir(l.path))
			must(t, os.Symlink("/nowhere", l.path))
		}, "symbolic link"},
		"pipe": {func(l *List) {
			mkdir(t, filepath.Dir(l.path))
			must(t, syscall.Mkfifo(l.path, 0o644))
		}, "not a regular file"},
		"folder": {func(l *List) { mkdir(t, l.path) }, "not a regular file"},
		"newer":  {func(l *List) { write(t, l, `{"version":2,"entries":[]}`) }, "newer version"},
	} {
		m := newMachine()
		m.held[netip.MustParseAddr("203.0.113.7")], m.rules = time.Time{}, true
		l := m.on(t)
		c.spoil(l)
		before, err := os.Lstat(l.path)
		must(t, err)
		_, blocked := block(t, l, Request{Address: "203.0.113.9"})
		_, unblocked := unblock(t, l, "203.0.113.7", false)
		_, restored := l.Restore(t.Context())
		_, read := l.Read(t.Context(), 0, 0)
		for _, err := range []error{blocked, unblocked, restored, read} {
			if code(err) != fault.StateCorrupt || !strings.Contains(err.Error(), c.says) || fault.From(err).Fix == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		after, err := os.Lstat(l.path)
		if err != nil || !os.SameFile(before, after) || after.Mode() != before.Mode() || len(l.quarantined()) != 0 {
			t.Errorf("%s: it was touched: %v, %v", name, after, err)
		}
		same(t, name+", kernel", m.addresses(), []string{"203.0.113.7"})
	}
}

func TestLockIsAFile(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mkdir(t, filepath.Dir(l.path))
	must(t, syscall.Mkfifo(l.lockPath(), 0o600))
	if _, err := block(t, l, Request{Address: "203.0.113.9"}); code(err) != fault.Unavailable || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
	if got := listing(t, l); len(got.IPs) != 0 {
		t.Errorf("%+v", got)
	}
}

// leftover is the name of a file that a run left beside the list when it crashed.
func leftover(l *List) string {
	return filepath.Join(filepath.Dir(l.path), "."+filepath.Base(l.path)+"1234567890123456789")
}

// blockWrites puts a directory that is not empty in place of a leftover, which
// keeps the list from being written.
func blockWrites(t *testing.T, l *List) {
	t.Helper()
	mkdir(t, leftover(l)+"/x")
	makeOld(t, leftover(l))
}

func makeOld(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(path, then, then))
}

func TestLeftoverOfACrashIsRemoved(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7")
	must(t, os.WriteFile(leftover(l), []byte("half of it"), 0o600))
	makeOld(t, leftover(l))
	mustBlock(t, l, "203.0.113.8")
	if _, err := os.Lstat(leftover(l)); err == nil {
		t.Error("it is still there")
	}
	same(t, "list", listed(t, l), []string{"203.0.113.7", "203.0.113.8"})
}

func TestListIsReadableForAllWhateverTheMask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	m := newMachine()
	l := New(filepath.Join(t.TempDir(), "state", "blocklist.json"), func(context.Context) (Backend, error) { return m, nil }, m, m, nil)
	mustBlock(t, l, "203.0.113.7")
	for path, want := range map[string]os.FileMode{l.path: 0o644, filepath.Dir(l.path): 0o755 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
