// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/timespec"
)

// An Inspection answers get_process_details.
type Inspection struct {
	PID     int    `json:"pid"`     // number of the process
	Name    string `json:"name"`    // as the kernel has it; the process may have chosen it
	Summary string `json:"summary"` // what it is, in a sentence
	// Notable is what is unusual about it, the worst first.
	Notable    []Notable  `json:"notable" schema:"brief"`
	Status     string     `json:"status"`                // running, sleeping, stopped, zombie ...
	WaitsFor   string     `json:"waits_for,omitempty"`   // what its first thread waits for, in words
	StartID    string     `json:"start_id"`              // hand back as expect_start
	StartedAt  *time.Time `json:"started_at,omitempty"`  // by the clock as it is set now
	AgeSeconds *int64     `json:"age_seconds,omitempty"` // since it began
	CPUSeconds float64    `json:"cpu_seconds"`           // user and system time since it began
	Threads    int        `json:"threads,omitempty"`     // of the process, its first one included
	User       string     `json:"user,omitempty"`        // the real one
	// EffectiveUser is whose rights it has, where that is another.
	EffectiveUser string `json:"effective_user,omitempty"`
	// LoginUser is who logged in to the session it descends from, which neither su nor sudo changes.
	LoginUser    string          `json:"login_user,omitempty"`
	Command      string          `json:"command,omitempty"`                      // redacted; absent for kernel threads
	Container    bool            `json:"in_container,omitempty"`                 // it is in a PID namespace below that of this run
	StartedBy    *StartedBy      `json:"started_by,omitempty" schema:"brief"`    // who it belongs to
	Ancestry     []Kin           `json:"ancestry" schema:"brief"`                // its parent first; at most 16
	Children     []Kin           `json:"children" schema:"brief"`                // the oldest first; at most 10
	Descendants  int             `json:"descendants"`                            // children and theirs
	ChildrenAll  int             `json:"children_total"`                         // also those that are not shown
	Program      *Program        `json:"program,omitempty" schema:"brief"`       // the file that it runs; absent for kernel threads
	Memory       *MemoryKinds    `json:"memory,omitempty" schema:"brief"`        // what it uses, by kind
	ControlGroup *ControlGroup   `json:"control_group,omitempty" schema:"brief"` // the group that it is in
	Limits       []Limit         `json:"limits" schema:"brief"`                  // those that are not unlimited
	OpenFiles    *OpenFiles      `json:"open_files,omitempty" schema:"brief"`    // its descriptors
	Sockets      *ProcessSockets `json:"sockets,omitempty" schema:"brief"`       // those of its descriptors that are sockets
	Unavailable  answer.Gaps     `json:"unavailable"`                            // what could not be read, and why
}

// A Notable is something unusual about a process.
type Notable struct {
	Code     string `json:"code"`     // stable, such as PROGRAM_REMOVED
	Severity string `json:"severity"` // critical, warning or info
	Message  string `json:"message"`  // a sentence
}

// StartedBy is who a process belongs to.
type StartedBy struct {
	How      string `json:"how"`                 // in words
	Unit     string `json:"unit,omitempty"`      // of the service manager, such as nginx.service
	UserUnit bool   `json:"user_unit,omitempty"` // the unit is one of a user's service manager
	Terminal string `json:"terminal,omitempty"`  // such as pts/0
}

// A Kin is an ancestor or a child.
type Kin struct {
	PID     int    `json:"pid"`               // number of the process
	Name    string `json:"name,omitempty"`    // as the kernel has it
	User    string `json:"user,omitempty"`    // who it runs as
	Status  string `json:"status,omitempty"`  // running, sleeping ...
	Command string `json:"command,omitempty"` // redacted
}

// A Program is the file that a process runs.
type Program struct {
	Path string `json:"path,omitempty"` // as the process sees it
	// State is present, replaced (another file is there now), removed, or memory (it never was a
	// file); absent where its user mounted what has it at that path.
	State        string     `json:"state,omitempty"`
	ModifiedAt   *time.Time `json:"modified_at,omitempty"`         // when the content of the file changed last
	ChangedSince bool       `json:"changed_since_start,omitempty"` // its content, since the process began
	// RootOnly says that nobody but root could have put it there or can change it.
	RootOnly       bool   `json:"root_only"`
	SetUserID      bool   `json:"set_user_id,omitempty"`     // whoever starts it gets the rights of another user
	Package        string `json:"package,omitempty"`         // that the file at the path came with
	PackageVersion string `json:"package_version,omitempty"` // of that package
	// OfPackage is false where no package has the path, and absent where that is not known.
	OfPackage *bool `json:"of_package,omitempty"`
	// AsPackaged says that what runs has the digest that the package manager recorded.
	AsPackaged *bool  `json:"as_packaged,omitempty"`
	Signature  string `json:"signature,omitempty"`         // on macOS, who signed it
	Directory  string `json:"working_directory,omitempty"` // of the process
}

// MemoryKinds are what a process uses, in MiB.
type MemoryKinds struct {
	ResidentMB  float64  `json:"resident_mb"`                // in memory now
	AnonymousMB *float64 `json:"anonymous_mb,omitempty"`     // of that, what it made itself
	FileMB      *float64 `json:"file_mb,omitempty"`          // of that, from files, which others may share
	SharedMB    *float64 `json:"shared_mb,omitempty"`        // of that, shared memory
	HugeMB      *float64 `json:"huge_pages_mb,omitempty"`    // beside that, in huge pages of hugetlbfs; absent without any
	TablesMB    *float64 `json:"page_tables_mb,omitempty"`   // beside that, what the kernel needs to find its memory; absent below a tenth of resident_mb
	SwapMB      *float64 `json:"swap_mb,omitempty"`          // moved out
	PeakMB      *float64 `json:"peak_resident_mb,omitempty"` // the most that was resident
	VirtualMB   *float64 `json:"virtual_mb,omitempty"`       // addresses, used or not
	LockedMB    *float64 `json:"locked_mb,omitempty"`        // cannot be moved out
	// OOMScore is how soon the kernel kills it for want of memory, 0 (never) to 2000 (first).
	OOMScore *int `json:"oom_score,omitempty"`
}

// A ControlGroup is the group that limits the processes of a unit together.
type ControlGroup struct {
	Path           string   `json:"path"`                        // below /sys/fs/cgroup
	MemoryMB       *float64 `json:"memory_mb,omitempty"`         // used by the group
	MemoryLimitMB  *float64 `json:"memory_limit_mb,omitempty"`   // absent without a limit
	CPULimitCores  *float64 `json:"cpu_limit_cores,omitempty"`   // cores that the group may use; absent without a limit
	ThrottledSec   *float64 `json:"throttled_seconds,omitempty"` // it waited for its share of CPU
	Processes      *uint64  `json:"processes,omitempty"`         // processes and threads in it
	ProcessesLimit *uint64  `json:"processes_limit,omitempty"`   // that it may have; absent without a limit
}

// A Limit is a resource limit of one process (getrlimit(2)).
type Limit struct {
	Name string  `json:"name"`           // as the kernel has it: "Max open files"
	Soft *uint64 `json:"soft,omitempty"` // absent is unlimited
	Hard *uint64 `json:"hard,omitempty"` // up to which the process may raise it
	Unit string  `json:"unit,omitempty"` // of both; absent for a number
}

// OpenFiles are the descriptors of a process.
type OpenFiles struct {
	Total  int         `json:"total"`   // descriptors
	ByKind []KindCount `json:"by_kind"` // the most frequent kind first
	// Files are regular files, devices and directories, removed ones first; at most 15.
	Files []OpenFile `json:"files"`
	// Withheld counts names that whoever asks could not list himself.
	Withheld  int  `json:"withheld,omitempty"`
	Truncated bool `json:"truncated"` // files does not show all
}

// A KindCount is how many descriptors refer to one kind of thing.
type KindCount struct {
	Kind  string `json:"kind"`  // file, directory, device, removed, memory, pipe, event, socket ...
	Count int    `json:"count"` // descriptors
}

// An OpenFile is one descriptor.
type OpenFile struct {
	FD     int      `json:"fd"`                // number of the descriptor; -1 for a file that is registered with io_uring and has none
	Kind   string   `json:"kind"`              // as in by_kind
	Path   string   `json:"path"`              // name of the file, which the process may have chosen
	SizeMB *float64 `json:"size_mb,omitempty"` // of a removed file, which takes up space as long as it is open
}

// ProcessSockets are the sockets of a process.
type ProcessSockets struct {
	Total     int             `json:"total"`     // descriptors that are sockets
	ByState   []KindCount     `json:"by_state"`  // such as TCP LISTEN, TCP ESTABLISHED, UDP, Unix
	Sockets   []ProcessSocket `json:"sockets"`   // listening first; at most 15
	Truncated bool            `json:"truncated"` // sockets does not show all
}

// A ProcessSocket is one socket of TCP, UDP or UDP-Lite.
type ProcessSocket struct {
	Protocol string `json:"protocol"`         // TCP, UDP or UDPLITE
	State    string `json:"state"`            // ESTABLISHED, LISTEN ...
	Local    string `json:"local"`            // address and port
	Remote   string `json:"remote,omitempty"` // address and port; absent where it is not connected
}

// An Observation is what the platform reads of a process: texts are as they were found, lists may be
// long, and what was not read is in Unavailable.
type Observation struct {
	Inspection
	Arguments []string
	UserID    int
	FilesOf   int      // the user who may see what it has open without root; -1 for none that is known
	Tracer    Relative // a debugger; PID 0 without one
	// FirstThreadEnded says that others go on. Status and what it waits for are those of one of them.
	FirstThreadEnded bool
	MostOpen         int    // descriptors in the largest of its tables: threads may each have one, with a limit of its own
	Claim            Claim  // what it calls itself, and what it is
	Root             string // the root directory of its own that it has; empty for none, or where it cannot be told
}

// Modified tells when the content of the file of the program changed last. Its owner chooses what it says (utimensat(2)),
// which may be no date.
func (o *Observation) Modified(at time.Time) {
	if !timespec.Writable(at) {
		o.Unavailable.Note("program.modified_at", "what the file says is no date")
		return
	}
	o.Program.ModifiedAt = &at
}

// An Inspector reads one process.
type Inspector interface {
	// Inspect reads the process that has the PID now. It fails with [ErrNoProcess] and [*ThreadError].
	Inspect(ctx context.Context, pid int) (Observation, error)
}
