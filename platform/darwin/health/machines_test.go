// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/health"
	"sentinel/internal/sysexec/replay"
)

// The three made-up Macs give a complete report: on an ordinary Mac only the values that need root
// and the state of the clock are unavailable.
func TestMachines(t *testing.T) {
	const macs = "../../../testdata/macs/"
	for _, c := range []struct {
		name   string
		dirs   []string
		euid   int
		gaps   int
		heat   health.Thermal
		sensor float64
		disks  int
	}{
		{"M4, root", []string{macs + "m4-26/exec"}, 0, 2, health.Thermal{PressureLevel: "Nominal"}, 51.5, 2},
		{"M4, user", []string{macs + "m4-26/exec", macs + "m4-26-user/exec"}, 501, 3, health.Thermal{}, 51.5, 2},
		{"Intel, root", []string{macs + "intel-12/exec"}, 0, 2, health.Thermal{SpeedLimit: 100}, 66.9, 2},
		{"Intel, user", []string{macs + "intel-12/exec"}, 501, 3, health.Thermal{SpeedLimit: 100}, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			runner, err := replay.OpenMachine(c.dirs...)
			if err != nil {
				t.Fatal(err)
			}
			var gaps answer.Gaps
			sources := Sources(Mac{Runner: runner, EUID: c.euid, Executable: "/usr/local/bin/sentinel", Now: func() time.Time { return time.Unix(1795334400, 0) }})
			r := health.Build(health.Collect(t.Context(), sources, &gaps), health.Options{Rows: -1}, &gaps)
			before, _ := sources.CPU(t.Context())
			after, err := sources.CPU(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.UseCPU(before, after, 500, &gaps)
			r.Judge(health.DefaultThresholds())
			if fieldsOf(gaps) != c.gaps || len(r.ThreatReasons) != 0 || len(r.Disks) != c.disks {
				t.Errorf("gaps %v, reasons %v, disks %v", gaps, r.ThreatReasons, r.Disks)
			}
			if r.Thermal != nil && (r.Thermal.PressureLevel != c.heat.PressureLevel || r.Thermal.SpeedLimit != c.heat.SpeedLimit) {
				t.Errorf("heat %+v", r.Thermal)
			}
			if told := r.Thermal != nil && r.Thermal.Celsius != nil; told != (c.sensor > 0) || told && *r.Thermal.Celsius != c.sensor {
				t.Errorf("temperature %+v", r.Thermal)
			}
			if *r.CPU.Percent != 12.3 || r.CPU.Cores == 0 || r.Memory.UsedBytes == 0 || r.Memory.PressureLevel != health.PressureNormal || *r.UptimeSeconds < 86400 {
				t.Errorf("%+v %+v, up for %d", r.CPU, r.Memory, *r.UptimeSeconds)
			}
		})
	}
}

// fieldsOf counts what is missing.
func fieldsOf(gaps answer.Gaps) (n int) {
	for _, gap := range gaps {
		n += len(gap.Fields())
	}
	return n
}
