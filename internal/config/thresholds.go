// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"math"
)

// A Level is a pair of bounds: a value at or above Warning, or at or above
// Critical, is a reason of that severity.
type Level struct {
	Warning  float64 `yaml:"warning"`
	Critical float64 `yaml:"critical"`
}

// Thresholds are the bounds behind threat_level.
type Thresholds struct {
	Temperature    Level `yaml:"temperature"`     // degrees Celsius of the CPU sensor
	CPU            Level `yaml:"cpu"`             // percent of all cores, over the sampling window
	Memory         Level `yaml:"memory"`          // percent not available
	Swap           Level `yaml:"swap"`            // percent used
	Disk           Level `yaml:"disk"`            // percent used of the fullest writable file system, bytes or inodes
	LoadPerCore    Level `yaml:"load_per_core"`   // 5-minute load average divided by cores
	PressureCPU    Level `yaml:"pressure_cpu"`    // PSI cpu some avg60, percent
	PressureMemory Level `yaml:"pressure_memory"` // PSI memory full avg60, percent
	PressureIO     Level `yaml:"pressure_io"`     // PSI io full avg60, percent
	FailedUnits    Level `yaml:"failed_units"`    // systemd units in state failed
	OOMKills       Level `yaml:"oom_kills"`       // processes killed for want of memory since boot
	// FirewallDisabled is the severity of a firewall that is known to be off:
	// none, warning or critical.
	FirewallDisabled string `yaml:"firewall_disabled"`
}

func defaultThresholds() Thresholds {
	return Thresholds{
		Temperature:      Level{75, 88},
		CPU:              Level{90, 98},
		Memory:           Level{85, 95},
		Swap:             Level{60, 90},
		Disk:             Level{85, 95},
		LoadPerCore:      Level{1.5, 4},
		PressureCPU:      Level{40, 80},
		PressureMemory:   Level{10, 30},
		PressureIO:       Level{20, 50},
		FailedUnits:      Level{1, 10},
		OOMKills:         Level{1, 10},
		FirewallDisabled: "warning",
	}
}

func (t Thresholds) check() error {
	for _, l := range []struct {
		name string
		Level
	}{
		{"temperature", t.Temperature}, {"cpu", t.CPU}, {"memory", t.Memory}, {"swap", t.Swap},
		{"disk", t.Disk}, {"load_per_core", t.LoadPerCore}, {"pressure_cpu", t.PressureCPU},
		{"pressure_memory", t.PressureMemory}, {"pressure_io", t.PressureIO},
		{"failed_units", t.FailedUnits}, {"oom_kills", t.OOMKills},
	} {
		if err := l.check(l.name); err != nil {
			return err
		}
	}
	switch t.FirewallDisabled {
	case "none", "warning", "critical":
		return nil
	default:
		return fmt.Errorf("thresholds.firewall_disabled is %q; none, warning or critical are allowed", t.FirewallDisabled)
	}
}

func (l Level) check(name string) error {
	for _, v := range []float64{l.Warning, l.Critical} {
		if math.IsNaN(v) || v <= 0 || v > 1e6 {
			return fmt.Errorf("thresholds.%s holds %v; a number above 0 and at most 1000000 is allowed", name, v)
		}
	}
	if l.Warning > l.Critical {
		return fmt.Errorf("thresholds.%s: warning %v is above critical %v", name, l.Warning, l.Critical)
	}
	return nil
}
