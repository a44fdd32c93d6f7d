// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const meminfo = "MemTotal:       15925284 kB\nMemFree:         2214908 kB\nMemAvailable:    8730412 kB\nBuffers:          412036 kB\n" +
	"SwapCached:            0 kB\nSwapTotal:        999420 kB\nSwapFree:         712008 kB\nHugePages_Total:       0\nHugepagesize:       2048 kB\n"

const vmstat = "nr_free_pages 812206\npgfault 801992231\noom_kill_more 9\noom_kill 17\nthp_fault_alloc 8821\n"

func TestLoadAverageReadsTheFirstThreeFields(t *testing.T) {
	const file = "0.84 1.10 0.97 2/1288 48211\n"
	got, err := parseLoadAverage([]byte(file))
	if want := (LoadAverage{0.84, 1.10, 0.97}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	wholeOrNothing(t, file, parseLoadAverage)
	if got, err := parseLoadAverage([]byte("0.00 0.00 0.00 1/2 3\n")); err != nil || got != (LoadAverage{}) {
		t.Errorf("an idle machine: got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "\n", "0.84 1.10 0.97", "x 1.10 0.97 2/1 3", "-0.5 1 1 2/1 3", "NaN 1 1 2/1 3", "1 +Inf 1 2/1 3", "1 1 1e300 2/1 3"} {
		if got, err := parseLoadAverage([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: got %+v, %v", bad, got, err)
		}
	}
}

func TestUptimeReadsSecondsSinceBoot(t *testing.T) {
	const file = "93784.51 612204.18\n"
	if got, err := parseUptime([]byte(file)); err != nil || got != 93784.51 {
		t.Errorf("got %v, %v", got, err)
	}
	wholeOrNothing(t, file, parseUptime)
	for _, bad := range []string{"", " ", "93784.51", "-1.00 2.00", "up 2 days", "NaN 1.0", "1e300 1.0"} {
		if got, err := parseUptime([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: got %v, %v", bad, got, err)
		}
	}
}

func TestMemoryIsInBytesAndNeverInPart(t *testing.T) {
	got, err := parseMemory([]byte(meminfo))
	want := Memory{Total: 15925284 << 10, Available: 8730412 << 10, SwapTotal: 999420 << 10, SwapFree: 712008 << 10}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	wholeOrNothing(t, meminfo, parseMemory)
	if got, err := parseMemory([]byte(strings.Replace(meminfo, "SwapCached:            0 kB", "SwapCached: 7 kB", 1) + "Shmem:            120000 kB\n")); err != nil || got.Shared != 120000<<10 || got.SwapCached != 7<<10 {
		t.Errorf("shared: got %+v, %v", got, err)
	}
}

// Of 100 MiB, 94 are free, of processes and files, or can be had back: the rest, beside the tables, is the kernel's.
func TestWhatTheKernelHoldsIsTheRest(t *testing.T) {
	const file = "MemTotal: 102400 kB\nMemFree: 40960 kB\nMemAvailable: 51200 kB\nActive: 20480 kB\nInactive: 10240 kB\nActive(anon): 9 kB\nUnevictable: 1024 kB\n" +
		"SReclaimable: 9216 kB\nSUnreclaim: 9 kB\nPageTables: 2048 kB\nSecPageTables: 1024 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nHugepagesize: 2048 kB\n"
	for end, want := range map[string]uint64{"Hugetlb: 4000 kB\nZswap: 96 kB\n": 102400 - 40960 - 20480 - 10240 - 1024 - 9216 - 2048 - 1024 - 4096, "Hugetlb: 99999999 kB\n": 0, "": 0} {
		got, err := parseMemory([]byte(file + end))
		if err != nil || got.PageTables != 3072<<10 || got.Kernel != want<<10 {
			t.Errorf("%q: %+v, %v, want %d KiB", end, got, err, want)
		}
	}
}

func TestMemoryRefusesWhatCannotBe(t *testing.T) {
	for name, change := range map[string][2]string{
		"no total":                   {"MemTotal:", "MemSum:"},
		"no available (before 3.14)": {"MemAvailable:", "MemAvail:"},
		"no swap total":              {"SwapTotal:", "Swap:"},
		"no swap free":               {"SwapFree:", "Swap:"},
		"total zero":                 {"15925284", "0"},
		"more available than total":  {"8730412", "15925285"},
		"more free than swap":        {"712008", "999421"},
		"other unit":                 {"8730412 kB", "8730412 MB"},
		"no unit":                    {"8730412 kB", "8730412"},
		"negative":                   {"8730412", "-8730412"},
		"beyond reason":              {"15925284", "18446744073709551615"},
		"letters":                    {"15925284", "lots"},
	} {
		if !strings.Contains(meminfo, change[0]) {
			t.Fatalf("%s changes nothing", name)
		}
		got, err := parseMemory([]byte(strings.Replace(meminfo, change[0], change[1], 1)))
		if !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestMachineWithoutSwapHasMemory(t *testing.T) {
	file := strings.NewReplacer("999420", "0", "712008", "0").Replace(meminfo)
	got, err := parseMemory([]byte(file))
	if err != nil || got.SwapTotal != 0 || got.Total == 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestOOMKillsReadsItsOwnLine(t *testing.T) {
	if got, err := parseOOMKills([]byte(vmstat)); err != nil || got != 17 {
		t.Errorf("got %d, %v", got, err)
	}
	wholeOrNothing(t, vmstat, parseOOMKills)
	for _, bad := range []string{"", "pgfault 1\n", "oom_kill\n", "oom_kill x\n", "oom_kill -1\n", "oom_kill 1.5\n", "oom_kill 17"} {
		if got, err := parseOOMKills([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: got %d, %v", bad, got, err)
		}
	}
}

func TestBootIDIsAUUID(t *testing.T) {
	const id = "6b1f0c2e-84d7-4c0b-9a35-52f1d0a8e7c4"
	if got, err := parseBootID([]byte(id + "\n")); err != nil || got != id {
		t.Errorf("got %q, %v", got, err)
	}
	wholeOrNothing(t, id+"\n", parseBootID)
	for _, bad := range []string{"", id + "0", strings.ToUpper(id), strings.Replace(id, "-", "_", 1), strings.Replace(id, "6", "g", 1), strings.Repeat("-", 36), "0123456789012345678901234567890123456"} {
		if got, err := parseBootID([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: got %q, %v", bad, got, err)
		}
	}
}

func TestKernelReleaseCannotBeAPath(t *testing.T) {
	const file = "6.1.0-25-amd64\n"
	if got, err := parseKernelRelease([]byte(file)); err != nil || got != "6.1.0-25-amd64" {
		t.Errorf("got %q, %v", got, err)
	}
	beginnings(t, file, parseKernelRelease, func(got, want string) bool { return got != "" && strings.HasPrefix(want, got) })
	for _, bad := range []string{"", "\n", "../../etc/passwd", "6.1\x00", strings.Repeat("6", 65)} {
		if got, err := parseKernelRelease([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: got %q, %v", bad, got, err)
		}
	}
}

func FuzzSystemFiles(f *testing.F) {
	for _, s := range []string{meminfo, vmstat, "0.84 1.10 0.97 2/1288 48211\n", "93784.51 612204.18\n", "6b1f0c2e-84d7-4c0b-9a35-52f1d0a8e7c4\n", "0x1p-2 -0 1_0 4\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := parseLoadAverage(b); err == nil {
			sane(t, l.One, maxFloat)
			sane(t, l.Five, maxFloat)
			sane(t, l.Fifteen, maxFloat)
		}
		if s, err := parseUptime(b); err == nil {
			sane(t, s, maxFloat)
		}
		if m, err := parseMemory(b); err == nil && (m.Total == 0 || m.Available > m.Total || m.SwapFree > m.SwapTotal || m.Total > 1<<63) {
			t.Errorf("memory %+v", m)
		}
		if n, err := parseOOMKills(b); err == nil && !strings.Contains(string(b), "oom_kill") {
			t.Errorf("%d kills", n)
		}
		if id, err := parseBootID(b); err == nil && (len(id) != 36 || strings.Trim(id, "0123456789abcdef-") != "") {
			t.Errorf("boot id %q", id)
		}
		if r, err := parseKernelRelease(b); err == nil && (r == "" || strings.ContainsAny(r, "/\x00")) {
			t.Errorf("release %q", r)
		}
	})
}

// sane fails if x is not a number from 0 to most.
func sane(t *testing.T, x, most float64) {
	t.Helper()
	if !(x >= 0 && x <= most) {
		t.Errorf("%v is not from 0 to %v", x, most)
	}
}

func TestNumberTakesDigitsOnly(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "7": 7, "007": 7, "18446744073709551615": 1<<64 - 1} {
		if got, ok := number([]byte(text)); !ok || got != want {
			t.Errorf("%q: got %d, %v", text, got, ok)
		}
	}
	for _, bad := range []string{"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "1_0", "18446744073709551616", "99999999999999999999", "000000000000000000001", "٣"} {
		if got, ok := number([]byte(bad)); ok {
			t.Errorf("%q: got %d", bad, got)
		}
	}
}

func TestLinesLeavesOutACutLine(t *testing.T) {
	for text, want := range map[string][]string{"": nil, "a": nil, "a\nb": {"a"}, "a\n\nb\n": {"a", "", "b"}, "\n": {""}} {
		var got []string
		for line := range lines([]byte(text)) {
			got = append(got, string(line))
		}
		if !cmp.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestHugePagesInUseAreCounted(t *testing.T) {
	const whole = "MemTotal: 1000 kB\nMemAvailable: 500 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"
	for text, want := range map[string]uint64{
		"": 0,
		"HugePages_Total:     100\nHugePages_Free:       20\nHugepagesize:       2048 kB\n": 160 << 20,
		"HugePages_Total:     100\nHugePages_Free:      100\nHugepagesize:       2048 kB\n": 0,
		"HugePages_Total:       1\nHugePages_Free:        2\nHugepagesize:       2048 kB\n": 0,
	} {
		if m, err := parseMemory([]byte(whole + text)); err != nil || m.HugeUsed != want {
			t.Errorf("%q: %d, %v", text, m.HugeUsed, err)
		}
	}
}
