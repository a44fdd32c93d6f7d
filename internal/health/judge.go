// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"math"
	"strings"
	"time"

	"sentinel/internal/config"
)

// ticks converts a duration to ticks.
func ticks(d, tick time.Duration) float64 {
	if tick <= 0 {
		return 0
	}
	return float64(d) / float64(tick)
}

// Judge sets the threat level and its reasons. A value that is unknown is no
// reason.
func (r *Report) Judge(t config.Thresholds) {
	r.ThreatReasons = []Reason{}
	r.judgeCPU(t)
	r.judgeMemory(t)
	r.judgePressure(t)
	for _, d := range r.Disks {
		r.reach("DISK_FULL", t.Disk, d.fullness(),
			fmt.Sprintf("The file system at %s is %.0f %% full.", d.Mountpoint, d.fullness()))
	}
	if r.FailedUnitsTotal != nil {
		r.reach("FAILED_UNITS", t.FailedUnits, float64(*r.FailedUnitsTotal), fmt.Sprintf("Failed units: %d.", *r.FailedUnitsTotal))
	}
	if r.OOMKills != nil {
		r.reach("OOM_KILLS", t.OOMKills, float64(*r.OOMKills), fmt.Sprintf("Processes killed for want of memory since boot: %d.", *r.OOMKills))
	}
	r.judgeFirewall(t.FirewallDisabled)
	r.ThreatLevel = Low
	for _, reason := range r.ThreatReasons {
		if r.ThreatLevel == Low || reason.Severity == Critical {
			r.ThreatLevel = reason.Severity
		}
	}
}

func (r *Report) judgeCPU(t config.Thresholds) {
	if r.Thermal != nil {
		r.judgeHeat(t)
	}
	if r.CPU.Percent != nil {
		level := t.CPU
		if r.briefly(t) {
			level.Critical = math.Inf(1)
		}
		r.reach("CPU_HIGH", level, *r.CPU.Percent, fmt.Sprintf("The processor is %.0f %% busy.", *r.CPU.Percent))
	}
	if r.CPU.Load5 != nil && r.CPU.Cores > 0 {
		perCore := round(*r.CPU.Load5/float64(r.CPU.Cores), 2)
		r.reach("LOAD_HIGH", t.LoadPerCore, perCore, fmt.Sprintf("The 5-minute load average is %.2f for each core.", perCore))
	}
}

// thermalSeverity goes by the names of OSThermalNotificationLevel in
// <libkern/OSThermalNotification.h>. Moderate is what a laptop without a fan does under work.
func thermalSeverity(level string) string {
	switch level {
	case "Heavy":
		return Warning
	case "Trapping", "Sleeping":
		return Critical
	default:
		return ""
	}
}

// judgeHeat looks at the temperature and at what the system does because of it,
// which is all that tells of heat where there is no sensor to read.
func (r *Report) judgeHeat(t config.Thresholds) {
	if c := r.Thermal.Celsius; c != nil {
		r.reach("TEMPERATURE_HIGH", t.Temperature, *c, fmt.Sprintf("The processor is at %.0f °C.", *c))
	}
	if severity := thermalSeverity(r.Thermal.PressureLevel); severity != "" {
		r.ThreatReasons = append(r.ThreatReasons, Reason{
			Code: "THERMAL_PRESSURE", Severity: severity,
			Message: fmt.Sprintf("The system is slowed down by heat: its thermal pressure is %s.", strings.ToLower(r.Thermal.PressureLevel)),
		})
	} else if limit := r.Thermal.SpeedLimit; limit > 0 && limit < 100 {
		r.ThreatReasons = append(r.ThreatReasons, Reason{
			Code: "THERMAL_PRESSURE", Severity: Warning,
			Message: fmt.Sprintf("The processor is held to %d %% of its speed because of heat.", limit),
		})
	}
}

// briefly says that neither the load of the last minute nor the time that tasks
// waited bears out a busy processor: half a second of work is nothing critical.
func (r *Report) briefly(t config.Thresholds) bool {
	waited := r.Pressure["cpu"].SomeAvg60
	loadKnown := r.CPU.Load1 != nil && r.CPU.Cores > 0
	switch {
	case waited == nil && !loadKnown:
		return false
	case waited != nil && *waited >= t.PressureCPU.Warning:
		return false
	default:
		return !loadKnown || *r.CPU.Load1/float64(r.CPU.Cores) < t.LoadPerCore.Warning
	}
}

func (r *Report) judgeMemory(t config.Thresholds) {
	if r.Memory != nil {
		r.reach("MEMORY_LOW", t.Memory, r.Memory.UsedPercent, fmt.Sprintf("Memory is %.0f %% used.", r.Memory.UsedPercent))
	}
	if r.Memory != nil {
		r.judgeMemoryLevel(r.Memory.PressureLevel)
	}
	if r.Swap != nil && !r.Swap.Grows {
		r.reach("SWAP_HIGH", t.Swap, r.Swap.UsedPercent, fmt.Sprintf("Swap space is %.0f %% used.", r.Swap.UsedPercent))
	}
}

// judgeMemoryLevel judges the kernel's own word for a lack of memory.
func (r *Report) judgeMemoryLevel(level string) {
	severity := map[string]string{PressureWarning: Warning, PressureCritical: Critical}[level]
	if severity != "" {
		r.ThreatReasons = append(r.ThreatReasons, Reason{
			Code: "MEMORY_PRESSURE", Severity: severity, Message: fmt.Sprintf("The kernel is short of memory: its level is %s.", level),
		})
	}
}

// judgePressure looks at the minute. For the processor some waiting counts; for
// memory and disks only when everything waits.
func (r *Report) judgePressure(t config.Thresholds) {
	if p := r.Pressure["cpu"].SomeAvg60; p != nil {
		r.reach("CPU_PRESSURE", t.PressureCPU, *p, fmt.Sprintf("Tasks waited for the processor %.0f %% of the last minute.", *p))
	}
	if p := r.Pressure["memory"].FullAvg60; p != nil {
		r.reach("MEMORY_PRESSURE", t.PressureMemory, *p, fmt.Sprintf("All tasks waited for memory %.0f %% of the last minute.", *p))
	}
	if p := r.Pressure["io"].FullAvg60; p != nil {
		r.reach("IO_PRESSURE", t.PressureIO, *p, fmt.Sprintf("All tasks waited for disks %.0f %% of the last minute.", *p))
	}
}

// judgeFirewall knows only on and off; an unknown firewall is no reason.
func (r *Report) judgeFirewall(severity string) {
	if r.FirewallStatus == "DISABLED" && severity != "none" {
		r.ThreatReasons = append(r.ThreatReasons, Reason{
			Code: "FIREWALL_DISABLED", Severity: strings.ToUpper(severity), Message: "The firewall is off.",
		})
	}
}

// reach adds a reason when value is at a bound of level or above.
func (r *Report) reach(code string, level config.Level, value float64, message string) {
	reason := Reason{Code: code, Severity: Warning, Message: message, Value: &value, Threshold: &level.Warning}
	switch {
	case value >= level.Critical:
		reason.Severity, reason.Threshold = Critical, &level.Critical
	case value < level.Warning:
		return
	}
	r.ThreatReasons = append(r.ThreatReasons, reason)
}
