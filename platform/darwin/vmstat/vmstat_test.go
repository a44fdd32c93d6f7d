// SPDX-License-Identifier: Apache-2.0

package vmstat

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

func TestRead(t *testing.T) {
	got, err := Read(t.Context(), replay.New(t, "testdata/vm_stat.txtar"))
	const page = 16384
	want := Memory{
		Free: 40000 * page, Active: 330000 * page, Inactive: 320000 * page, Speculative: 5000 * page, Wired: 130000 * page,
		Purgeable: 7000 * page, FileBacked: 245000 * page, Anonymous: 410000 * page, Compressor: 170000 * page,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if used := got.Used(); used != (410000-7000+130000+170000)*page {
		t.Errorf("used are %d", used)
	}
}

type printing struct {
	sysexec.Result
	err error
}

func (p printing) Run(context.Context, sysexec.Command) (sysexec.Result, error) {
	return p.Result, p.err
}

func TestFailures(t *testing.T) {
	raw, err := os.ReadFile("testdata/vm_stat.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, whole, _ := strings.Cut(string(raw), "-- stdout --\n")
	printed := func(text string) printing { return printing{Result: sysexec.Result{Stdout: []byte(text)}} }
	for name, p := range map[string]printing{
		"missing": {err: errors.New("no such file")}, "hanging": {err: context.DeadlineExceeded},
		"failed": {Result: sysexec.Result{Stdout: []byte(whole), Exit: 1}},
		"empty":  printed(""), "cut": printed(whole[:len(whole)/2]), "noise": printed("noise\n" + whole), "no page": printed(strings.Replace(whole, "16384", "0", 1)),
		"letters": printed(strings.Replace(whole, "40000.", "x.", 1)), "too many": printed(strings.Replace(whole, "40000.", "99999999999999999.", 1)),
	} {
		if got, err := Read(t.Context(), p); err == nil {
			t.Errorf("%s: %+v without an error", name, got)
		}
	}
}

func TestRecordedOutputs(t *testing.T) {
	used := map[string]uint64{ // pages
		"apple-silicon-no-swap-2025.txt":  417508 - 6383 + 135602 + 169877,
		"apple-silicon-swapping-2025.txt": 802766 - 11333 + 212530 + 90849,
		"sonoma-m1pro.txt":                912210 - 19224 + 165932 + 424276,
	}
	for _, r := range testenv.RecordedOutputs(t, "vm_stat") {
		m, err := parse(r.Raw)
		if !strings.Contains(string(r.Raw), "File-backed pages:") {
			if !errors.Is(err, errRows) {
				t.Errorf("%s: %+v, %v", r.Name, m, err)
			}
			continue
		}
		if pages, known := used[r.Name]; err != nil || known && m.Used() != pages*16384 || m.Used() == 0 {
			t.Errorf("%s: %d used, %v", r.Name, m.Used(), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Mach Virtual Memory Statistics: (page size of 4096 bytes)\nPages free: 1.\n")
	f.Fuzz(func(t *testing.T, raw string) {
		if m, err := parse([]byte(raw)); err == nil && m.Used() < m.Wired {
			t.Errorf("accepted %+v", m)
		}
	})
}
