// SPDX-License-Identifier: Apache-2.0

package health

import (
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
	Code     string `json:"code"`
	Severity string `json:"severity"` // WARNING or CRITICAL
	Message  string `json:"message"`
	// Value, in the unit the message names, and the bound that it reached; absent
	// for what is only on or off.
	Value     *float64 `json:"value,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"`
}

// CPU is the use of the processor.
type CPU struct {
	Percent   *float64  `json:"percent,omitempty"` // of all cores, over the window, without sentinel itself
	PerCore   []float64 `json:"per_core,omitempty"`
	Cores     int       `json:"cores,omitempty"` // online
	Load1     *float64  `json:"load_1,omitempty"`
	Load5     *float64  `json:"load_5,omitempty"`
	Load15    *float64  `json:"load_15,omitempty"`
	Limit     float64   `json:"limit_cores,omitempty"` // of the container
	WindowMS  int64     `json:"window_ms,omitempty"`
	Truncated bool      `json:"per_core_truncated,omitempty"`
}

// Thermal is the temperature that the verdict rests on, and what the system
// does because of heat; each is absent where it is not told.
type Thermal struct {
	Sensor        string   `json:"sensor,omitempty"`
	Celsius       *float64 `json:"celsius,omitempty"`
	PressureLevel string   `json:"pressure_level,omitempty"`      // of macOS: Nominal, Moderate, Heavy, Trapping or Sleeping
	SpeedLimit    int      `json:"speed_limit_percent,omitempty"` // of the processor's speed
}

// Memory is the use of memory. In a container with a limit it is that of the
// container.
type Memory struct {
	TotalBytes     uint64  `json:"total_bytes"`
	UsedBytes      uint64  `json:"used_bytes"`
	AvailableBytes uint64  `json:"available_bytes"`
	UsedPercent    float64 `json:"used_percent"`
	LimitedBy      string  `json:"limited_by,omitempty"`     // "cgroup" in a container with a limit
	PressureLevel  string  `json:"pressure_level,omitempty"` // of the kernel of macOS: normal, warning or critical
}

// Swap is the use of swap space; a machine without any has total_bytes 0. Where
// it grows with the need, used_percent is not judged.
type Swap struct {
	TotalBytes  uint64  `json:"total_bytes"`
	UsedBytes   uint64  `json:"used_bytes"`
	UsedPercent float64 `json:"used_percent"`
	Grows       bool    `json:"grows,omitempty"` // macOS adds some when it needs it: full means nothing
}

// A Disk is one mounted local file system.
type Disk struct {
	Mountpoint        string   `json:"mountpoint"`
	Device            string   `json:"device"`
	FileSystem        string   `json:"filesystem"`
	SizeBytes         uint64   `json:"size_bytes"`
	UsedBytes         uint64   `json:"used_bytes"`
	AvailableBytes    uint64   `json:"available_bytes"` // to ordinary users
	UsedPercent       float64  `json:"used_percent"`    // as df(1): used of used plus available
	InodesUsedPercent *float64 `json:"inodes_used_percent,omitempty"`
	ReadOnly          bool     `json:"read_only,omitempty"`
}

// Pressure is the share of time, in percent over 10 and 60 seconds, in which
// some or all tasks waited for a resource.
type Pressure struct {
	SomeAvg10 *float64 `json:"some_avg10,omitempty"`
	SomeAvg60 *float64 `json:"some_avg60,omitempty"`
	FullAvg10 *float64 `json:"full_avg10,omitempty"`
	FullAvg60 *float64 `json:"full_avg60,omitempty"`
}

// A FailedUnit is a systemd unit in state failed.
type FailedUnit struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// A Report is the part of get_system_health that this package answers for.
type Report struct {
	AgentID       string   `json:"agent_id"`
	AgentUUID     string   `json:"agent_uuid,omitempty"`
	ThreatLevel   string   `json:"threat_level" enum:"LOW,WARNING,CRITICAL"`
	ThreatReasons []Reason `json:"threat_reasons"`
	CPULoad       string   `json:"cpu_load,omitempty"` // 1-minute load average, two decimals
	CPU           *CPU     `json:"cpu,omitempty"`
	// Temperature is in whole degrees Celsius.
	Temperature      string              `json:"temperature,omitempty"`
	Thermal          *Thermal            `json:"thermal,omitempty"`
	FirewallStatus   string              `json:"firewall_status" enum:"ACTIVE,DISABLED,UNKNOWN"`
	FirewallEvidence string              `json:"firewall_evidence"`
	Memory           *Memory             `json:"memory,omitempty"`
	Swap             *Swap               `json:"swap,omitempty" schema:"brief"`
	Disks            []Disk              `json:"disks,omitzero" schema:"brief"` // absent when unknown
	DisksTotal       *int                `json:"disks_total,omitempty"`
	Pressure         map[string]Pressure `json:"pressure,omitempty" schema:"brief"` // by cpu, memory, io
	UptimeSeconds    *int64              `json:"uptime_seconds,omitempty"`
	FailedUnits      []FailedUnit        `json:"failed_units,omitzero" schema:"brief"` // absent when unknown
	FailedUnitsTotal *int                `json:"failed_units_total,omitempty"`         // absent where unknown
	OOMKills         *uint64             `json:"oom_kills,omitempty"`                  // since boot
	RebootRequired   *bool               `json:"reboot_required,omitempty"`
	Unavailable      answer.Gaps         `json:"unavailable" schema:"brief"`
}
