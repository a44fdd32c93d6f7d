// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sentinel/internal/sessions"
)

// A Signal asks a process to end, or ends it.
type Signal string

// The signals that sentinel sends (signal(7)).
const (
	SignalTerm Signal = "SIGTERM"
	SignalKill Signal = "SIGKILL"
)

// ErrNoProcess says that no process has the ID, or that the one that had it
// ended and was collected by its parent.
var ErrNoProcess = errors.New("there is no such process")

// ErrHeldUp says that a process is kept from being read, as its own user can have it. What that user has of it ends
// with it.
var ErrHeldUp = errors.New("it is kept from being read")

// A GuardedError says that the system lets nobody signal a process, root included.
type GuardedError struct{ Why string }

// Error implements error.
func (e *GuardedError) Error() string { return e.Why }

// A ThreadError says that an ID is that of a thread.
type ThreadError struct {
	Process int    // whose thread it is
	Name    string // of that process, as the kernel has it
}

// Error implements error.
func (e *ThreadError) Error() string { return fmt.Sprintf("a thread of process %d", e.Process) }

// A TerminationSource pins processes of the platform.
type TerminationSource interface {
	// Pin pins a process, so that what is read and signalled afterwards is that
	// process and no other one that gets its PID. It fails with [ErrNoProcess],
	// with a [*ThreadError], and with a [*fault.Error], which says itself what it means.
	Pin(pid int) (Pinned, error)
	// Lineage returns the ancestors of this run, its parent first. It fails when
	// it cannot see all of them.
	Lineage(ctx context.Context) ([]Relative, error)
	// RestartPolicy asks the service manager of the system what it does when a
	// service ends.
	RestartPolicy(ctx context.Context, unit string) (RestartPolicy, error)
	// Critical lists the programs that this system depends on. The first rule that
	// matches gives the reason.
	Critical() []CriticalRule
	// Below lists the processes that descend from one, and all others of its PID namespace where it is the first of
	// that; the oldest come first.
	Below(ctx context.Context, pid int) ([]Relative, error)
	// Holdings adds what the machine has of the open files of processes to their facts, by PID: Served, Watchdog and
	// Duty, as of processes that end together, and along with others. All are read within one bound; those of people
	// only if they are wanted, who can have as many as they like.
	Holdings(ctx context.Context, of map[int]*Facts, along []int, people bool)
	// Sessions reads what carries the sessions of those who are logged in.
	Sessions(ctx context.Context) (*sessions.Model, error)
}

// A Pinned process stays the same process. Its methods fail with [ErrNoProcess]
// once its parent has collected it.
type Pinned interface {
	// Facts reads what the process is now, but for its holdings ([TerminationSource]).
	Facts(ctx context.Context) (Facts, error)
	// Probe tells whether it may be signalled, and fails with fs.ErrPermission or
	// [*GuardedError] where it may not. It changes nothing.
	Probe() error
	// Signal sends s, and fails as Probe does.
	Signal(s Signal) error
	// Wait waits until all threads of the process have ended, and is false when
	// limit passes first.
	Wait(limit time.Duration) (ended bool, err error)
	// Collected waits until the parent has collected the ended process, and is
	// false when limit passes first.
	Collected(limit time.Duration) bool
	// ProgramFile looks at the file of the program. It may wait for the disk.
	ProgramFile() (ProgramFile, error)
	// Obstacle looks for what keeps a process that got SIGKILL from ending.
	Obstacle() Obstacle
	// Close unpins the process.
	Close() error
}

// Facts are what a process is at one moment. What could not be read is empty.
type Facts struct {
	Name       string   // as the kernel has it, which may have cut it at 15 bytes
	Arguments  []string // as the process shows them
	Start      string   // as in [Sample]
	Ended      bool     // all its threads; only its parent has not collected it
	Kernel     bool     // a thread of the kernel
	Nested     bool     // in a PID namespace below this one: it belongs to a container
	First      bool     // of a PID namespace below this one, which the kernel ends with it
	UserID     int      // the real one
	User       string
	Executable string // the path of the program as the process sees it
	Lent       bool   // as in [ProgramFile]; false where that is not known without waiting
	Parent     Relative
	Unit       Unit
	Served     []Served
	// Watchdog is the device that resets the machine unless the process keeps writing to it; empty where
	// it has none open.
	Watchdog string
	Duty     Duty
}

// A Duty is what the network of this machine has of a process, told by the sockets that it holds, whatever it is
// called. A platform that does not look for it leaves it empty.
type Duty struct {
	NameServer bool  // it answers at an address at which this machine asks for names
	Routing    bool  // it speaks a protocol of routers, or of machines that stand in for each other
	WayOut     bool  // it carries the packets of a tunnel by which this machine reaches others
	Unread     error // why that is not all known
}

// Served is a mounted file system that a process serves.
type Served struct {
	Point string // where it is mounted
	// System is set for one that root has mounted; others belong to whoever did.
	System bool
}

// A ProgramFile is the file of the program that a process runs.
type ProgramFile struct {
	// System says that it is a file of the system, at the path that is known: root alone could have put
	// it there and can change it.
	System bool
	// Lent says that whoever starts it gets rights of its owner, such as root.
	Lent bool
}

// A Relative is a process that another descends from.
type Relative struct {
	PID  int    `json:"pid"`            // number of the process
	Name string `json:"name,omitempty"` // as the kernel has it
}

// A Unit is what a service manager runs a process as; its name is empty where
// none does.
type Unit struct {
	Name        string // such as nginx.service
	User        bool   // of a user's service manager, not of the system's
	Service     bool   // the manager starts and restarts it itself
	Manager     bool   // it is the service manager of a user
	RestartName string // its name for restart_service
	StopCommand string // with which a person keeps it off
}

// A Prediction is whether a process comes back.
type Prediction int

// The predictions.
const (
	Uncertain Prediction = iota
	ComesBack
	StaysAway
)

// known is nil for what is uncertain.
func (p Prediction) known() *bool {
	if p == Uncertain {
		return nil
	}
	return new(p == ComesBack)
}

// A RestartPolicy is what the service manager does when a service ends.
type RestartPolicy struct {
	MainPID int        // of the process whose end counts; 0 when there is none
	OnTerm  Prediction // after SIGTERM
	OnKill  Prediction // after SIGKILL
	Cause   string     // of the new start, such as (Restart=always)
}

// An Obstacle is what keeps a process from ending.
type Obstacle struct {
	Uninterruptible bool     // a thread waits in state D of proc_pid_stat(5)
	State           string   // that state in the words of the system; empty for D
	Wait            string   // the function of the kernel in which it does; empty when unknown
	Tracer          Relative // a debugger; PID 0 without one
}
