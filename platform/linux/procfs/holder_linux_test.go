// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// reused makes a /proc where process 7 holds the sockets 5 and 6, and meanwhile
// is called when its name is asked for.
func reused(t *testing.T, meanwhile func(fds string)) string {
	t.Helper()
	root := t.TempDir()
	fds, stat := filepath.Join(root, "proc/7/fd"), filepath.Join(root, "proc/7/stat")
	if err := os.MkdirAll(fds, 0o700); err != nil {
		t.Fatal(err)
	}
	for n, inode := range []int{5, 6} {
		if err := os.Symlink(fmt.Sprintf("socket:[%d]", inode), filepath.Join(fds, fmt.Sprint(n))); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(stat, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		f, err := os.OpenFile(stat, os.O_WRONLY, 0) // waits for the reader
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		meanwhile(fds)
		if _, err := f.WriteString("7 (newer) S 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 99 0 1 18446744073709551615\n"); err != nil {
			t.Error(err)
		}
	}()
	return root
}

// searching begins a search for the owners of sockets.
func searching(t *testing.T, root string, wanted map[uint64]bool) (*search, map[uint64]Holder) {
	t.Helper()
	owners := map[uint64]Holder{}
	s, err := New(root).search(wanted, func(inode uint64, h Holder) { owners[inode] = h })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.reader.Close)
	return s, owners
}

// Between finding a socket and naming its process, that process may end and
// another one get its PID.
func TestSocketIsNotNamedAfterTheNextProcessWithThatPID(t *testing.T) {
	both := map[uint64]bool{5: true, 6: true}
	for name, c := range map[string]struct {
		gone []string
		want map[uint64]Holder
	}{
		"the process stays": {nil, map[uint64]Holder{5: {7, "newer"}, 6: {7, "newer"}}},
		"one socket closes": {[]string{"0"}, map[uint64]Holder{6: {7, "newer"}}},
		"the process ends":  {[]string{"0", "1"}, map[uint64]Holder{}},
	} {
		root := reused(t, func(fds string) {
			for _, fd := range c.gone {
				if err := os.Remove(filepath.Join(fds, fd)); err != nil {
					t.Error(err)
				}
			}
		})
		// The parents of owners are asked for once more, where the pipe would not answer.
		s, owners := searching(t, root, both)
		found, err := s.inspect(candidate{pid: 7}, 7)
		if diff := cmp.Diff(c.want, owners); diff != "" || err != nil || found != (len(c.want) > 0) {
			t.Errorf("%s: found %v\n%s", name, found, diff)
		}
	}
}

// Root without CAP_SYS_PTRACE may list the files of other users' processes but not read the links.
func TestSocketsThatRootMayNotLookAtAreDenied(t *testing.T) {
	testenv.Namespaces(t)
	setpriv := testenv.Program(t, "setpriv", "util-linux")
	if !testenv.Inside(t, setpriv, "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace") {
		return
	}
	file, inode := socketFile(t)
	other := exec.Command("/bin/sleep", "600")
	other.ExtraFiles = []*os.File{file}
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: testenv.Nobody, Gid: testenv.Nobody}}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		other.Process.Kill()
		other.Wait()
	})
	s, owners := searching(t, "/", map[uint64]bool{inode: true})
	if _, err := s.inspect(candidate{pid: other.Process.Pid}, other.Process.Pid); len(owners) != 0 || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("owners %v, %v", owners, err)
	}
}

func TestTooManyOpenFilesAreNotAMissingProc(t *testing.T) {
	if !testenv.Inside(t, "env") {
		return
	}
	time.AfterFunc(time.Hour, func() {}).Stop() // the runtime opens files of its own for the first timer
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}); err != nil {
		t.Fatal(err)
	}
	var last int
	for {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EMFILE) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = fd
	}
	unix.Close(last) // for the directory itself
	if list, _, err := New("/").Processes(t.Context()); !errors.Is(err, unix.EMFILE) || list != nil {
		t.Errorf("%d processes, %v", len(list), err)
	}
}
