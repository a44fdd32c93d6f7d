// SPDX-License-Identifier: Apache-2.0

//go:build linux

package scheduling

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The better place. The niceness is the best there is (sched(7)), and the priority of input and output
// follows it while none is set (ioprio_set(2)). The score spares this process when memory runs out
// (proc_pid_oom_score_adj(5)), unless it is itself what uses it up: -1000 would spare it then, too.
const (
	bestNice  = -20
	spared    = "-900\n"
	ordinary  = "0\n"
	oomScore  = "/proc/self/oom_score_adj"
	autogroup = "/proc/self/autogroup"
)

// A Preference is the better place of this process. It is safe for concurrent use.
type Preference struct {
	nice      bool
	score     *os.File // nil where it was not changed
	autogroup string   // the file; "" where it was not changed

	mu sync.Mutex // held while a program is started
}

// Prefer gives this process, with all its threads, a better place than the others on this machine have.
// What root gave this run in particular, such as Nice= of a unit, stays, and so does what the
// kernel does not let it change.
//
// The session may change: where processes of one session share what they get of the processors
// (sched(7), "The autogroup feature"), the niceness counts only among them, and the session needs
// a better place itself.
func Prefer() *Preference {
	p := &Preference{}
	OnThreads(func(tid int) bool {
		changed := preferThread(tid)
		p.nice = p.nice || changed
		return changed
	})
	p.spare(oomScore)
	if p.nice && ownSession() {
		p.raise(autogroup)
	}
	return p
}

// preferThread changes a thread that is treated as any other (sched_setattr(2)).
func preferThread(tid int) bool {
	now, err := unix.SchedGetAttr(tid, 0)
	if err != nil || now.Policy != unix.SCHED_NORMAL || now.Nice != 0 {
		return false
	}
	return unix.SchedSetAttr(tid, attributes(0), 0) == nil
}

func attributes(flags uint64) *unix.SchedAttr {
	return &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: bestNice, Flags: flags}
}

// spare keeps the file open: it is written again when this process may have given up root for a while.
func (p *Preference) spare(path string) {
	raw, err := os.ReadFile(path)
	if err != nil || string(raw) != ordinary {
		return
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	if _, err := file.WriteString(spared); err != nil { // it takes a capability that root may lack
		file.Close() //nolint:errcheck // nothing was written
		return
	}
	p.score = file
}

func (p *Preference) raise(path string) {
	if os.WriteFile(path, []byte(strconv.Itoa(bestNice)), 0) == nil {
		p.autogroup = path
	}
}

// ownSession reports whether nobody else is in the session of this process, after it has left that
// of its caller if it may: at a terminal it stays where Ctrl-C reaches it, and the leader of a
// process group cannot leave (setsid(2)). sudo makes a session for a run to which it gives a
// terminal of its own, and leads it.
func ownSession() bool {
	if !hasTerminal() {
		unix.Setsid() //nolint:errcheck // see above
	}
	leader, err := unix.Getsid(0)
	return err == nil && (leader == os.Getpid() || leader == os.Getppid() && isSudo(leader))
}

// hasTerminal reports whether the session has a terminal (tty(4)).
func hasTerminal() bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err != unix.ENXIO
	}
	unix.Close(fd) //nolint:errcheck // nothing was written
	return true
}

func isSudo(pid int) bool {
	path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return err == nil && strings.HasPrefix(filepath.Base(path), "sudo") // sudo-rs is installed as sudo-rs on some systems
}

// Start calls start, which starts a program with attr, such that the program has the place of any other:
// niceness and input and output, want of memory, session. It is not started where that cannot be
// had. A program with neither a session nor a process group of its own is one that a person uses; this
// process gives back the place of its session for good then, because the program shares it.
func (p *Preference) Start(attr *syscall.SysProcAttr, start func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.separate(attr); err != nil {
		return fmt.Errorf("give back the place of this session: %w", err)
	}
	if p.score != nil {
		if _, err := p.score.WriteString(ordinary); err != nil {
			return fmt.Errorf("give back what is kept from being killed for want of memory: %w", err)
		}
		defer p.score.WriteString(spared) //nolint:errcheck // it was let before
	}
	if !p.nice {
		return start()
	}
	return childless(start)
}

// separate keeps the program out of a session that has a better place.
func (p *Preference) separate(attr *syscall.SysProcAttr) error {
	switch {
	case p.autogroup == "":
		return nil
	case attr.Setpgid || attr.Setsid:
		attr.Setsid, attr.Setpgid = true, false // a session is a group, too
		return nil
	default:
		err := os.WriteFile(p.autogroup, []byte(ordinary), 0)
		p.autogroup = ""
		return err
	}
}

// childless has the kernel reset the niceness of what this thread forks (SCHED_FLAG_RESET_ON_FORK) while
// start runs. The runtime makes no thread from one that is locked.
func childless(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetAttr(0, attributes(unix.SCHED_FLAG_RESET_ON_FORK), 0); err != nil {
		return fmt.Errorf("give back the niceness: %w", err)
	}
	defer unix.SchedSetAttr(0, attributes(0), 0) //nolint:errcheck // the threads that this one makes are ordinary then
	return start()
}
