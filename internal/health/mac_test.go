// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
)

// judged are the reasons that a report of these facts gives.
func judged(f Facts) (Report, []string) {
	var gaps answer.Gaps
	r := Build(f, Options{Rows: -1}, &gaps)
	r.Judge(DefaultThresholds())
	var reasons []string
	for _, reason := range r.ThreatReasons {
		reasons = append(reasons, reason.Code+" "+reason.Severity)
	}
	return r, reasons
}

func TestHeatWithoutASensorIsJudgedByWhatTheSystemDoes(t *testing.T) {
	for _, c := range []struct {
		facts ThermalFacts
		want  []string
	}{
		{ThermalFacts{Level: "Nominal"}, nil},
		{ThermalFacts{Level: "Moderate"}, nil},
		{ThermalFacts{Level: "Heavy"}, []string{"THERMAL_PRESSURE WARNING"}},
		{ThermalFacts{Level: "Trapping"}, []string{"THERMAL_PRESSURE CRITICAL"}},
		{ThermalFacts{Level: "Sleeping"}, []string{"THERMAL_PRESSURE CRITICAL"}},
		{ThermalFacts{SpeedLimit: 100}, nil},
		{ThermalFacts{SpeedLimit: 72}, []string{"THERMAL_PRESSURE WARNING"}},
		{ThermalFacts{SchedulerLimit: 90}, []string{"THERMAL_PRESSURE WARNING"}},
		{ThermalFacts{WarningLevel: new(0), PerformanceLevel: new(0), SchedulerLimit: 100}, nil},
		{ThermalFacts{WarningLevel: new(1)}, []string{"THERMAL_PRESSURE WARNING"}}, // a model may have levels of its own
		{ThermalFacts{WarningLevel: new(5)}, []string{"THERMAL_PRESSURE WARNING"}},
		{ThermalFacts{WarningLevel: new(10)}, []string{"THERMAL_PRESSURE CRITICAL"}},
		{ThermalFacts{WarningLevel: new(100)}, []string{"THERMAL_PRESSURE WARNING"}},
		{ThermalFacts{WarningLevel: new(110)}, []string{"THERMAL_PRESSURE CRITICAL"}},
		{ThermalFacts{PerformanceLevel: new(100)}, []string{"THERMAL_PRESSURE WARNING"}},
		{ThermalFacts{Level: "Heavy", WarningLevel: new(10), SpeedLimit: 50}, []string{"THERMAL_PRESSURE CRITICAL"}}, // one reason, the worst
	} {
		r, got := judged(Facts{Thermal: &c.facts})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v: %s", c.facts, diff)
		}
		if r.Thermal.Celsius != nil || r.Temperature != "" || r.Thermal.PressureLevel != c.facts.Level {
			t.Errorf("%+v is told as %+v, %q", c.facts, r.Thermal, r.Temperature)
		}
	}
	if r, _ := judged(Facts{Thermal: &ThermalFacts{}}); r.Thermal != nil {
		t.Errorf("nothing told is %+v", r.Thermal)
	}
	r, _ := judged(Facts{Thermal: &ThermalFacts{Level: "Nominal"}, Sensors: &[]Sensor{{Chip: "CPU die", Label: "PMU tdie1", Celsius: 48.25}}})
	if *r.Thermal.Celsius != 48.3 || r.Thermal.Sensor != "CPU die PMU tdie1" || r.Thermal.PressureLevel != "Nominal" || r.Temperature != "48" {
		t.Errorf("%+v %q", r.Thermal, r.Temperature)
	}
}

// Where nothing is told of heat the whole member is missing, and its part otherwise.
func TestHeatThatIsNotToldIsListedAsMissing(t *testing.T) {
	untold := errors.New("not told")
	sources := Sources{Thermal: func(context.Context) (ThermalFacts, error) { return ThermalFacts{}, untold }}
	sensor := func(context.Context) ([]Sensor, error) { return []Sensor{{Chip: "CPU die", Celsius: 48}}, nil }
	speed := func(context.Context) (ThermalFacts, error) { return ThermalFacts{SpeedLimit: 100, Err: untold}, nil }
	for want, s := range map[string]Sources{
		"thermal": sources, "thermal.pressure_level": {Thermal: sources.Thermal, Sensors: sensor}, "thermal.pressure_level ": {Thermal: speed, Sensors: sensor},
	} {
		var gaps answer.Gaps
		Build(Collect(t.Context(), s, &gaps), Options{}, &gaps)
		if diff := cmp.Diff(answer.Gaps{{Field: strings.TrimSpace(want), Reason: "not told"}}, gaps); diff != "" {
			t.Error(diff)
		}
	}
}

func TestMemoryIsJudgedByTheLevelOfTheKernel(t *testing.T) {
	for level, want := range map[string][]string{
		"": nil, PressureNormal: nil, PressureWarning: {"MEMORY_PRESSURE WARNING"}, PressureCritical: {"MEMORY_PRESSURE CRITICAL"},
	} {
		r, got := judged(Facts{Memory: &MemoryFacts{Total: 100, Available: 50, Pressure: level}})
		if diff := cmp.Diff(want, got); diff != "" || r.Memory.PressureLevel != level {
			t.Errorf("%q: %s %+v", level, diff, r.Memory)
		}
	}
}

func TestSwapThatGrowsIsNotJudgedByItsShare(t *testing.T) {
	memory := MemoryFacts{Total: 100, Available: 50, SwapTotal: 100, SwapFree: 1}
	if _, got := judged(Facts{Memory: &memory}); len(got) != 1 {
		t.Errorf("full swap: %v", got)
	}
	memory.SwapGrows = true
	if r, got := judged(Facts{Memory: &memory}); len(got) != 0 || !r.Swap.Grows || r.Swap.UsedPercent != 99 {
		t.Errorf("%v %+v", got, r.Swap)
	}
}

func TestAShareOfTheProcessorTakesThePlaceOfTimes(t *testing.T) {
	gaps := answer.Gaps{}
	r := Report{CPU: &CPU{}}
	r.UseCPU(CPUSample{}, CPUSample{Share: &CPUShare{Percent: 12.27, Cores: 10, Window: time.Second}}, 512, &gaps)
	if *r.CPU.Percent != 12.3 || r.CPU.Cores != 10 || r.CPU.WindowMS != 1000 || r.CPU.PerCore != nil || len(gaps) != 0 {
		t.Errorf("%+v, %v", r.CPU, gaps)
	}
}

func TestAFactThatTheSystemDoesNotHaveIsNoGap(t *testing.T) {
	gaps := answer.Gaps{}
	f := Collect(t.Context(), Sources{}, &gaps)
	if diff := cmp.Diff(Facts{Figures: map[string]Reading{}}, f); diff != "" || len(gaps) != 0 {
		t.Error(diff, gaps)
	}
}
