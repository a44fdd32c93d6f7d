// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
)

// Requests of a file system in user space (include/uapi/linux/fuse.h).
const (
	fuseLookup = 1
	fuseInit   = 26
)

// deadMount mounts a file system that stops answering after its start, like a network mount whose
// server is gone. It signals every lookup of a file.
func deadMount(t *testing.T) (dir string, looks <-chan struct{}) {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	testenv.Need(t, err == nil, "/dev/fuse")
	dir = t.TempDir()
	if err := unix.Mount("dead", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH) })
	seen := make(chan struct{}, 100)
	go serve(fd, seen)
	return dir, seen
}

func serve(fd int, seen chan<- struct{}) {
	buf := make([]byte, 1<<20)
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n < 16 {
			return
		}
		switch binary.NativeEndian.Uint32(buf[4:]) {
		case fuseInit:
			answer := make([]byte, 16+64)
			binary.NativeEndian.PutUint32(answer, uint32(len(answer)))
			copy(answer[8:16], buf[8:16])
			binary.NativeEndian.PutUint32(answer[16:], 7)
			binary.NativeEndian.PutUint32(answer[20:], 31)
			binary.NativeEndian.PutUint32(answer[36:], 4096)
			unix.Write(fd, answer)
		case fuseLookup:
			seen <- struct{}{}
		}
	}
}

func TestProcessThatWaitsForDeadStorageIsStillRunning(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	dir, looks := deadMount(t)
	pid := run(t, exec.Command("stat", filepath.Join(dir, "file")))
	select {
	case <-looks:
	case <-time.After(testenv.HangLimit):
		t.Fatal("the mount was not asked")
	}
	_, err := plan(t, processes.Target{PID: pid, ExpectName: "stat"}).Do(t.Context())
	var known *fault.Error
	if !errors.As(err, &known) || known.Code != fault.StillRunning || !strings.Contains(known.Message, "state D, in ") || !alive(pid) {
		t.Errorf("%v, alive %v", err, alive(pid))
	}
	unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH)
	testenv.WaitFor(t, "end with the mount", func() bool { return !alive(pid) })
}

func TestTracedProcessNamesItsTracer(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := sleeper(t)
	testenv.WaitFor(t, "sleep without an obstacle, once its program is loaded", func() bool {
		return (&held{from: NewTerminator("/"), pid: pid}).Obstacle() == processes.Obstacle{}
	})
	tracer := make(chan error)
	go func() {
		tracer <- unix.PtraceSeize(pid)
		select {}
	}()
	if err := <-tracer; err != nil {
		t.Fatal(err)
	}
	got := (&held{from: NewTerminator("/"), pid: pid}).Obstacle()
	if got.Uninterruptible || got.Tracer.PID == 0 || got.Tracer.Name == "" {
		t.Errorf("got %+v", got)
	}
}
