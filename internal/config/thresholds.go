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
	const percent, degrees, count = 100, 150, 1e6
	for _, l := range []struct {
		name string
		Level
		most float64 // a bound that no value can reach would switch the reason off in silence
	}{
		{"temperature", t.Temperature, degrees}, {"cpu", t.CPU, percent}, {"memory", t.Memory, percent}, {"swap", t.Swap, percent},
		{"disk", t.Disk, percent}, {"load_per_core", t.LoadPerCore, count}, {"pressure_cpu", t.PressureCPU, percent},
		{"pressure_memory", t.PressureMemory, percent}, {"pressure_io", t.PressureIO, percent},
		{"failed_units", t.FailedUnits, count}, {"oom_kills", t.OOMKills, count},
	} {
		if err := l.check(l.name, l.most); err != nil {
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

func (l Level) check(name string, most float64) error {
	for _, v := range []float64{l.Warning, l.Critical} {
		if math.IsNaN(v) || v <= 0 || v > most {
			return fmt.Errorf("thresholds.%s holds %v; a number above 0 and at most %.0f is allowed", name, v, most)
		}
	}
	if l.Warning > l.Critical {
		return fmt.Errorf("thresholds.%s: warning %v is above critical %v", name, l.Warning, l.Critical)
	}
	return nil
}
