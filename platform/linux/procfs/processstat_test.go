// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statLine is a line of /proc/PID/stat with the given name: 52 fields, as Linux
// 6.1 prints them.
func statLine(name string) string {
	return "812 (" + name + ") S 1 811 810 34816 812 4194304 2291 31 3 0 1201 404 7 9 20 0 4 0 99231 " +
		"84803584 2107 18446744073709551615 1 1 0 0 0 0 0 4096 16384 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
}

func TestProcessStatReadsTheDocumentedFields(t *testing.T) {
	got, err := parseProcessStat([]byte(statLine("nginx")))
	want := ProcessStat{
		PID: 812, Name: "nginx", State: 'S', ParentPID: 1, Session: 810, Terminal: 34816, Flags: 4194304,
		Ticks: 1605, Reaped: 16, Threads: 4, Start: 99231, RSSPages: 2107,
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestProcessNameCannotShiftTheFields(t *testing.T) {
	for _, name := range []string{
		"evil) (name", "a) R 1 1 1 1 1", "x)", "(", ")", "", " ", "a b", "two\nlines", ") S 1 811 810 34816 812 4194304",
		"\x1b[31m", "\xff\xfe", "kworker/u8:2-brcmf_wq/mmc1:0001:1",
	} {
		got, err := parseProcessStat([]byte(statLine(name)))
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if got.Name != name || got.PID != 812 || got.State != 'S' || got.Start != 99231 || got.RSSPages != 2107 {
			t.Errorf("%q: got %+v", name, got)
		}
	}
}

func TestProcessStatRefusesWhatIsNotOne(t *testing.T) {
	good := statLine("x")
	for name, line := range map[string]string{
		"empty":               "",
		"no name":             "812 S 1 2 3",
		"name left open":      strings.Replace(good, ")", "", 1),
		"name closed first":   "812 )x( S 1",
		"no pid":              strings.TrimPrefix(good, "812 "),
		"pid of letters":      strings.Replace(good, "812", "abc", 1),
		"pid zero":            strings.Replace(good, "812", "0", 1),
		"pid negative":        strings.Replace(good, "812", "-1", 1),
		"pid too large":       strings.Replace(good, "812", "2147483648", 1),
		"long state":          strings.Replace(good, " S ", " SS ", 1),
		"parent negative":     strings.Replace(good, " S 1 ", " S -1 ", 1),
		"time of letters":     strings.Replace(good, " 1201 ", " x ", 1),
		"time without end":    strings.Replace(good, " 1201 ", " 99999999999999999999 ", 1),
		"time beyond reason":  strings.Replace(good, " 1201 ", " 18446744073709551615 ", 1),
		"start with a point":  strings.Replace(good, " 99231 ", " 992.31 ", 1),
		"memory negative":     strings.Replace(good, " 2107 ", " -1 ", 1),
		"newline in between":  strings.Replace(good, " 99231 ", "\n99231 ", 1),
		"fields cut off":      "812 (x) S 1 811 810 34816 812 4194304 2291 31 3 0 1201 404\n",
		"memory is the last ": "812 (x) S 1 811 810 34816 812 4194304 2291 31 3 0 1201 404 7 9 20 0 4 0 99231 84803584 2107",
	} {
		if got, err := parseProcessStat([]byte(line)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestCutProcessStatIsNoProcess(t *testing.T) {
	for _, name := range []string{"nginx", "evil) (name"} {
		wholeOrNothing(t, statLine(name), parseProcessStat)
	}
}

func FuzzProcessStat(f *testing.F) {
	for _, name := range []string{"nginx", "evil) (name", "\x1b[2J", "two\nlines"} {
		f.Add([]byte(statLine(name)))
	}
	f.Add([]byte("1 (a) R 18446744073709551615 0 0 0 0 0 0 0 0 0 1152921504606846976 1152921504606846976 0 0 0 0 0 0 1 1 1 "))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseProcessStat(b)
		if err != nil {
			return
		}
		if p.PID < 1 || p.PID > 1<<31-1 || p.ParentPID < 0 || p.ParentPID > 1<<31-1 {
			t.Errorf("PID %d, parent %d", p.PID, p.ParentPID)
		}
		if p.Ticks > 2*maxTicks || p.State == ' ' || p.State == '\n' {
			t.Errorf("ticks %d, state %q", p.Ticks, p.State)
		}
		if !strings.Contains(string(b), "("+p.Name+")") {
			t.Errorf("name %q is not in %q", p.Name, b)
		}
	})
}
