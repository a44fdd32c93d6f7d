// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sentinel/internal/sysexec"
)

// A fakeMac is a Mac on paper: its ps, its kill and its launchd. Its clock is that of
// the test.
type fakeMac struct {
	mu      sync.Mutex
	all     map[int]*fakeProcess
	jobs    string // what launchctl lists
	print   string // what it prints of a job
	sockets string // what lsof lists
	guarded bool   // the kernel lets nobody signal
	root    bool
	psFails bool
	looks   int                                // at processes
	before  func(w *fakeMac)                   // each look
	sends   func(w *fakeMac, s syscall.Signal) // after the check, in place of what signals do
	sent    []syscall.Signal
}

// A fakeProcess is a process.
type fakeProcess struct {
	parent, uid int
	user        string
	start       time.Time
	state       string
	comm        string
	stubborn    bool // does not mind SIGTERM
	stays       bool // its parent does not collect it
	stuck       bool // does not end by SIGKILL either
}

// boot is when all began.
var boot = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newFakeMac() *fakeMac {
	return &fakeMac{root: true, all: map[int]*fakeProcess{
		1:    {0, 0, "root", boot, "Ss", "/sbin/launchd", true, false, true},
		600:  {1, 0, "root", boot.Add(time.Minute), "Ss", "/usr/sbin/sshd", false, false, false},
		610:  {600, 0, "root", boot.Add(time.Hour), "Ss", "sshd-session: ana [priv]", false, false, false},
		611:  {610, 501, "ana", boot.Add(time.Hour), "S", "sshd-session: ana@ttys001", false, false, false},
		700:  {611, 501, "ana", boot.Add(time.Hour), "S+", "-zsh", false, false, false},
		900:  {700, 0, "root", boot.Add(2 * time.Hour), "R+", "/usr/local/bin/sentinel", false, false, false},
		4242: {1, 501, "ana", boot.Add(3 * time.Hour), "R", "/Applications/My App.app/Contents/MacOS/My App", false, false, false},
	}}
}

func (w *fakeMac) terminator() *Terminator {
	euid := 0
	if !w.root {
		euid = 501
	}
	return NewTerminator(Mac{Root: "/nowhere", Runner: w, Kill: w.kill, EUID: euid, PID: 900})
}

// Run implements [sysexec.Runner].
func (w *fakeMac) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case c.Path == "/bin/ps" && !w.psFails:
		return w.ps(c.Args), nil
	case c.Path == "/usr/sbin/lsof":
		return sysexec.Result{Stdout: []byte(w.sockets), Exit: w.noSockets()}, nil
	case c.Path == "/sbin/ifconfig":
		return sysexec.Result{Stdout: []byte("lo0: flags=8049<UP,LOOPBACK,RUNNING,MULTICAST> mtu 16384\n\tinet 127.0.0.1 netmask 0xff000000\n")}, nil
	case c.Path == "/bin/launchctl" && c.Args[0] == "list":
		return sysexec.Result{Stdout: []byte("PID\tStatus\tLabel\n" + w.jobs)}, nil
	case c.Path == "/bin/launchctl" && w.print != "":
		return sysexec.Result{Stdout: []byte(w.print)}, nil
	}
	return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, fs.ErrNotExist)
}

// noSockets is the status with which lsof ends where it finds nothing.
func (w *fakeMac) noSockets() int {
	if w.sockets == "" {
		return 1
	}
	return 0
}

func (w *fakeMac) ps(args []string) sysexec.Result {
	w.looks++
	if w.before != nil {
		w.before(w)
	}
	last := args[len(args)-1]
	text := "  PID  PPID   UID STAT      TIME    RSS USER              STARTED                      COMM\n"
	rows := 0
	for pid, p := range w.all {
		if args[0] != "-A" && !slices.Contains(strings.Split(last, ","), strconv.Itoa(pid)) {
			continue
		}
		rows++
		text += fmt.Sprintf("%5d %5d %5d %-4s   0:01.00   1292 %-16s %s     %s\n", pid, p.parent, p.uid, p.state, p.user, p.start.Format(time.ANSIC), p.comm)
	}
	if rows == 0 {
		return sysexec.Result{Stdout: []byte(text), Exit: 1}
	}
	return sysexec.Result{Stdout: []byte(text)}
}

func (w *fakeMac) kill(pid int, s syscall.Signal) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.all[pid]
	switch {
	case p == nil:
		return syscall.ESRCH
	case w.guarded, !w.root && p.uid != 501:
		return syscall.EPERM
	case s == 0:
		return nil
	}
	w.sent = append(w.sent, s)
	if w.sends != nil {
		w.sends(w, s)
		return nil
	}
	switch {
	case s == syscall.SIGTERM && p.stubborn, p.stuck:
	case p.stays:
		p.state, p.comm = "Z", "(My App)"
	default:
		delete(w.all, pid)
	}
	return nil
}

// reuse gives the PID to another process that began later.
func (w *fakeMac) reuse(pid int) {
	w.all[pid] = &fakeProcess{parent: 1, uid: 502, user: "bob", start: boot.Add(9 * time.Hour), state: "S", comm: "/usr/local/bin/precious"}
}
