// SPDX-License-Identifier: Apache-2.0

// Package processes ranks the processes of this machine by what they use now.
package processes

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// A Sample is one process at one moment.
type Sample struct {
	PID         int
	Name        string
	State       byte          // as in proc_pid_stat(5): R, S, D, Z, T, I, ...
	CPU         time.Duration // user and system time since the process began
	Reaped      time.Duration // the same of children that it has waited for, and of theirs; 0 where that is not told
	Start       string        // opaque; equal only for the same process
	MemoryBytes uint64        // resident, and its page tables where those of all processes are much
	SwapBytes   uint64        // swapped out, without shared memory; 0 where nobody's was looked at
	Unseen      bool          // State and MemoryBytes are not known, and 0
	Read        time.Time     // when, on the monotonic clock
}

// A Table is every process at one moment.
type Table struct {
	Samples     []Sample
	MemoryTotal uint64 // bytes of the machine; 0 when it could not be read
	Hidden      bool   // the system hides processes of other users from this one
	Unread      error  // which processes are left out, as they could not be read in time; nil for none
	// Busy is what all processes of the machine, or of the container, have used since its start; 0 where that is not known, or where
	// Samples does not have all of them.
	Busy time.Duration
	// Others is how much processor time those had used at most that were left out; 0 where none was.
	Others time.Duration
	// HugeBytes are held by processes in huge pages, which MemoryBytes of no sample counts.
	HugeBytes uint64
	// SharedBytes are in shared memory and files of a tmpfs, which MemoryBytes of a sample counts where its
	// process has them mapped; 0 where that is not known.
	SharedBytes uint64
	// KernelBytes are held by the kernel and its drivers for themselves or for processes, and MemoryBytes of no sample
	// counts them; 0 where that is not known.
	KernelBytes uint64
	// SwapUsed is how much is swapped out, of all; 0 where SwapBytes of no sample was looked at.
	SwapUsed uint64
	// Unsized counts the processes whose page tables and SwapBytes were not looked at in time.
	Unsized int
}

// Details are what only shown rows need.
type Details struct {
	Arguments []string
	User      string
	ParentPID int            // 0 where it has none
	Unit      string         // of the service manager; "" where it is not known
	Age       *time.Duration // nil where it is not known
}

// A Source reads processes from the platform.
type Source interface {
	// Table reads all processes once.
	Table(ctx context.Context) (Table, error)
	// Details reads more about the process that had this PID and this start when
	// it was sampled. It fails when that process is gone or its details may not be
	// read, with ErrLocked for arguments that its process keeps from everybody; what was read of it,
	// and of no other, is returned all the same.
	Details(ctx context.Context, pid int, start string) (Details, error)
}

// ErrLocked reports a process whose memory, where its arguments stand, cannot be read: it waits for
// a file under the lock of its address space.
var ErrLocked = errors.New("its memory is locked, perhaps because it waits for a dead file system")

// A Process is one row of an answer.
type Process struct {
	PID           int      `json:"pid"`                   // number of the process
	Name          string   `json:"name"`                  // as the kernel has it
	CPUPercent    float64  `json:"cpu_percent"`           // over the window; 100 is one core
	MemoryPercent *float64 `json:"mem_percent,omitempty"` // of the machine's memory
	MemoryMB      float64  `json:"mem_mb"`                // resident, MiB; 0 with the status unknown means nothing
	User          string   `json:"user,omitempty"`        // who it runs as
	Status        string   `json:"status"`                // running, sleeping, stopped, zombie ...
	Command       string   `json:"command,omitempty"`     // redacted; absent for kernel threads
	// StartID identifies the process among all that ever had its PID: hand it back as expect_start.
	StartID    string    `json:"start_id"`
	AgeSeconds *int64    `json:"age_seconds,omitempty"` // since it began
	CPUSeconds *float64  `json:"cpu_seconds,omitempty"` // user and system time since it began
	Parent     *Relative `json:"parent,omitempty"`      // who started it, or took it over
	Unit       string    `json:"unit,omitempty"`        // of the service manager, such as nginx.service
}

// Seen reports whether the memory and the state of the process are known.
func (p Process) Seen() bool { return p.Status != Status(0) }

// A Ranking answers get_top_processes.
type Ranking struct {
	Processes      []Process `json:"processes"`       // the busiest first
	ProcessesTotal int       `json:"processes_total"` // processes of this machine
	Truncated      bool      `json:"truncated"`       // processes does not show all
	SortedBy       string    `json:"sorted_by"`       // cpu or memory
	WindowMS       int64     `json:"window_ms"`       // over which cpu_percent was measured
	// UnattributedPercent is what processes that ended within the window used, which have no row: 100 is one core; absent where it is little.
	UnattributedPercent *float64    `json:"unattributed_percent,omitempty"`
	Unattributed        string      `json:"-"`           // the same in words; "" where it is absent
	Unavailable         answer.Gaps `json:"unavailable"` // what could not be read, and why
}

// Shorten cuts the longest command lines to half of what they are; false when none is long any more.
func (r Ranking) Shorten() (more bool) {
	const short = 20
	longest := 0
	for _, p := range r.Processes {
		longest = max(longest, len(p.Command))
	}
	for i, p := range r.Processes {
		if runes := utf8.RuneCountInString(p.Command); len(p.Command) == longest && runes > short {
			r.Processes[i].Command, more = sanitize.Text(p.Command, max(short, runes/2)), true
		}
	}
	return more
}

// Options choose the rows of a Ranking.
type Options struct {
	Count int     // rows; 0 means all
	Sort  string  // "cpu" or "memory"
	Brief bool    // without age, CPU time, parent and unit
	Named bool    // Brief, and without the command line
	Least float64 // of what it is sorted by, percent of a core or MiB; rows with less are left out
}
