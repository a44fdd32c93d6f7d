// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deadfuse

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// An Inherited file is of a user's file system, which answers who closes it only as long as that is a thread of one
// process: what that has started waits for ever.
type Inherited struct {
	File *os.File
	device
	mu      sync.Mutex
	process int
	written []byte
}

// NewInherited mounts one. The test must be isolated.
func NewInherited(t testing.TB) *Inherited {
	t.Helper()
	testenv.RequireIsolated(t)
	dir := t.TempDir()
	f := &Inherited{device: newDevice(t, dir, 0, "")}
	go f.serve(f.answer)
	var err error
	if f.File, err = os.OpenFile(filepath.Join(dir, readable), os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	return f
}

// By names the process. Until then everybody is answered.
func (f *Inherited) By(process int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.process = process
}

// Written is what was written.
func (f *Inherited) Written() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.written)
}

func (f *Inherited) answer(q question) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch q.op {
	case opInit:
		f.reply(q.unique, 0, initial())
	case opLookup:
		f.reply(q.unique, 0, append(longs(40, fileNode, 0, forever, forever), attributes(fileNode, 0o666, 0)...))
	case opGetattr:
		f.reply(q.unique, 0, append(longs(16, forever), attributes(q.node, 0o666, 0)...))
	case opOpen:
		f.reply(q.unique, 0, longs(16, 0, 1)) // FOPEN_DIRECT_IO: it hears of each write
	case opWrite:
		size := binary.NativeEndian.Uint32(q.body[16:])
		f.written = append(f.written, q.body[40:40+size]...)
		f.reply(q.unique, 0, words(8, size))
	case opFlush:
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", f.process, q.thread)); err == nil || f.process == 0 {
			f.reply(q.unique, 0, nil)
		}
	case opRelease:
		f.reply(q.unique, 0, nil)
	default:
		f.reply(q.unique, unix.ENOSYS, nil)
	}
}
