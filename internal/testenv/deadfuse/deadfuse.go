// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package deadfuse mounts file systems that do not answer, as a network mount whose server is gone,
// and starts processes whose memory nobody can read because of one.
package deadfuse

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// Operations of a file system in user space, and its version (include/uapi/linux/fuse.h).
const (
	opLookup     = 1
	opGetattr    = 3
	opOpen       = 14
	opRead       = 15
	opWrite      = 16
	opStatfs     = 17
	opRelease    = 18
	opFlush      = 25
	opInit       = 26
	opOpendir    = 27
	opReaddir    = 28
	opReleasedir = 29

	major, minor = 7, 31
)

// A Mount is a file system of one user, in which the look-up of every name is never answered, but
// for one file whose content is never delivered.
type Mount struct {
	Dir string
	// Looks delivers one value for each name that was looked up and not answered.
	Looks <-chan struct{}
	reads <-chan struct{}
}

// readable is the name of the file that can be opened and not read.
const readable = "page"

// New mounts one for the user, to whom alone the kernel shows it. The test must be isolated.
func New(t testing.TB, uid int) Mount {
	t.Helper()
	return mount(t, uid, "")
}

// NewForAll mounts one that the kernel shows to every user, as a network mount.
func NewForAll(t testing.TB) Mount {
	t.Helper()
	return mount(t, 0, ",allow_other")
}

func mount(t testing.TB, uid int, more string) Mount {
	t.Helper()
	testenv.RequireIsolated(t)
	dir := filepath.Join(publicDir(t), "dead")
	if err := unix.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := server{device: newDevice(t, dir, uid, more), looks: make(chan struct{}, 100), reads: make(chan struct{}, 100)}
	go s.serve(s.answer)
	return Mount{dir, s.looks, s.reads}
}

// publicDir is a directory that every user can reach.
func publicDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := unix.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A device is the server's end of a mount, an open /dev/fuse.
type device int

// newDevice mounts a file system of a user at a directory until the test ends.
func newDevice(t testing.TB, dir string, uid int, more string) device {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	testenv.Need(t, err == nil, "/dev/fuse")
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd, uid, uid) + more
	if err := unix.Mount("dead", dir, "fuse", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH) })
	return device(fd)
}

// A question is a request of the kernel (struct fuse_in_header).
type question struct {
	op, thread uint32 // that asks
	unique     []byte
	node       uint64
	body       []byte
}

// serve answers until the mount is gone.
func (d device) serve(answer func(question)) {
	buf := make([]byte, 1<<20)
	for {
		n, err := unix.Read(int(d), buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n < 40 {
			return
		}
		answer(question{binary.NativeEndian.Uint32(buf[4:]), binary.NativeEndian.Uint32(buf[32:]), buf[8:16], binary.NativeEndian.Uint64(buf[16:]), buf[40:n]})
	}
}

func (d device) reply(unique []byte, failure unix.Errno, body []byte) {
	head := words(8, uint32(16+len(body)), -uint32(failure))
	unix.Write(int(d), append(append(head, unique...), body...))
}

type server struct {
	device
	looks, reads chan struct{}
}

func (s server) answer(q question) {
	unique := q.unique
	switch q.op {
	case opInit:
		s.reply(unique, 0, initial())
	case opLookup:
		if string(q.body) != readable+"\x00" {
			s.looks <- struct{}{}
			return
		}
		s.reply(unique, 0, append(longs(40, fileNode, 0, forever, forever), attributes(fileNode, 0o666, pageFile)...))
	case opGetattr:
		s.reply(unique, 0, append(longs(16, forever), attributes(q.node, 0o666, pageFile)...))
	case opOpen:
		s.reply(unique, 0, make([]byte, 16))
	case opRead:
		s.reads <- struct{}{}
	case opRelease, opFlush:
		s.reply(unique, 0, nil)
	default:
		s.reply(unique, unix.ENOSYS, nil)
	}
}

// initial answers the first question, a struct fuse_init_out.
func initial() []byte { return words(64, major, minor, 0, 0, 0, 4096) }

// Nodes of the file system, and how long what is said of them is true, in seconds.
const (
	rootNode = 1
	fileNode = 2
	forever  = 1 << 30
)

// attributes is a struct fuse_attr of the directory, or of the file with its mode and size.
func attributes(node uint64, mode uint32, size uint64) []byte {
	mode |= unix.S_IFREG
	if node == rootNode {
		mode, size = unix.S_IFDIR|0o777, 0
	}
	return append(longs(48, node, size), words(40, 0, 0, 0, mode, 1, 0, 0, 0, 4096)...)
}

// words and longs are numbers in the order of the machine, with zeros behind up to size bytes.
func words(size int, list ...uint32) []byte {
	b := make([]byte, size)
	for i, n := range list {
		binary.NativeEndian.PutUint32(b[4*i:], n)
	}
	return b
}

func longs(size int, list ...uint64) []byte {
	b := make([]byte, size)
	for i, n := range list {
		binary.NativeEndian.PutUint64(b[8*i:], n)
	}
	return b
}
