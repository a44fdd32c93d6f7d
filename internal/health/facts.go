// SPDX-License-Identifier: Apache-2.0

// Package health describes how this machine is doing and judges it.
package health

import (
	"context"
	"time"
)

// CPUTimes are the times of one core, or of all, since boot, in any unit.
type CPUTimes struct {
	Total, Idle uint64
	Stolen      uint64 // by other machines on the same host; 0 where that is not told
}

// CPUSample is the state of all cores at one moment.
type CPUSample struct {
	All   CPUTimes
	Cores []CPUTimes
	Own   time.Duration // CPU time that sentinel itself has used
	Tick  time.Duration // unit of the times
	Count int           // of cores, where Cores is nil
	// Waiting is the part of All.Idle in which a task waited for a disk; 0 where that is not told.
	Waiting uint64
	// Tasks is the part of All that processes used, and not interrupts; 0 where that is not told.
	Tasks uint64
	// Container says that the times are those of the container alone, from the first sample of this
	// run on. What spans several runs goes by Used.
	Container bool
	Used      time.Duration // by the container since it was made
	Capacity  float64       // processors that it may use
	// Share replaces the times in the second sample on a system that reports no
	// times.
	Share *CPUShare
}

// A CPUShare is what the system itself measured between the two samples.
type CPUShare struct {
	Percent float64 // of all cores
	Cores   int     // online; 0 when unknown
	Window  time.Duration
}

// Load is the load average over 1, 5 and 15 minutes.
type Load struct {
	One, Five, Fifteen float64
}

// MemoryFacts are sizes in bytes.
type MemoryFacts struct {
	Total, Available, SwapTotal, SwapFree uint64
	// Shared is in shared memory and files of a tmpfs; 0 where it is not told.
	Shared uint64
	// SwapGrows says that the system makes more swap space when it needs some.
	SwapGrows bool
	// Pressure is how short of memory the kernel considers itself, one of the
	// constants; empty where it does not report it.
	Pressure string
	// SwapErr says why the sizes of swap are not known, PressureErr why the level is
	// not.
	SwapErr, PressureErr error
}

// Levels of memory pressure.
const (
	PressureNormal   = "normal"
	PressureWarning  = "warning"
	PressureCritical = "critical"
)

// A ThermalFacts is what the system does because of heat; values that it does not
// report are zero or nil.
type ThermalFacts struct {
	// Level is the thermal pressure of macOS: Nominal, Moderate, Heavy, Trapping
	// or Sleeping.
	Level string
	// WarningLevel is the thermal warning level of macOS, by IOPM.h of xnu: 0 normal,
	// 5 danger (it may slow down), 10 critical (it may shut down at once); from 100
	// on, those of the model: 100 warning, 110 trap.
	WarningLevel *int
	// PerformanceLevel is the performance warning level of macOS, by IOPMPrivate.h
	// of xnu: 0 normal, 100 warning.
	PerformanceLevel *int
	// SpeedLimit is the percentage of its speed that the processor may use, and
	// SchedulerLimit that of its time.
	SpeedLimit, SchedulerLimit int
	// Err says why more than this is not known.
	Err error
}

// Limits are those of the container that sentinel runs in; zero means none.
type Limits struct {
	Version    int     // of control groups
	MemoryMax  uint64  // bytes
	MemoryUsed uint64  // bytes without reclaimable cache; only with MemoryMax
	CPUs       float64 // cores
}

// A Sensor is one temperature reading.
type Sensor struct {
	Chip    string // driver or zone type: "coretemp", "acpitz"
	Label   string // of the chip's sensor: "Package id 0"; may be empty
	Celsius float64
}

// A DiskFacts is one mounted local file system. Its Mountpoint is "" where it is longer than a system call takes;
// then Err says so.
type DiskFacts struct {
	Mountpoint, Device, FileSystem string
	Size, Used, Available          uint64 // bytes
	Inodes, InodesUsed             uint64 // 0 where the file system has no fixed number
	ReadOnly                       bool
	InMemory                       bool  // no disk, and not listed: judged alone
	Err                            error // why its sizes are not known
}

// PressureFacts are stall percentages of one resource; Full is absent where the
// kernel does not report it.
type PressureFacts struct {
	Some, Full *Averages
}

// Averages are percentages over 10 and 60 seconds.
type Averages struct {
	Avg10, Avg60 float64
}

// Day is how far back a process that was killed for want of memory is a reason.
const Day = 24 * time.Hour

// OOMKills are processes that the kernel killed for want of memory.
type OOMKills struct {
	SinceBoot uint64
	LastDay   *uint64   // nil when unknown
	Kills     []OOMKill // those that may be of the last day, newest first, as far as they are known
	Err       error     // why LastDay is unknown
	More      error     // why LastDay may be more; nil where it is not
}

// An OOMKill is one of them.
type OOMKill struct {
	Process string        // its name
	Unit    string        // of the service manager; "" where it was in none, before Linux 5.0, or where users may have written it
	User    string        // who it ran as; "" is unknown
	At      time.Duration // since boot, by the clock of the kernel's log
	Ago     time.Duration // at least: that clock stands still in a suspend
	Slept   time.Duration // by how much longer ago it may be; 0 where the machine was not suspended since
}

// A Unit is a service manager's unit.
type Unit struct {
	Name, Description string
	Instances         int // of its template that have failed, for which this one stands; 0 where it stands for itself
}

// A RestartingUnit is a service that its manager starts again and again.
type RestartingUnit struct {
	Name     string
	Restarts int       // since it was last started by hand
	Since    time.Time // the first of these; zero when unknown
	Waits    bool      // it has died, and is to be started again
}

// Counters are what the kernel counts of the whole machine, for whoever keeps them to compare; nil is
// unknown.
type Counters struct {
	DiskRead, DiskWritten *uint64   // bytes since boot, of all disks
	Sent, Resent          *uint64   // TCP segments since boot
	Established           *uint64   // TCP connections now
	Files                 *uint64   // open files of all processes now
	OOMKills              *uint64   // since boot
	Installed             time.Time // when packages were installed, updated or removed last; zero is unknown
}

// Sources read facts from the platform, one function per fact, so that one that
// fails or hangs costs only its own fact. Each must return soon after its context
// ends; one that does not is abandoned. A nil function means that this system does
// not have the fact; it is absent without a gap.
type Sources struct {
	CPU            func(context.Context) (CPUSample, error)
	Load           func(context.Context) (Load, error)
	Memory         func(context.Context) (MemoryFacts, error)
	Limits         func(context.Context) (Limits, error)
	Sensors        func(context.Context) ([]Sensor, error)
	Thermal        func(context.Context) (ThermalFacts, error)
	Disks          func(context.Context) ([]DiskFacts, error)
	Pressure       func(context.Context) (map[string]PressureFacts, error) // by cpu, memory, io
	Uptime         func(context.Context) (time.Duration, error)
	OOMKills       func(context.Context) (OOMKills, error)
	FailedUnits    func(context.Context) ([]Unit, error)
	Restarting     func(context.Context) ([]RestartingUnit, error)
	RebootRequired func(context.Context) (bool, error)
	Counters       func(context.Context) (Counters, error)
	Figures        map[string]Reader // of figures with a Member, by key
}
