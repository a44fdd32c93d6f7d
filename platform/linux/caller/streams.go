// SPDX-License-Identifier: Apache-2.0

//go:build linux

package caller

import (
	"errors"
	"io"
	"runtime"

	"golang.org/x/sys/unix"
)

// Streams puts pipes in the place of those standard streams of this process that are files of the caller's, and
// hands on what goes through them. A file system hears of each close (FUSE_FLUSH, fuse(4); NFS too): what a process
// starts does not run before it has answered for the files that were inherited, cannot be killed meanwhile, and
// keeps the locks that were inherited as well. So each file is in a table of one thread's own (CLONE_FILES,
// unshare(2)), and nothing that is started has it. After an error one is still there: what is started would have it.
//
// flush waits until the caller has all that was written, and returns an error if it has not; nothing can be written
// there afterwards. What is no file, such as a terminal, can be written to still.
func Streams() (flush func() error, err error) {
	in, out, both := fileAt(unix.Stdin), fileAt(unix.Stdout), fileAt(unix.Stderr)
	var (
		written []*stream
		errs    []error
	)
	for _, s := range []*stream{in, out, both} {
		if s == nil {
			continue
		}
		if s == both && len(written) > 0 && out.isFile(both) && unix.Dup3(unix.Stdout, unix.Stderr, 0) == nil { // 2>&1
			out.numbers = append(out.numbers, unix.Stderr)
		} else if err := s.move(); err != nil {
			errs = append(errs, err)
		} else if s != in {
			written = append(written, s)
		}
	}
	return func() error { return finish(written) }, errors.Join(errs...)
}

// A stream is a file at the number of a standard stream.
type stream struct {
	number  int
	numbers []int // that one, and where the same file is besides
	stat    unix.Stat_t
	known   bool       // what stat is
	end     chan error // of what was handed on
}

// fileAt is nil for what no file system serves: a pipe, a socket, a terminal. What root is not told of is a file: of one
// that a user serves (FUSE), the kernel tells that user alone.
func fileAt(number int) *stream {
	s := &stream{number: number, numbers: []int{number}, end: make(chan error, 1)}
	s.known = unix.Fstat(number, &s.stat) == nil
	switch s.stat.Mode & unix.S_IFMT { // 0 if it is not known
	case unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFCHR:
		return nil
	}
	return s
}

func (s *stream) isFile(other *stream) bool {
	return s.known && other.known && s.stat.Dev == other.stat.Dev && s.stat.Ino == other.stat.Ino
}

// move makes the file that of a thread alone.
func (s *stream) move() error {
	var ends [2]int // of the pipe: it is read from the first
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	own, theirs := ends[1], ends[0]
	if s.number == unix.Stdin {
		own, theirs = theirs, own
	}
	alone := make(chan error)
	go onThread(func() {
		err := unix.Unshare(unix.CLONE_FILES)
		if alone <- err; err == nil {
			s.end <- s.relay(own, theirs)
		}
	})
	err := <-alone
	if err == nil {
		err = unix.Dup3(own, s.number, 0)
	}
	unix.Close(own)    //nolint:errcheck // a pipe
	unix.Close(theirs) //nolint:errcheck // a pipe
	return err
}

// onThread runs f on a thread that ends with it, and that is not the first of the process: /proc/PID/fd shows the
// table of that one.
func onThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	begun := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(begun)
		f()
	}()
	<-begun
	runtime.UnlockOSThread()
}

// relay hands on what goes through the pipe until that is closed, and closes the file. own is the end of the
// process, which this thread has as well.
func (s *stream) relay(own, theirs int) error {
	for number := range 3 {
		if number != s.number {
			unix.Close(number) //nolint:errcheck // of the process, or of another thread
		}
	}
	unix.Close(own) //nolint:errcheck // a pipe
	from, to := theirs, s.number
	if s.number == unix.Stdin {
		from, to = to, from
	}
	err := transfer(reader(from), to)
	if err != nil && s.number != unix.Stdin { // the process goes on: a pipe that nobody reads would end it
		discard(from)
	}
	return errors.Join(err, unix.Close(from), unix.Close(to))
}

// reader reads from a file. The place where it is read from is shared with the caller, who goes on there with what a
// run has not asked for (while read line; do sudo sentinel ...; done < list): it stays.
func reader(from int) func([]byte) (int, error) {
	at, err := unix.Seek(from, 0, io.SeekCurrent)
	return func(block []byte) (n int, _ error) {
		if err != nil { // a pipe
			return retried(func() (int, error) { return unix.Read(from, block) })
		}
		n, err := retried(func() (int, error) { return unix.Pread(from, block, at) })
		at += int64(max(n, 0))
		return n, err
	}
}

// transfer copies until there is no more.
func transfer(read func([]byte) (int, error), to int) error {
	for block := make([]byte, 64<<10); ; {
		n, err := read(block)
		if n <= 0 || err != nil {
			return err
		}
		for part := block[:n]; len(part) > 0; part = part[n:] {
			if n, err = retried(func() (int, error) { return unix.Write(to, part) }); err != nil {
				return err
			}
		}
	}
}

// discard reads a pipe until it is closed.
func discard(pipe int) {
	read, block := reader(pipe), make([]byte, 64<<10)
	for n := 1; n > 0; {
		n, _ = read(block) //nolint:errcheck // it is the end as well
	}
}

func retried(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// finish closes the pipes of streams and waits for what is in them.
func finish(written []*stream) error {
	if len(written) == 0 {
		return nil
	}
	null, err := unix.Open("/dev/null", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(null) //nolint:errcheck // nothing is written there
	var errs []error
	for _, s := range written {
		for _, number := range s.numbers {
			errs = append(errs, unix.Dup3(null, number, 0))
		}
		errs = append(errs, <-s.end)
	}
	return errors.Join(errs...)
}
