// SPDX-License-Identifier: Apache-2.0

package thermal

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/health"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

const own = "/usr/local/bin/sentinel"

func reader(runner sysexec.Runner, root, silicon bool) Reader {
	return Reader{Runner: runner, Executable: own, Root: root, AppleSilicon: func(context.Context) bool { return silicon }}
}

func TestSensors(t *testing.T) {
	for _, c := range []struct {
		name          string
		files         []string
		root, silicon bool
		want          []health.Sensor
		err           string
	}{
		{"die of Apple silicon", []string{"child"}, false, true, []health.Sensor{{Chip: "CPU die", Label: "PMU tdie1", Celsius: 48.25}, {Chip: "CPU die", Label: "PMU tdie2", Celsius: 51.5}}, ""},
		{"Intel without the key of the die", []string{"child_intel"}, true, false, []health.Sensor{{Chip: "CPU", Label: "TC0P", Celsius: 58.125}}, ""},
		{"Intel as root without sensors", []string{"child_none", "smc"}, true, false, []health.Sensor{{Chip: "CPU die", Celsius: 76.93}}, ""},
		{"Intel as root after a crash", []string{"child_crash", "smc"}, true, false, []health.Sensor{{Chip: "CPU die", Celsius: 76.93}}, ""},
		{"Intel, not root", []string{"child_none"}, false, false, nil, ""},
		{"crash", []string{"child_crash"}, false, false, nil, "status 139"},
		{"crash on Apple silicon", []string{"child_crash"}, true, true, nil, "status 139"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := reader(play(t, c.files...), c.root, c.silicon).Sensors(t.Context())
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}

func play(t *testing.T, files ...string) sysexec.Runner {
	t.Helper()
	paths := make([]string, len(files))
	for i, file := range files {
		paths[i] = "testdata/" + file + ".txtar"
	}
	return replay.New(t, paths...)
}

func TestPressure(t *testing.T) {
	for _, c := range []struct {
		name          string
		files         []string
		root, silicon bool
		want          health.ThermalFacts
		err           string
	}{
		{"root on Apple silicon", []string{"thermal"}, true, true, health.ThermalFacts{Level: "Heavy"}, ""},
		{"not root on Apple silicon", []string{"pmset_none"}, false, true, health.ThermalFacts{}, errUntold.Error()},
		{"Intel held back", []string{"pmset"}, true, false, health.ThermalFacts{SpeedLimit: 72, SchedulerLimit: 100}, ""},
		{"Intel that warns", []string{"pmset_warns"}, false, false, health.ThermalFacts{WarningLevel: new(5), PerformanceLevel: new(100), SpeedLimit: 100, SchedulerLimit: 80}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := reader(play(t, c.files...), c.root, c.silicon).Pressure(t.Context())
			if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != (c.err != "") || err != nil && err.Error() != c.err {
				t.Error(diff, err)
			}
		})
	}
}

func TestWhatPMSetPublishes(t *testing.T) {
	const date = "2026-08-20 05:08:37 -0700 "
	for printed, want := range map[string]health.ThermalFacts{
		date + "Thermal Warning Level = 0\n":                              {WarningLevel: new(0)},
		date + "Thermal Warning Level = 10\nNote: No CPU power status\n":  {WarningLevel: new(10)},
		"Thermal Warning Level = 110\n":                                   {WarningLevel: new(110)},
		date + "Performance Warning Level = 100\n":                        {PerformanceLevel: new(100)},
		date + "\tCPU_Speed_Limit \t= 72\n\tCPU_Scheduler_Limit \t= 90\n": {SpeedLimit: 72, SchedulerLimit: 90}, // the notice went to standard error
	} {
		if got, err := parseTherm([]byte(printed)); err != nil || got.Err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%q: %v, %s", printed, err, cmp.Diff(want, got))
		}
	}
}

// What is not known stays so beside what is.
func TestWhatPMSetDoesNotKnowIsNoData(t *testing.T) {
	for line, reason := range map[string]string{
		"Thermal Warning Level = 255\n": "thermal warning level that means nothing", "Thermal Warning Level = -1\n": "means nothing", "Thermal Warning Level = hot\n": "means nothing",
		"Thermal Warning Level = 10":     "means nothing", // cut
		"Performance Warning Level = \n": "means nothing", "\tCPU_Speed_Limit \t= 7": "not a percentage", "\tCPU_Scheduler_Limit \t= 101\n": "not a percentage",
		"Error: No thermal warning level with error code 0xe00002bc\n": "pmset says: Error",
	} {
		if got, err := parseTherm([]byte(line)); err == nil || !strings.Contains(err.Error(), reason) || cmp.Diff(health.ThermalFacts{}, got) != "" {
			t.Errorf("%q alone: %+v, %v", line, got, err)
		}
		got, err := parseTherm([]byte("Performance Warning Level = 0\n" + line))
		if err != nil || got.PerformanceLevel == nil || got.Err == nil || !strings.Contains(got.Err.Error(), reason) {
			t.Errorf("%q beside a value: %+v, %v", line, got, err)
		}
	}
	for printed, want := range map[string]error{"": errTherm, "hello\n": errTherm, "Note: No thermal warning level has been recorded\n": errUntold} {
		if got, err := parseTherm([]byte(printed)); !errors.Is(err, want) {
			t.Errorf("%q: %+v, %v", printed, got, err)
		}
	}
}

func TestAPressureWithoutAMeaningIsNone(t *testing.T) {
	if level, err := pressureLevel([]byte(`<plist version="1.0"><dict><key>thermal_pressure</key><string>Scorching</string></dict></plist>`)); err == nil {
		t.Error(level)
	}
}

// What powermetrics should have told is missing though pmset tells something.
func TestPMSetStandsInForPowermetricsAndSaysSo(t *testing.T) {
	runner := &replay.Sequence{Results: []sysexec.Result{{Exit: 1}, {Stdout: []byte("Thermal Warning Level = 100\n")}}}
	got, err := reader(runner, true, true).Pressure(t.Context())
	if err != nil || got.WarningLevel == nil || *got.WarningLevel != 100 || got.Err == nil || !strings.Contains(got.Err.Error(), "powermetrics") {
		t.Errorf("%+v, %v", got, err)
	}
}

// always is a Runner with the same result for every program.
type always struct {
	sysexec.Result
	err error
}

func (a always) Run(context.Context, sysexec.Command) (sysexec.Result, error) { return a.Result, a.err }

func TestFailures(t *testing.T) {
	printed := func(text string) sysexec.Result { return sysexec.Result{Stdout: []byte(text)} }
	for name, a := range map[string]always{
		"missing": {err: errors.New("no such file")}, "hanging": {err: context.DeadlineExceeded},
		"not root": {Result: sysexec.Result{Exit: 1, Stderr: []byte("powermetrics must be invoked as the superuser\n")}},
		"noise":    {Result: printed("CPU_Speed_Limit = many\nCPU die temperature: hot\n")},
		"no speed": {Result: printed("\tCPU_Speed_Limit \t= 0\n")},
	} {
		for _, silicon := range []bool{true, false} {
			r := reader(a, true, silicon)
			if got, err := r.Sensors(t.Context()); err == nil {
				t.Errorf("%s: sensors %v without an error", name, got)
			}
			if got, err := r.Pressure(t.Context()); err == nil {
				t.Errorf("%s: pressure %v without an error", name, got)
			}
		}
	}
	if got, err := (Reader{Runner: always{}}).Sensors(t.Context()); err == nil {
		t.Errorf("without a program of its own: %v", got)
	}
}

func TestNoTemperatureIsInvented(t *testing.T) {
	for text, want := range map[string]bool{
		"CPU die temperature: 64.88 C\n": true, "\nCPU die temperature: 0.00 C\n": false, "CPU die temperature: -127.00 C": false,
		"GPU die temperature: 71.00 C\n": false, "CPU die temperature: 151.0 C\n": false, "": false, "CPU die temperature: NaN C": false,
	} {
		if celsius, ok := dieTemperature([]byte(text)); ok != want {
			t.Errorf("%q is %v, %v", text, celsius, ok)
		}
	}
}

func TestRecordedOutputs(t *testing.T) {
	celsius := map[string]float64{"smc-intel-15.3.txt": 76.93, "smc-intel-short.txt": 64.88}
	for _, r := range testenv.RecordedOutputs(t, "powermetrics") {
		got, ok := dieTemperature(r.Raw)
		text := string(r.Raw)
		if want, known := celsius[r.Name]; ok != strings.Contains(text, "CPU die temperature: ") || known && got != want {
			t.Errorf("%s: %v, %v", r.Name, got, ok)
		}
		level, err := pressureLevel(r.Raw)
		if told := strings.Contains(text, "<key>thermal_pressure</key>"); told != (err == nil) || told && !strings.Contains(text, "<string>"+level+"</string>") {
			t.Errorf("%s: %q, %v", r.Name, level, err)
		}
	}
	for _, r := range testenv.RecordedOutputs(t, "pmset") {
		got, err := parseTherm(r.Raw)
		text := string(r.Raw)
		limited, warned := strings.Contains(text, "CPU_Speed_Limit"), strings.Contains(text, "Warning Level =")
		untold := strings.Contains(text, "Note: No ") && !limited && !warned // the others are about the battery
		if limited != (got.SpeedLimit > 0) || warned != (got.WarningLevel != nil || got.PerformanceLevel != nil) || (limited || warned) != (err == nil) || untold != errors.Is(err, errUntold) {
			t.Errorf("%s: %+v, %v", r.Name, got, err)
		}
	}
}

func FuzzThermal(f *testing.F) {
	f.Add("CPU die temperature: 64.88 C\n\tCPU_Speed_Limit \t= 72\n")
	f.Add(`<plist version="1.0"><dict><key>thermal_pressure</key><string>Nominal</string></dict></plist>`)
	f.Fuzz(func(t *testing.T, text string) {
		if celsius, ok := dieTemperature([]byte(text)); ok && (celsius < minCelsius || celsius > maxCelsius) {
			t.Errorf("accepted %v", celsius)
		}
		if facts, err := parseTherm([]byte(text)); err == nil && (facts.SpeedLimit < 0 || facts.SpeedLimit > 100 || facts.WarningLevel != nil && *facts.WarningLevel == thermalUnknown) {
			t.Errorf("accepted %+v", facts)
		}
		if level, err := pressureLevel([]byte(text)); err == nil && level == "" {
			t.Error("accepted no level")
		}
	})
}
