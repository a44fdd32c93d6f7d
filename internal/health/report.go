// SPDX-License-Identifier: Apache-2.0

package health

import (
	"time"

	"sentinel/internal/answer"
)

// The threat levels, by the specification.
const (
	Low      = "LOW"
	Warning  = "WARNING"
	Critical = "CRITICAL"
)

// Rows is how many disks, units and cores an answer lists unless more is asked
// for.
const (
	maxDisks = 20
	maxUnits = 10
	maxCores = 128
)

// A Reason is why threat_level is above LOW.
type Reason struct {
	Code     string `json:"code"`     // stable name of the reason
	Severity string `json:"severity"` // WARNING or CRITICAL
	Message  string `json:"message"`  // for people, a sentence
	// Value, in the unit the message names, and the bound that it reached; absent
	// for what is only on or off.
	Value     *float64 `json:"value,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"` // the bound that value reached
	// Culprit names what is behind it: processes, units, a device. Absent where that
	// is not known, or in the message, or the same as of a reason before.
	Culprit string `json:"culprit,omitempty"`
	// Next is the call that tells more; only for programs whose client offers the tool.
	Next string `json:"next,omitempty"`
	// Object is the mount point or the unit that a command about the reason needs.
	Object string `json:"-"`
}

// CPU is the use of the processor.
type CPU struct {
	Percent   *float64  `json:"percent,omitempty"`            // of all cores, over the window, without sentinel itself
	PerCore   []float64 `json:"per_core,omitempty"`           // percent of each core, over the window
	Cores     int       `json:"cores,omitempty"`              // online
	Load1     *float64  `json:"load_1,omitempty"`             // load average over 1 minute
	Load5     *float64  `json:"load_5,omitempty"`             // load average over 5 minutes
	Load15    *float64  `json:"load_15,omitempty"`            // load average over 15 minutes
	Limit     float64   `json:"limit_cores,omitempty"`        // of the container
	Stolen    *float64  `json:"stolen_percent,omitempty"`     // of all cores, taken by other machines on the same host over the window; absent where none is
	Scope     string    `json:"scope,omitempty"`              // "container" where percent is of the container's control group
	WindowMS  int64     `json:"window_ms,omitempty"`          // milliseconds over which percent was measured
	Truncated bool      `json:"per_core_truncated,omitempty"` // per_core does not show all
}

// Thermal is the temperature that the verdict rests on, and what the system
// does because of heat; each is absent where it is not told.
type Thermal struct {
	Sensor           string   `json:"sensor,omitempty"`                    // the one that celsius is of
	Celsius          *float64 `json:"celsius,omitempty"`                   // of the processor
	PressureLevel    string   `json:"pressure_level,omitempty"`            // of macOS: Nominal, Moderate, Heavy, Trapping or Sleeping
	WarningLevel     *int     `json:"warning_level,omitempty"`             // thermal warning level of macOS: 0 normal, 5 danger, 10 critical, 100 warning, 110 trap
	PerformanceLevel *int     `json:"performance_warning_level,omitempty"` // performance warning level of macOS: 0 normal, 100 warning
	SpeedLimit       int      `json:"speed_limit_percent,omitempty"`       // of the processor's speed
	SchedulerLimit   int      `json:"scheduler_limit_percent,omitempty"`   // of the processor's time
}

// Memory is the use of memory. In a container with a limit it is that of the
// container.
type Memory struct {
	TotalBytes     uint64  `json:"total_bytes"`              // all of it
	UsedBytes      uint64  `json:"used_bytes"`               // what is not available
	AvailableBytes uint64  `json:"available_bytes"`          // what can be had without swapping
	UsedPercent    float64 `json:"used_percent"`             // of the total
	SharedBytes    uint64  `json:"shared_bytes,omitempty"`   // of what is used, in shared memory and files of a tmpfs, which count for no process that has not mapped them; absent where there is none or it is not told, and with limited_by
	LimitedBy      string  `json:"limited_by,omitempty"`     // "cgroup" in a container with a limit
	PressureLevel  string  `json:"pressure_level,omitempty"` // of the kernel of macOS: normal, warning or critical
}

// Swap is the use of swap space; a machine without any has total_bytes 0. Where
// it grows with the need, used_percent is not judged.
type Swap struct {
	TotalBytes  uint64  `json:"total_bytes"`     // all of it
	UsedBytes   uint64  `json:"used_bytes"`      // what is swapped out
	UsedPercent float64 `json:"used_percent"`    // of the total
	Grows       bool    `json:"grows,omitempty"` // macOS adds some when it needs it: full means nothing
}

// A Disk is one mounted local file system. A tmpfs is none, but where the root is one; those at /tmp, /var/tmp, /run,
// /run/lock and /dev/shm are a reason when they are full.
type Disk struct {
	Mountpoint        string   `json:"mountpoint"`                    // where it is mounted
	Device            string   `json:"device"`                        // that is mounted
	FileSystem        string   `json:"filesystem"`                    // type of the file system
	SizeBytes         uint64   `json:"size_bytes"`                    // all of it
	UsedBytes         uint64   `json:"used_bytes"`                    // by files and the file system itself
	AvailableBytes    uint64   `json:"available_bytes"`               // to ordinary users
	UsedPercent       float64  `json:"used_percent"`                  // as df(1): used of used plus available
	InodesUsedPercent *float64 `json:"inodes_used_percent,omitempty"` // absent where the number of files is not fixed
	ReadOnly          bool     `json:"read_only,omitempty"`           // mounted read-only; how full it is does not count then
}

// Pressure is the share of time, in percent over 10 and 60 seconds, in which
// some or all tasks waited for a resource.
type Pressure struct {
	SomeAvg10 *float64 `json:"some_avg10,omitempty"` // percent of 10 seconds in which some task waited
	SomeAvg60 *float64 `json:"some_avg60,omitempty"` // percent of 60 seconds in which some task waited
	FullAvg10 *float64 `json:"full_avg10,omitempty"` // percent of 10 seconds in which all tasks waited
	FullAvg60 *float64 `json:"full_avg60,omitempty"` // percent of 60 seconds in which all tasks waited
}

// A FailedUnit is a systemd unit in state failed.
type FailedUnit struct {
	Name        string `json:"name"`                  // of the unit: "nginx.service"
	Description string `json:"description,omitempty"` // as the unit has it
	Instances   int    `json:"instances,omitempty"`   // of its template that have failed, for which this one stands; absent where it stands for itself
}

// A Restarting is a service that keeps dying: it waits to be started again, or runs and was restarted
// three times or more, the last time within an hour.
type Restarting struct {
	Name     string `json:"name"`            // of the unit: "nginx.service"
	Restarts int    `json:"restarts"`        // by the service manager itself, since the last start by hand
	Since    string `json:"since,omitempty"` // RFC 3339: the first of these; absent when unknown
	Waits    bool   `json:"waits,omitempty"` // it has died, and waits to be started again
}

// An OOMEvent is a process that was killed for want of memory.
type OOMEvent struct {
	Process string `json:"process"`        // its name, which its user chose
	Unit    string `json:"unit,omitempty"` // of the service manager, after user@UID.service/ one that this user has named; absent where it was in none, or the kernel does not tell for certain
	User    string `json:"user,omitempty"` // who it ran as; absent when unknown
	Time    string `json:"time,omitempty"` // RFC 3339, UTC; absent where the machine was suspended since
	// At tells one from another: since boot, by the clock of the kernel's log.
	At time.Duration `json:"-"`
}

// A Report is the part of get_system_health that this package answers for.
type Report struct {
	AgentID       string   `json:"agent_id"`                                 // names this machine in a fleet
	AgentUUID     string   `json:"agent_uuid,omitempty"`                     // random id of this installation; absent until sentinel ran as root
	ThreatLevel   string   `json:"threat_level" enum:"LOW,WARNING,CRITICAL"` // the highest severity among the reasons; LOW without any
	ThreatReasons []Reason `json:"threat_reasons"`                           // why the level is above LOW
	CPULoad       string   `json:"cpu_load,omitempty"`                       // 1-minute load average, two decimals
	CPU           *CPU     `json:"cpu,omitempty" schema:"brief"`             // use of the processor
	// Temperature is in whole degrees Celsius.
	Temperature      string              `json:"temperature,omitempty"`
	Thermal          *Thermal            `json:"thermal,omitempty" schema:"brief"`               // absent where the system tells nothing of heat
	FirewallStatus   string              `json:"firewall_status" enum:"ACTIVE,DISABLED,UNKNOWN"` // UNKNOWN when it could not be read
	FirewallEvidence string              `json:"firewall_evidence"`                              // what the status rests on
	Memory           *Memory             `json:"memory,omitempty"`                               // of the machine, or of its container where that has a limit
	Swap             *Swap               `json:"swap,omitempty" schema:"brief"`                  // total_bytes is 0 without swap space
	Disks            []Disk              `json:"disks,omitzero" schema:"brief"`                  // absent when unknown
	DisksTotal       *int                `json:"disks_total,omitempty"`                          // before the list was cut
	Pressure         map[string]Pressure `json:"pressure,omitempty" schema:"brief"`              // by cpu, memory, io
	UptimeSeconds    *int64              `json:"uptime_seconds,omitempty"`                       // since boot
	FailedUnits      []FailedUnit        `json:"failed_units,omitzero" schema:"brief"`           // absent when unknown
	FailedUnitsTotal *int                `json:"failed_units_total,omitempty"`                   // absent where unknown
	RestartingUnits  []Restarting        `json:"restarting_units,omitempty" schema:"brief"`      // services that keep dying; absent for none, and when unknown
	// RestartingUnitsTotal counts them before the list was cut.
	RestartingUnitsTotal *int       `json:"restarting_units_total,omitempty"`
	OOMKills             *uint64    `json:"oom_kills,omitempty"`                 // since boot; in a container, of its own processes
	OOMKillsLastDay      *uint64    `json:"oom_kills_24h,omitempty"`             // of the last 24 hours
	OOMKilled            []string   `json:"oom_killed,omitempty" schema:"brief"` // names of those, newest first, five at most
	OOMEvents            []OOMEvent `json:"oom_events,omitempty" schema:"brief"` // the same with time, unit and user
	RebootRequired       *bool      `json:"reboot_required,omitempty"`           // updates that are installed wait for a reboot
	// Figures are further values by name; what could not be read is absent.
	Figures     Values      `json:"figures" schema:"brief"`
	Unavailable answer.Gaps `json:"unavailable" schema:"brief"` // what could not be read, and why

	// Processes counts those of the machine, which processes_total shows.
	Processes *int `json:"-"`

	// Behind names the processes behind the use of a resource: cpu, memory or io. It
	// is asked for reasons alone; nil is unknown.
	Behind func(resource string) string `json:"-"`

	readings map[string]Reading
	inMemory []Disk // file systems that are judged and not listed
}
