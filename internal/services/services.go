// SPDX-License-Identifier: Apache-2.0

// Package services restarts services and tells what is wrong with them. It refuses a restart that would start a
// service which is meant to stay off, cut the caller's session, or take the system down.
package services

import (
	"context"
	"errors"
	"time"
)

// A Unit is one unit as its manager has it. States and results are those of
// org.freedesktop.systemd1(5), which other managers translate their own to; the fields from
// Invocation on are those of services alone.
type Unit struct {
	Name    string   // the real one, where it was asked for by an alias
	Names   []string // all of them, aliases included
	Missing bool     // there is no such unit
	// Fileless is set for one that is still there, as it runs or has failed, and that no file describes any more.
	Fileless bool
	Active   string // active, reloading, inactive, failed, activating, deactivating
	Sub      string // in the words of its manager: running, exited, dead, auto-restart, spawn scheduled, ...
	Waits    bool   // it has died, and its manager waits to start it again
	Job      string // what is queued for it: restart, stop, ...; "" for nothing
	Foreign  bool   // it belongs to another person than the one who asks
	Unmet    bool   // a condition of its last start was not met
	Service  bool   // and not another kind of unit
	Trigger  bool   // it does nothing but start services, as sockets and timers do

	Unusable error  // why the manager does not start or stop it on request
	Dormant  error  // why it is not supposed to run, unless it does; nil where it is
	Stale    string // what to say when its file is newer than what the manager has read
	Hosted   string // what to say of what it runs besides its own processes, such as containers
	// HostedUnits is the pattern (path.Match) of the names of the units of these, where they may end with it; ""
	// where they go on.
	HostedUnits string
	LogHint     string // where to read more than its last log lines

	Starts    []string // what a start of it starts as well, and its end with success
	OnFailure []string // what its failure starts
	OnSuccess []string // those of Starts that its end with success starts
	Stops     []string // what conflicts with it and is stopped by its start
	Carries   []string // what a restart of it restarts, and a stop of it stops
	BoundTo   []string // what is stopped for good when it ends by itself, and by a stop of it
	Holds     []string // what may stop when nothing needs it any more, and it does
	HeldBy    []string // it stops when none of these is on; empty where it stays
	Actions   []string // what the manager does to the system when it ends: reboot, poweroff-force, ...

	Invocation   string // opaque; another one for every start
	Type         string // simple, notify, oneshot, ...
	Result       string // why it ended; success while there is nothing to tell
	Restarts     int    // by the manager itself, since it was last started by hand
	MainPID      int    // 0 when there is none
	ControlPID   int    // of a command beside the main process; 0 when there is none
	ExitCode     int    // how the last main process ended: 1 exited, 2 killed, 3 dumped core (waitid(2)); 0 not yet
	ExitStatus   int    // its status, or the signal
	Group        string // control group; "" when it has none
	User         string // that it runs as, by name or number; "" for root or where that is not known
	SparesOthers bool   // stopping it signals its main process at most
	StaysExited  bool   // it stays on when its processes have ended
	Commands     [][]string
	LastCommands [][]string // those of Commands that are run when it ends

	Description string
	Since       time.Time // when it came into its present state; zero where that is not known
	Started     time.Time // of the last main process; zero where there was none or it is not known
	Ended       time.Time // of that process; zero as well
	Reason      string    // why the system ended it, in its words
	Runs        int       // how often its manager has started it since it was loaded; 0 where it does not count
	Enabled     string    // in the words of its manager: enabled, disabled, static, ...
	File        string    // that describes it
	Needs       []string  // what it is not started without
	Wishes      []string  // what is started with it, and may fail
	ComesBack   bool      // its manager starts it again after a failure
	MayRestart  bool      // its manager may start it again, whatever it ended with
	RestartedBy []string  // what starts it again, each a sentence
	// BackAfterKill and BackAfterTerm say that its manager surely starts it again when its main process has got the
	// signal, and has ended by it or as it does then.
	BackAfterKill, BackAfterTerm bool
}

// A LogLine is a line of a log, not sanitized.
type LogLine struct {
	At      time.Time // zero where it is not known
	Text    string
	Foreign bool // another one than the service or its manager wrote it, who may say anything
}

// A Use is what the processes of a service use; nil is unknown, and a limit of zero is none.
type Use struct {
	PIDs        []int
	Memory      *uint64 // bytes, without cache that the kernel takes back first
	MemoryLimit uint64  // bytes
	CPU         *time.Duration
	CPULimit    float64        // cores
	Throttled   *time.Duration // that it waited because of CPULimit, since it was started
	Tasks       *uint64
	TasksLimit  uint64
	Started     time.Time // of the main process; zero where it is not known
}

// A ConfigTest is the outcome of a service's own test of its configuration.
type ConfigTest struct {
	Command string
	Passed  bool
	Err     error    // why it could not be run to its end; Passed is false
	Lines   []string // what it printed, not sanitized
}

// An Obstacle keeps a service from being started as things are.
type Obstacle struct {
	Why  string // a clause: "its program /usr/bin/x is missing"
	Sure bool   // nothing that the service runs or leaves behind changes it
}

// Why a manager has no state of a service that is installed, as Sub of a [Unit].
const (
	NotLoaded   = "not loaded"
	SwitchedOff = "disabled"
)

// An Ancestry is this process first, then its ancestors; process 1 is left out.
type Ancestry struct {
	PIDs   []int
	Groups []string // control groups, in the same order; "" where one could not be read
}

// Errors of a [Manager], besides [GuardedError] and [fault.Error]. Any other one
// means that the manager could not be asked.
var (
	ErrNoUnit   = errors.New("there is no such unit")
	ErrMasked   = errors.New("the unit is masked")
	ErrDenied   = errors.New("the service manager does not allow it to this user")
	ErrNoManual = errors.New("the unit may not be started or stopped by hand")
	ErrBusy     = errors.New("the service manager has queued what a restart would undo, such as a shutdown")
	ErrRejected = errors.New("the service manager cannot work out how to do it")
)

// A GuardedError says that the system itself lets nobody restart a service.
type GuardedError struct{ Why string }

// Error implements error.
func (e *GuardedError) Error() string { return e.Why }

// A Source opens the service manager of the machine.
type Source interface {
	// Kind describes it, without asking the machine.
	Kind() *Kind
	// Open connects. It fails with UNSUPPORTED where another program is the service
	// manager. The Manager outlives ctx.
	Open(ctx context.Context) (Manager, error) // [NamePlace] in the fix of an error is the service that was asked for
}

// A Manager is an open service manager. Everything but Restart only reads. Each
// call is bounded, also when the other side hangs.
type Manager interface {
	// Unit reads one unit by any of its names.
	Unit(ctx context.Context, name string) (Unit, error)
	// Names lists all services, installed or loaded.
	Names(ctx context.Context) ([]string, error)
	// Ancestry finds the ancestors of this run.
	Ancestry() (Ancestry, error)
	// Restart queues a restart, which no count of earlier starts of the service, or of the others that go with it, makes
	// the manager refuse. It returns when the manager has taken or refused it, or ctx ends. The channel tells how the job ended: done, failed, canceled, timeout,
	// dependency, skipped, ...
	Restart(ctx context.Context, name string, others []string) (<-chan string, error)
	// Log returns the last lines that the service wrote, or its manager about it,
	// since then, or at all if since is zero; the latest comes last. Those of others say whose they are, and take
	// no room from these.
	Log(ctx context.Context, u Unit, since time.Time, lines int) ([]LogLine, error)
	// TestConfiguration has the program of a service test its configuration; nil where there is no
	// such test that is safe to run.
	TestConfiguration(ctx context.Context, u Unit) *ConfigTest
	// Obstacles lists what would keep a service from being started, as far as that is looked at.
	Obstacles(ctx context.Context, u Unit) ([]Obstacle, error)
	Inspector
	// Close ends the connection.
	Close()
}

// An Inspector tells what is seen of services and not needed for a restart.
type Inspector interface {
	// Suspects lists services that may not be well: failed, started again and again, or off although
	// they are to run. A row is one of them, or many instances of one template, those that have failed first. Unseen
	// is how many more may be and were not looked at.
	Suspects(ctx context.Context) (rows [][]string, unseen int, err error)
	// Use reads what the processes of a service use.
	Use(ctx context.Context, u Unit) (Use, error)
	// FirstRestart tells when the manager first started a service again, of the restarts that
	// [Unit].Restarts counts; zero where it is not known.
	FirstRestart(ctx context.Context, name string) (time.Time, error)
}

// A State is a service at one moment.
type State struct {
	Active     string `json:"active_state"`          // of systemd: active, failed ...; on macOS in the same words
	Sub        string `json:"sub_state"`             // more closely: running, exited, dead ...
	Result     string `json:"result,omitempty"`      // why it ended, when not with success
	ExitStatus *int   `json:"exit_status,omitempty"` // of the main process, once it ended
	Signal     string `json:"signal,omitempty"`      // that ended it
	MainPID    int    `json:"main_pid,omitempty"`    // of the main process; absent when there is none
	Restarts   int    `json:"restarts"`              // by the service manager itself, since the last start by hand
}

// Restarted describes a restart that was begun.
type Restarted struct {
	Label         string `json:"label"`                    // name of the service to its manager
	RequestedName string `json:"requested_name,omitempty"` // the alias that was asked for
	Message       string `json:"message"`                  // what was done, a sentence
	State         State  `json:"state"`                    // as seen after it settled
	TookMS        int64  `json:"took_ms"`                  // milliseconds until it settled
	// RestartsBefore counts how often the service manager had started it again by itself before; absent
	// for never, and where that is not counted.
	RestartsBefore int `json:"restarts_before,omitempty"`
	Also
	AlsoOff []string `json:"also_off,omitempty"` // those of also_restarts and also_starts that are not on after it
	// Log holds the last lines about the service when the restart failed or has
	// not settled: at most ten, and fewer where they are long.
	Log []string `json:"log,omitempty"`
	// Pending says that the service manager goes on by itself, or may do so: the
	// outcome is not known.
	Pending bool `json:"-"`
	// Unread says which of the other units could not be looked at afterwards, and why; nil for none.
	Unread error `json:"-"`
}
