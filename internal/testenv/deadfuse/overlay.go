// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deadfuse

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// overlayEnv names the directory in which the process that [Overlaid] starts mounts.
const overlayEnv = "SENTINEL_TEST_DEAD_OVERLAY"

// Overlaid starts a program of a user, under a name of its choice, from an overlay over a file system that
// another process of the user serves, both mounted in namespaces of the user's. Whoever looks at the
// program, which it has open too, has the server asked with the rights of the user. In its first argument stands a path
// by which root comes to it, and where it seems to lie is a link to the overlay. hang has the server
// answer nothing any more, and release ends it, which lets go whoever waits for it; the end of the test
// does so too. It runs the calling test again, which must call this, or [Become], first.
func Overlaid(t testing.TB, uid int, name string) (pid int, hang, release func()) {
	t.Helper()
	testenv.RequireIsolated(t)
	Become()
	dir := filepath.Join(publicDir(t), "own")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	c, self := again(t, overlayEnv+"="+dir, nameEnv+"="+name)
	defer self.Close()
	user := strconv.Itoa(uid)
	setpriv, unshare := testenv.Program(t, "setpriv", "util-linux"), testenv.Program(t, "unshare", "util-linux")
	c.Path, c.Args = setpriv, append([]string{setpriv, "--reuid", user, "--regid", user, "--clear-groups", unshare, "--user", "--map-root-user", "--mount"}, c.Args...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	release = func() { c.Process.Kill() }
	t.Cleanup(func() { release(); c.Wait() })
	said := bufio.NewReader(out)
	line, _ := said.ReadString('\n')
	pid, err = strconv.Atoi(strings.TrimSpace(line))
	testenv.Need(t, err == nil, "overlays over file systems of users, in namespaces of theirs: "+line)
	t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
	program := filepath.Join(dir, over, name)
	testenv.WaitFor(t, "the program", func() bool {
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err == nil && link == program
	})
	if err := os.Symlink(fmt.Sprintf("/proc/%d/root%s", pid, filepath.Dir(program)), filepath.Dir(program)); err != nil {
		t.Fatal(err)
	}
	return pid, func() {
		t.Helper()
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		if line, err := said.ReadString('\n'); err != nil {
			t.Fatal(line, err)
		}
	}, release
}

// Directories below that of [Overlaid]: what is served, what is empty, and the overlay over both.
const (
	served = "served"
	empty  = "empty"
	over   = "over"
)

// serveOverlay never returns. It tells the PID of the program, or why it cannot be started, and that it
// hangs after it was told to.
func serveOverlay(dir, name string) {
	time.AfterFunc(childLimit, func() { os.Exit(1) })
	if err := mountOverlay(dir, name); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	// A shell becomes the program: the server cannot answer while it is in a start of its own.
	shell := exec.Command("/bin/sh", "-c", fmt.Sprintf(`read -r line; exec 9</proc/$$/root%[1]s; exec /proc/$$/root%[1]s 600`, filepath.Join(dir, over, name)))
	start, err := shell.StdinPipe()
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	start.Write([]byte("\n"))
	fmt.Println(shell.Process.Pid)
	bufio.NewReader(os.Stdin).ReadString('\n')
	hangs.Store(true)
	fmt.Println("hangs")
	select {}
}

// hangs says that the server of this process answers no more.
var hangs atomic.Bool

func mountOverlay(dir, name string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, d := range []string{served, empty, over} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	program, err := os.ReadFile("/bin/sleep")
	if err != nil {
		return err
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Mount("own", filepath.Join(dir, served), "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,default_permissions", fd)); err != nil {
		return err
	}
	s := overlaid{device(fd), name, program}
	go s.serve(s.answer)
	lower := filepath.Join(dir, served) + ":" + filepath.Join(dir, empty)
	return unix.Mount("own", filepath.Join(dir, over), "overlay", 0, "lowerdir="+lower)
}

// An overlaid server has one file, a program. That it is there stays true, and nothing else: whoever is on
// the way to it asks for the directory, and whoever looks at it for the file.
type overlaid struct {
	device
	name    string
	program []byte
}

func (s overlaid) answer(q question) {
	op, unique, node, body, size := q.op, q.unique, q.node, q.body, uint64(len(s.program))
	switch {
	case hangs.Load():
	case op == opInit:
		s.reply(unique, 0, initial())
	case op == opLookup && string(body) == s.name+"\x00":
		s.reply(unique, 0, append(longs(40, fileNode, 0, forever), attributes(fileNode, 0o755, size)...))
	case op == opLookup:
		s.reply(unique, unix.ENOENT, nil)
	case op == opGetattr:
		s.reply(unique, 0, append(longs(16), attributes(node, 0o755, size)...))
	case op == opOpen, op == opOpendir:
		s.reply(unique, 0, make([]byte, 16))
	case op == opRead:
		from := min(binary.NativeEndian.Uint64(body[8:]), size)
		s.reply(unique, 0, s.program[from:min(from+uint64(binary.NativeEndian.Uint32(body[16:])), size)])
	case op == opStatfs:
		s.reply(unique, 0, append(longs(40, 1000), words(40, 4096, 255, 4096)...))
	case op == opReaddir, op == opRelease, op == opReleasedir, op == opFlush:
		s.reply(unique, 0, nil)
	default:
		s.reply(unique, unix.ENOSYS, nil)
	}
}
