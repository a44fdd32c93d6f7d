// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

const limits = "Limit                     Soft Limit           Hard Limit           Units     \n" +
	"Max cpu time              unlimited            unlimited            seconds   \n" +
	"Max open files            1024                 524288               files     \n" +
	"Max nice priority         0                    0                    \n"

func TestLimitsAreNumbersOrNone(t *testing.T) {
	got, err := parseLimits([]byte(limits))
	want := []ResourceLimit{
		{Name: "Max cpu time", Unit: "seconds"},
		{Name: "Max open files", Soft: new(uint64(1024)), Hard: new(uint64(524288)), Unit: "files"},
		{Name: "Max nice priority", Soft: new(uint64(0)), Hard: new(uint64(0))},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"head\nshort\n", "head\n" + strings.Repeat(" ", 26) + "1\n", "head\n" + strings.Repeat("x", 26) + "1 x\n"} {
		if got, err := parseLimits([]byte(bad)); !errors.Is(err, ErrFormat) || got != nil {
			t.Errorf("%q: %+v, %v", bad, got, err)
		}
	}
}

func TestUsageIsTheMemoryByKind(t *testing.T) {
	const text = "Name:\tx\nUid:\t1000\t0\t0\t0\nVmHWM:\t    2048 kB\nHugetlbPages:\t  4096 kB\nRssAnon:\t   512 kB\nVmSwap:\t x kB\nVmRSS:\t 7 pages\nThreads:\t3\n"
	got, err := parseUsage([]byte(text))
	if diff := cmp.Diff(Usage{EffectiveUID: 0, Memory: map[string]uint64{"VmHWM": 2 << 20, "HugetlbPages": 4 << 20, "RssAnon": 512 << 10}}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := parseUsage([]byte("VmRSS:\t 7 kB\n")); !errors.Is(err, ErrFormat) {
		t.Errorf("without a user: %+v, %v", got, err)
	}
}

func TestSystemCalls(t *testing.T) {
	for text, want := range map[string]SystemCall{
		"running\n":                              {Running: true},
		"-1 0x7ffd 0x7f\n":                       {Number: -1},
		"0 0x3 0x7f 0x1000 0 0 0 0x7ffd 0x7f\n":  {Number: 0, First: 3},
		"232 0x4 0x7f 0x20 0xffffffffffffffff\n": {Number: 232, First: 4},
	} {
		if got, err := parseSystemCall([]byte(text)); got != want || err != nil {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x 0x1", "1 y", "99999 0x1"} {
		if got, err := parseSystemCall([]byte(text)); !errors.Is(err, ErrFormat) || got != (SystemCall{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestSmallFilesOfAProcess(t *testing.T) {
	proc := New(testenv.Plant(t, map[string]string{
		"proc/7/loginuid": "1000", "proc/8/loginuid": "4294967295", "proc/9/loginuid": "x", "proc/7/oom_score": "666\n",
	}))
	if uid, ok, err := proc.LoginUID(7); uid != 1000 || !ok || err != nil {
		t.Errorf("%d, %v, %v", uid, ok, err)
	}
	if _, ok, err := proc.LoginUID(8); ok || err != nil {
		t.Errorf("no login: %v, %v", ok, err)
	}
	for _, pid := range []int{9, 10} {
		if _, ok, err := proc.LoginUID(pid); ok || err == nil {
			t.Errorf("%d: %v, %v", pid, ok, err)
		}
	}
	if n, err := proc.OOMScore(7); n != 666 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// The kernel's own files have the form that the parsers expect.
func TestUsageOfThisProcess(t *testing.T) {
	proc, pid := New("/"), os.Getpid()
	u, err := proc.Usage(pid)
	if err != nil || u.EffectiveUID != os.Geteuid() || u.Memory["VmRSS"] == 0 || u.Memory["VmSize"] < u.Memory["VmRSS"] {
		t.Errorf("%+v, %v", u, err)
	}
	l, err := proc.Limits(pid)
	names := map[string]bool{}
	for _, one := range l {
		names[one.Name] = true
	}
	if err != nil || !names["Max open files"] || !names["Max processes"] {
		t.Errorf("%+v, %v", l, err)
	}
}

func FuzzUsage(f *testing.F) {
	f.Add(limits)
	f.Add("Uid:\t0\t0\t0\t0\nVmRSS:\t1 kB\n")
	f.Add("0 0x3 0x7f\n")
	f.Fuzz(func(t *testing.T, text string) {
		if u, err := parseUsage([]byte(text)); err == nil && u.EffectiveUID < 0 {
			t.Errorf("%q: %+v", text, u)
		}
		list, _ := parseLimits([]byte(text))
		for _, l := range list {
			if !strings.Contains(text, l.Name) || !strings.Contains(text, l.Unit) {
				t.Errorf("made up %+v", l)
			}
		}
		if c, err := parseSystemCall([]byte(text)); err == nil && c.Number < -1 {
			t.Errorf("%q: %+v", text, c)
		}
	})
}
