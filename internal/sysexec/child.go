// SPDX-License-Identifier: Apache-2.0

package sysexec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// linger is how long the output of a child that has ended is read while nothing comes: a process
// that it left behind may keep it open for ever.
const linger = 250 * time.Millisecond

// A Child is a program that the user has named and that runs in the place of this one: it has the
// user's environment and working directory, and its streams are in the hands of the caller. It leads
// a process group of its own. When this process dies the child is killed where the system can do
// that (Linux, prctl(2) PR_SET_PDEATHSIG, which a program that changes its user loses).
type Child struct {
	Stdin  io.WriteCloser
	Stdout io.Reader // ends with the child, even if what it started keeps it open

	cmd   *exec.Cmd
	ended chan struct{}
}

// StartChild starts a program as a shell would find it, with stderr as its own and these variables;
// nil are those of this process. The error is that of os/exec.
func StartChild(name string, args, variables []string, stderr *os.File) (*Child, error) {
	c := &Child{cmd: exec.Command(name, args...), ended: make(chan struct{})} //nolint:gosec,noctx // running what the user names is the purpose
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), theirIn.Close(), in.Close())
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Env = theirIn, theirOut, variables
	if stderr != nil {
		c.cmd.Stderr = stderr
	}
	c.cmd.SysProcAttr = childAttributes()
	c.Stdin, c.Stdout = in, &childOutput{file: out, ended: c.ended}
	err = c.start()
	theirIn.Close()  //nolint:errcheck // the child has its own
	theirOut.Close() //nolint:errcheck // the child has its own
	if err != nil {
		in.Close()  //nolint:errcheck // nothing was written
		out.Close() //nolint:errcheck // nothing was written
		return nil, err
	}
	return c, nil
}

// Look returns the path of the program that StartChild starts by this name.
func Look(name string) (string, error) { return exec.LookPath(name) }

// NotFound says of the error of StartChild that there is no such program.
func NotFound(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
}

// start starts the program from a thread that stays until it has ended: the signal at the death of
// the parent comes when that thread ends, not the process (prctl(2)).
func (c *Child) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.cmd.Wait() //nolint:errcheck // Exit tells it
			close(c.ended)
		}
	}()
	return <-started
}

// Ended is closed when the child has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Exit returns the exit status of a child that has ended, or 128 plus the signal that ended it.
func (c *Child) Exit() int { return exitStatus(c.cmd) }

// Signal sends s to the child and what it has started, as far as that is still in its group.
func (c *Child) Signal(s syscall.Signal) {
	syscall.Kill(-c.cmd.Process.Pid, s) //nolint:errcheck // gone is as good
}

// Left says that there is a process in the group of the child.
func (c *Child) Left() bool { return syscall.Kill(-c.cmd.Process.Pid, 0) == nil }

// A childOutput is the output of a child.
type childOutput struct {
	file  *os.File
	ended <-chan struct{}
	once  sync.Once
}

// Read reads until the end, and once the child has ended until nothing comes for a while. After an
// error there is nothing more to read.
func (o *childOutput) Read(b []byte) (int, error) {
	o.once.Do(func() {
		go func() {
			<-o.ended
			o.file.SetReadDeadline(time.Now()) //nolint:errcheck // a pipe has deadlines
		}()
	})
	n, err := o.read(b)
	if err != nil {
		o.file.Close() //nolint:errcheck // read only
	}
	return n, err
}

func (o *childOutput) read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if err := o.file.SetReadDeadline(time.Now().Add(linger)); err != nil {
		return 0, fmt.Errorf("read what the program prints: %w", err)
	}
	if n, err = o.file.Read(b); errors.Is(err, os.ErrDeadlineExceeded) {
		return n, io.EOF
	}
	return n, err
}
