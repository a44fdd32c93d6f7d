// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/internal/webhook"
)

// A document appears under its name when it is whole and is never written to
// there: whoever kills this program, or reads the directory, can find no half of one. The kernel tells
// what happens to each name (inotify(7)).
func TestADocumentIsWholeFromTheFirstMoment(t *testing.T) {
	s := newStage(t)
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, s.dir, unix.IN_CREATE|unix.IN_MODIFY|unix.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}
	s.to.down = true
	s.report(t)
	moved := 0
	for name, what := range happened(t, watch) {
		if !strings.HasSuffix(name, suffix) {
			continue
		}
		if what&(unix.IN_CREATE|unix.IN_MODIFY) != 0 {
			t.Errorf("%s was made or written to under its name: %#x", name, what)
		}
		if what&unix.IN_MOVED_TO != 0 {
			moved++
		}
	}
	same(t, "documents that appeared", moved, 1)
}

// happened returns what happened to each name.
func happened(t *testing.T, watch int) map[string]uint32 {
	t.Helper()
	raw := make([]byte, 64<<10)
	n, err := unix.Read(watch, raw)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uint32{}
	for rest := raw[:n]; len(rest) >= unix.SizeofInotifyEvent; {
		length := binary.NativeEndian.Uint32(rest[12:])
		name := string(bytes.TrimRight(rest[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length], "\x00"))
		all[name] |= binary.NativeEndian.Uint32(rest[4:])
		rest = rest[unix.SizeofInotifyEvent+length:]
	}
	return all
}

// A full disk holds up nothing: sending what waits makes room.
func TestWhatWaitsIsSentAlthoughTheDiskIsFull(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to fill a file system")
	if !testenv.Isolated(t) {
		return
	}
	s := newStage(t)
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(filepath.Dir(s.dir), unix.MNT_DETACH) })
	if err := unix.Mount("tmpfs", filepath.Dir(s.dir), "tmpfs", 0, "size=64k,mode=700"); err != nil {
		t.Fatal(err)
	}
	s.to.down = true
	s.report(t)
	fill := filepath.Join(filepath.Dir(s.dir), "fill")
	if err := os.WriteFile(fill, make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if got := s.report(t); got.Kept || got.Verdict != webhook.Unreached || len(got.Gaps) != 1 || s.to.asked != 2 {
		t.Errorf("down: %+v, asked %d times", got, s.to.asked)
	}
	s.to.down = false
	if got := s.report(t); got.Kept || got.Verdict != webhook.Delivered || got.Earlier != 1 || got.Waiting != 0 || len(got.Gaps) != 1 {
		t.Errorf("up: %+v", got)
	}
	same(t, "arrived", s.to.got, []string{"msg_001", "msg_003"})
	same(t, "files", len(s.files(t, "*")), 2) // the lock, and what tells that the first arrived
}
