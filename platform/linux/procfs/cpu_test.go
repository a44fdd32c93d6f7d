// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const cpuFile = "cpu  300 20 100 8000 40 0 30 10 7 5\ncpu0 100 10 50 4000 20 0 10 10 3 2\ncpu1 200 10 50 4000 20 0 20 0 4 3\n" +
	"intr 98231177 9 0 0\nctxt 402118334\nbtime 1789000000\nprocesses 48211\nprocs_running 2\n"

func TestCPUTimesCountGuestOnceAndWaitingAsIdle(t *testing.T) {
	got, err := parseCPU([]byte(cpuFile))
	want := CPU{All: CPUTimes{Total: 8500, Idle: 8040, Stolen: 10}, Cores: []CPUTimes{{4200, 4020, 10}, {4300, 4020, 0}}, Waiting: 40, Tasks: 420}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestCPUTimesRefuseWhatIsNotOne(t *testing.T) {
	for name, file := range map[string]string{
		"empty":           "",
		"no cpu line":     "intr 1\nctxt 2\n",
		"no sum":          "cpu0 1 1 1 1 1 1 1 1 0 0\n",
		"no cores":        "cpu  1 1 1 1 1 1 1 1 0 0\nintr 1\n",
		"too few states":  "cpu  1 1 1 1\ncpu0 1 1 1 1\n",
		"letters":         strings.Replace(cpuFile, "8000", "idle", 1),
		"negative":        strings.Replace(cpuFile, "8000", "-8000", 1),
		"beyond reason":   strings.Replace(cpuFile, "8000", "18446744073709551615", 1),
		"nothing but 0":   "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n",
		"a core of zeros": strings.Replace(cpuFile, "cpu1 200 10 50 4000 20 0 20 0", "cpu1 0 0 0 0 0 0 0 0", 1),
	} {
		if got, err := parseCPU([]byte(file)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

// A file cut between two lines cannot be distinguished from a machine with fewer cores.
func TestCutCPUTimesAreWholeCores(t *testing.T) {
	beginnings(t, cpuFile, parseCPU, func(got, want CPU) bool {
		return got.All == want.All && len(got.Cores) > 0 && cmp.Equal(got.Cores, want.Cores[:len(got.Cores)])
	})
}

func FuzzCPU(f *testing.F) {
	f.Add([]byte(cpuFile))
	f.Add([]byte("cpu  1 1 1 1 1 1 1 1\ncpu0 1152921504606846976 1152921504606846976 0 0 0 0 0 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCPU(b)
		if err != nil {
			return
		}
		for _, times := range append(c.Cores, c.All) {
			if times.Total == 0 || times.Idle > times.Total {
				t.Errorf("%+v", times)
			}
		}
		if len(c.Cores) == 0 {
			t.Error("no cores")
		}
	})
}
