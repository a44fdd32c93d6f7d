// SPDX-License-Identifier: Apache-2.0

package health

import (
	"math"
	"strings"
	"testing"
)

// conditions say for each threshold which reason it makes and how a report
// comes to have a value.
var conditions = map[string]struct {
	code string
	set  func(r *Report, value float64)
}{
	"temperature":      {"TEMPERATURE_HIGH", func(r *Report, v float64) { r.Thermal = &Thermal{Celsius: &v} }},
	"cpu":              {"CPU_HIGH", func(r *Report, v float64) { r.CPU.Percent = &v }},
	"cpu_stolen":       {"CPU_STOLEN", func(r *Report, v float64) { r.CPU.Stolen = &v }},
	"memory":           {"MEMORY_LOW", func(r *Report, v float64) { r.Memory = &Memory{UsedPercent: v} }},
	"swap":             {"SWAP_HIGH", func(r *Report, v float64) { r.Swap = &Swap{UsedPercent: v} }},
	"disk":             {"DISK_FULL", func(r *Report, v float64) { r.Disks = []Disk{{Mountpoint: "/srv", UsedPercent: v}} }},
	"load_per_core":    {"LOAD_HIGH", func(r *Report, v float64) { load := 4 * v; r.CPU.Load5, r.CPU.Cores = &load, 4 }},
	"pressure_cpu":     {"CPU_PRESSURE", func(r *Report, v float64) { r.Pressure = map[string]Pressure{"cpu": {SomeAvg60: &v}} }},
	"pressure_memory":  {"MEMORY_PRESSURE", func(r *Report, v float64) { r.Pressure = map[string]Pressure{"memory": {FullAvg60: &v}} }},
	"pressure_io":      {"IO_PRESSURE", func(r *Report, v float64) { r.Pressure = map[string]Pressure{"io": {FullAvg60: &v}} }},
	"failed_units":     {"FAILED_UNITS", func(r *Report, v float64) { n := int(v); r.FailedUnitsTotal = &n }},
	"restarting_units": {"RESTARTING_UNITS", func(r *Report, v float64) { n := int(v); r.RestartingUnitsTotal = &n }},
	"oom_kills":        {"OOM_KILLS", func(r *Report, v float64) { n := uint64(v); r.OOMKillsLastDay = &n }},

	ClockOffset:     {"CLOCK_OFFSET", reads(ClockOffset)},
	ClockBehind:     {"CLOCK_BEHIND", reads(ClockBehind)},
	ZombieProcesses: {"ZOMBIE_PROCESSES", reads(ZombieProcesses)},
	FailedLogins:    {"LOGIN_GUESSING", reads(FailedLogins)},
}

// reads returns what makes the reading of a figure the value.
func reads(key string) func(*Report, float64) {
	return func(r *Report, v float64) { r.readings = map[string]Reading{key: {Value: v}} }
}

// A threshold of the configuration that judges nothing would be a promise
// broken: each is tried.
func TestEveryThresholdJudges(t *testing.T) {
	for _, f := range Configurable() {
		c, ok := conditions[f.Key]
		if level := (f.Default.Level != Level{}); level != ok || level == (f.Default.Severity != "") {
			t.Errorf("%s has a level: %v, a severity: %q, a test: %v", f.Key, level, f.Default.Severity, ok)
		}
		if !ok {
			continue
		}
		step, level := 0.01, f.Default.Level
		if f.Max == maxCount && f.Key != "load_per_core" {
			step = 1
		}
		for value, severity := range map[float64]string{
			level.Warning - step: "", level.Warning: Warning, level.Warning + step: Warning, level.Critical - step: Warning,
			level.Critical: Critical, level.Critical + step: Critical,
		} {
			judge(t, f.Key, c.code, DefaultThresholds(), level, value, severity, c.set)
		}
	}
}

func judge(t *testing.T, name, code string, all Thresholds, level Level, value float64, severity string, set func(*Report, float64)) {
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
	for key, c := range conditions {
		changed := Thresholds{}
		for _, f := range Configurable() {
			changed[f.Key] = Threshold{Level: Level{1e6, 1e6}}
		}
		level := Level{2, 3}
		changed[key] = Threshold{Level: level}
		for value, severity := range map[float64]string{1: "", 2: Warning, 3: Critical} {
			judge(t, key, c.code, changed, level, value, severity, c.set)
		}
	}
}

func TestWhatIsNotKnownIsNoReason(t *testing.T) {
	r := Report{CPU: &CPU{}, FirewallStatus: "UNKNOWN"}
	r.Judge(DefaultThresholds())
	if r.ThreatLevel != Low || len(r.ThreatReasons) != 0 {
		t.Errorf("%s, %+v", r.ThreatLevel, r.ThreatReasons)
	}
	busy := 3.0
	r = Report{CPU: &CPU{Load5: &busy, Cores: 1}}
	r.Judge(DefaultThresholds())
	if len(r.ThreatReasons) != 1 {
		t.Errorf("three tasks for one core: %+v", r.ThreatReasons)
	}
	load := 100.0
	r = Report{CPU: &CPU{Load5: &load}}
	r.Judge(DefaultThresholds())
	if len(r.ThreatReasons) != 0 {
		t.Errorf("a load without a number of cores: %+v", r.ThreatReasons)
	}
}

func TestFirewallThatIsOffIsAReasonAsConfigured(t *testing.T) {
	for severity, want := range map[string]string{"none": Low, "warning": Warning, "critical": Critical} {
		for status, off := range map[string]bool{"DISABLED": true, "ACTIVE": false, "UNKNOWN": false} {
			r := Report{CPU: &CPU{}, FirewallStatus: status}
			r.Judge(Thresholds{"firewall_disabled": {Severity: severity}})
			reason := off && severity != "none"
			if (len(r.ThreatReasons) == 1) != reason || reason && (r.ThreatReasons[0].Code != "FIREWALL_DISABLED" || r.ThreatLevel != want) || !reason && r.ThreatLevel != Low {
				t.Errorf("%s and %s: %s, %+v", severity, status, r.ThreatLevel, r.ThreatReasons)
			}
		}
	}
}

func TestWhatIsOnlyOnOrOffIsAReasonAsConfigured(t *testing.T) {
	for key, code := range map[string]string{ReadOnlyFileSystems: "FILESYSTEM_READ_ONLY", ClockUnsynchronized: "CLOCK_UNSYNCHRONIZED"} {
		for severity, want := range map[string]string{"none": Low, "warning": Warning, "critical": Critical} {
			for value := range 3 {
				r := Report{}
				reads(key)(&r, float64(value))
				r.Judge(Thresholds{key: {Severity: severity}})
				if reason := value > 0 && severity != "none"; reason != (len(r.ThreatReasons) == 1) || reason && (r.ThreatReasons[0].Code != code || r.ThreatLevel != want) {
					t.Errorf("%s is %d, %s: %s, %+v", key, value, severity, r.ThreatLevel, r.ThreatReasons)
				}
			}
		}
	}
}

func TestAReasonNamesWhatItCounted(t *testing.T) {
	r := Report{readings: map[string]Reading{ReadOnlyFileSystems: {Value: 7, Names: []string{"/", "/srv\x1b[2J", "/a", "/b", "/c", "/d", "/e"}}}}
	r.Judge(DefaultThresholds())
	const want = "File systems that became read-only: /, /srv�[2J, /a, /b, /c, and 2 more."
	if len(r.ThreatReasons) != 1 || r.ThreatReasons[0].Message != want {
		t.Errorf("%+v, want %s", r.ThreatReasons, want)
	}
}

func TestWorstReasonIsTheLevel(t *testing.T) {
	hot, busy := 90.0, 91.0
	r := Report{CPU: &CPU{Percent: &busy}, Thermal: &Thermal{Celsius: &hot}, FirewallStatus: "DISABLED"}
	r.Judge(DefaultThresholds())
	if r.ThreatLevel != Critical || len(r.ThreatReasons) != 3 {
		t.Errorf("%s, %+v", r.ThreatLevel, r.ThreatReasons)
	}
	r.Judge(DefaultThresholds())
	if len(r.ThreatReasons) != 3 {
		t.Errorf("judged twice: %d reasons", len(r.ThreatReasons))
	}
}
