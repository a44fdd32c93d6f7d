// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shirou/gopsutil/v4/mem"
)

// drift is how far the memory in use may move between two programs that look
// one after the other, in bytes: the kernel keeps some counters for each core and adds
// them up late, sentinel holds about 15 MiB while it waits for its window, and other tests
// run beside this one. A wrong field of /proc/meminfo is off by far more.
const drift = 32 << 20

// freeReport is what free -b prints.
type freeReport struct {
	Memory, Swap capacity
	Free         uint64 // what nobody uses, not even as cache
}

func askFree(t *testing.T) freeReport {
	t.Helper()
	var r freeReport
	var swapFree uint64
	for line := range strings.Lines(string(output(t, "free", "-b"))) {
		fields := strings.Fields(line)
		switch fields[0] {
		case "Mem:": // total used free shared buff/cache available
			r.Memory.Total, r.Free, r.Memory.Available = bytesIn(t, fields, 1), bytesIn(t, fields, 3), bytesIn(t, fields, 6)
		case "Swap:": // total used free
			r.Swap.Total, r.Swap.Used, swapFree = bytesIn(t, fields, 1), bytesIn(t, fields, 2), bytesIn(t, fields, 3)
		}
	}
	// Releases of free before 4.0 call something else used.
	r.Memory.Used = r.Memory.Total - r.Memory.Available
	if r.Memory.Total == 0 || r.Swap.Used+swapFree != r.Swap.Total {
		t.Fatalf("free -b is not understood: %+v", r)
	}
	return r
}

func bytesIn(t *testing.T, fields []string, at int) uint64 {
	t.Helper()
	if at >= len(fields) {
		t.Fatalf("free -b: no column %d in %q", at, fields)
	}
	n, err := strconv.ParseUint(fields[at], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestMemoryIsThatOfFree(t *testing.T) {
	needTool(t, "free", "procps")
	if !inside(t) {
		return
	}
	var got healthDocument
	var want freeReport
	eventually(t, func() string {
		before := askFree(t)
		got = healthDocument{}
		askSentinel(t, &got, "--json")
		want = askFree(t)
		if before.Swap != want.Swap {
			return fmt.Sprintf("swap moved from %+v to %+v", before.Swap, want.Swap)
		}
		return between(before.Memory.Available, got.Memory.Available, want.Memory.Available)
	})
	if got.Memory.Total != want.Memory.Total {
		t.Errorf("total is %d, free says %d", got.Memory.Total, want.Memory.Total)
	}
	if got.Memory.Used+got.Memory.Available != got.Memory.Total {
		t.Errorf("used and available are not the total: %+v", got.Memory)
	}
	if got.Swap.Total != want.Swap.Total || got.Swap.Used != want.Swap.Used {
		t.Errorf("swap is %+v, free says %+v", got.Swap, want.Swap)
	}
}

// between says what is wrong when value is not between what was read before and
// after, give or take the drift.
func between(before, value, after uint64) string {
	if value+drift < min(before, after) || value > max(before, after)+drift {
		return fmt.Sprintf("%d bytes are available, free says %d before and %d after", value, before, after)
	}
	return ""
}

func TestMemoryIsThatOfGopsutil(t *testing.T) {
	if !inside(t) {
		return
	}
	var got healthDocument
	var want *mem.VirtualMemoryStat
	eventually(t, func() string {
		before := secondOpinion(t)
		got = healthDocument{}
		askSentinel(t, &got, "--json")
		want = secondOpinion(t)
		return between(before.Available, got.Memory.Available, want.Available)
	})
	if got.Memory.Total != want.Total {
		t.Errorf("total is %d, gopsutil says %d", got.Memory.Total, want.Total)
	}
	if diff := cmp.Diff(capacity{Total: want.SwapTotal, Used: want.SwapTotal - want.SwapFree}, got.Swap); diff != "" {
		t.Errorf("swap (-gopsutil +sentinel):\n%s", diff)
	}
}

func secondOpinion(t *testing.T) *mem.VirtualMemoryStat {
	t.Helper()
	m, err := mem.VirtualMemoryWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}
