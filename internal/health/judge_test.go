// SPDX-License-Identifier: Apache-2.0

package health

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"sentinel/internal/config"
)

// conditions say for each threshold which reason it makes and how a report
// comes to have a value.
var conditions = map[string]struct {
	code string
	set  func(r *Report, value float64)
}{
	"Temperature":    {"TEMPERATURE_HIGH", func(r *Report, v float64) { r.Thermal = &Thermal{Celsius: &v} }},
	"CPU":            {"CPU_HIGH", func(r *Report, v float64) { r.CPU.Percent = &v }},
	"Memory":         {"MEMORY_LOW", func(r *Report, v float64) { r.Memory = &Memory{UsedPercent: v} }},
	"Swap":           {"SWAP_HIGH", func(r *Report, v float64) { r.Swap = &Swap{UsedPercent: v} }},
	"Disk":           {"DISK_FULL", func(r *Report, v float64) { r.Disks = []Disk{{Mountpoint: "/srv", UsedPercent: v}} }},
	"LoadPerCore":    {"LOAD_HIGH", func(r *Report, v float64) { load := 4 * v; r.CPU.Load5, r.CPU.Cores = &load, 4 }},
	"PressureCPU":    {"CPU_PRESSURE", func(r *Report, v float64) { r.Pressure = map[string]Pressure{"cpu": {SomeAvg60: &v}} }},
	"PressureMemory": {"MEMORY_PRESSURE", func(r *Report, v float64) { r.Pressure = map[string]Pressure{"memory": {FullAvg60: &v}} }},
	"PressureIO":     {"IO_PRESSURE", func(r *Report, v float64) { r.Pressure = map[string]Pressure{"io": {FullAvg60: &v}} }},
	"FailedUnits":    {"FAILED_UNITS", func(r *Report, v float64) { n := int(v); r.FailedUnitsTotal = &n }},
	"OOMKills":       {"OOM_KILLS", func(r *Report, v float64) { n := uint64(v); r.OOMKills = &n }},
}

// A threshold of the configuration that judges nothing would be a promise
// broken: each field is tried.
func TestEveryThresholdJudges(t *testing.T) {
	defaults := config.Default().Thresholds
	fields := reflect.ValueOf(defaults)
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		level, isLevel := reflect.TypeAssert[config.Level](fields.Field(i))
		if !isLevel {
			if name != "FirewallDisabled" {
				t.Errorf("nothing tests %s", name)
			}
			continue
		}
		c, ok := conditions[name]
		if !ok {
			t.Errorf("nothing tests %s", name)
			continue
		}
		step := 0.01
		if name == "FailedUnits" || name == "OOMKills" {
			step = 1
		}
		for value, severity := range map[float64]string{
			level.Warning - step: "", level.Warning: Warning, level.Warning + step: Warning, level.Critical - step: Warning,
			level.Critical: Critical, level.Critical + step: Critical,
		} {
			judge(t, name, c.code, defaults, level, value, severity, c.set)
		}
	}
}

func judge(t *testing.T, name, code string, all config.Thresholds, level config.Level, value float64, severity string, set func(*Report, float64)) {
	t.Helper()
	r := Report{CPU: &CPU{}}
	set(&r, value)
	r.Judge(all)
	if severity == "" {
		if len(r.ThreatReasons) != 0 || r.ThreatLevel != Low || r.ThreatReasons == nil {
			t.Errorf("%s at %v: %+v, %s", name, value, r.ThreatReasons, r.ThreatLevel)
		}
		return
	}
	threshold := level.Warning
	if severity == Critical {
		threshold = level.Critical
	}
	if len(r.ThreatReasons) != 1 || r.ThreatLevel != severity {
		t.Fatalf("%s at %v: %+v, %s", name, value, r.ThreatReasons, r.ThreatLevel)
	}
	got := r.ThreatReasons[0]
	if got.Code != code || got.Severity != severity || math.Abs(*got.Value-value) > 1e-9 || *got.Threshold != threshold || !strings.HasSuffix(got.Message, ".") {
		t.Errorf("%s at %v: %s %s, value %v, threshold %v, %q", name, value, got.Code, got.Severity, *got.Value, *got.Threshold, got.Message)
	}
}

func TestThresholdsOfTheConfigurationAreTheOnesUsed(t *testing.T) {
	for name, c := range conditions {
		var changed config.Thresholds
		all := reflect.ValueOf(&changed).Elem()
		for _, field := range all.Fields() {
			if field.Kind() == reflect.Struct {
				field.Set(reflect.ValueOf(config.Level{Warning: 1e6, Critical: 1e6}))
			}
		}
		level := config.Level{Warning: 2, Critical: 3}
		all.FieldByName(name).Set(reflect.ValueOf(level))
		for value, severity := range map[float64]string{1: "", 2: Warning, 3: Critical} {
			judge(t, name, c.code, changed, level, value, severity, c.set)
		}
	}
}

func TestWhatIsNotKnownIsNoReason(t *testing.T) {
	r := Report{CPU: &CPU{}, FirewallStatus: "UNKNOWN"}
	r.Judge(config.Default().Thresholds)
	if r.ThreatLevel != Low || len(r.ThreatReasons) != 0 {
		t.Errorf("%s, %+v", r.ThreatLevel, r.ThreatReasons)
	}
	busy := 3.0
	r = Report{CPU: &CPU{Load5: &busy, Cores: 1}}
	r.Judge(config.Default().Thresholds)
	if len(r.ThreatReasons) != 1 {
		t.Errorf("three tasks for one core: %+v", r.ThreatReasons)
	}
	load := 100.0
	r = Report{CPU: &CPU{Load5: &load}}
	r.Judge(config.Default().Thresholds)
	if len(r.ThreatReasons) != 0 {
		t.Errorf("a load without a number of cores: %+v", r.ThreatReasons)
	}
}

func TestFirewallThatIsOffIsAReasonAsConfigured(t *testing.T) {
	for severity, want := range map[string]string{"none": Low, "warning": Warning, "critical": Critical} {
		for status, off := range map[string]bool{"DISABLED": true, "ACTIVE": false, "UNKNOWN": false} {
			r := Report{CPU: &CPU{}, FirewallStatus: status}
			r.Judge(config.Thresholds{FirewallDisabled: severity})
			reason := off && severity != "none"
			if (len(r.ThreatReasons) == 1) != reason || reason && (r.ThreatReasons[0].Code != "FIREWALL_DISABLED" || r.ThreatLevel != want) || !reason && r.ThreatLevel != Low {
				t.Errorf("%s and %s: %s, %+v", severity, status, r.ThreatLevel, r.ThreatReasons)
			}
		}
	}
}

func TestWorstReasonIsTheLevel(t *testing.T) {
	hot, busy := 90.0, 91.0
	r := Report{CPU: &CPU{Percent: &busy}, Thermal: &Thermal{Celsius: &hot}, FirewallStatus: "DISABLED"}
	r.Judge(config.Default().Thresholds)
	if r.ThreatLevel != Critical || len(r.ThreatReasons) != 3 {
		t.Errorf("%s, %+v", r.ThreatLevel, r.ThreatReasons)
	}
	r.Judge(config.Default().Thresholds)
	if len(r.ThreatReasons) != 3 {
		t.Errorf("judged twice: %d reasons", len(r.ThreatReasons))
	}
}
