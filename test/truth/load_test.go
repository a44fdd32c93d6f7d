// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/load"
)

// loads are the three averages as text with two decimals.
type loads struct {
	One, Five, Fifteen string
}

func decimals(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// kernelLoads reads /proc/loadavg (proc_loadavg(5)).
func kernelLoads(t *testing.T) loads {
	t.Helper()
	fields := words(t, "/proc/loadavg")
	return loads{fields[0], fields[1], fields[2]}
}

func words(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(raw))
}

func gopsutilLoads(t *testing.T) loads {
	t.Helper()
	a, err := load.AvgWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return loads{decimals(a.Load1), decimals(a.Load5), decimals(a.Load15)}
}

// A loadDocument is what is read of the load in a health document.
type loadDocument struct {
	CPULoad string `json:"cpu_load"`
	CPU     struct {
		One     float64 `json:"load_1"`
		Five    float64 `json:"load_5"`
		Fifteen float64 `json:"load_15"`
	} `json:"cpu"`
}

// TestLoadIsThatOfTheKernelAndGopsutil asks in the five seconds in which the
// kernel leaves the averages alone.
func TestLoadIsThatOfTheKernelAndGopsutil(t *testing.T) {
	if !inside(t) {
		return
	}
	var d loadDocument
	var want loads
	eventually(t, func() string {
		want = kernelLoads(t)
		d = loadDocument{}
		askSentinel(t, &d, "--json")
		return cmp.Diff(want, gopsutilLoads(t))
	})
	got := loads{decimals(d.CPU.One), decimals(d.CPU.Five), decimals(d.CPU.Fifteen)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("load (-kernel +sentinel):\n%s", diff)
	}
	if d.CPULoad != want.One {
		t.Errorf("cpu_load is %q, the kernel says %q", d.CPULoad, want.One)
	}
}

func TestUptimeIsThatOfTheKernelAndGopsutil(t *testing.T) {
	if !inside(t) {
		return
	}
	before := uptime(t)
	var d healthDocument
	askSentinel(t, &d, "--json")
	after := uptime(t)
	if d.UptimeSeconds < before || d.UptimeSeconds > after {
		t.Errorf("uptime is %d s, the kernel says %d before and %d after", d.UptimeSeconds, before, after)
	}
	// gopsutil rounds to the nearest second.
	second, err := host.UptimeWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s := int64(second); s < d.UptimeSeconds-1 || s > after+1 {
		t.Errorf("uptime is %d s, gopsutil says %d afterwards", d.UptimeSeconds, s)
	}
}

// uptime returns the whole seconds since boot.
func uptime(t *testing.T) int64 {
	t.Helper()
	whole, _, _ := strings.Cut(words(t, "/proc/uptime")[0], ".")
	var seconds int64
	if _, err := fmt.Sscan(whole, &seconds); err != nil {
		t.Fatal(err)
	}
	return seconds
}
