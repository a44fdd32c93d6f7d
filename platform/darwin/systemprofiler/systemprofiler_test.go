// SPDX-License-Identifier: Apache-2.0

package systemprofiler

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

func read(t *testing.T, mac string) Report {
	t.Helper()
	m, err := replay.OpenMachine("../../../testdata/macs/" + mac + "/exec")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAppleSiliconIsRead(t *testing.T) {
	r := read(t, "m4-26")
	want := Hardware{
		Name: "MacBook Pro", Model: "Mac16,1", Chip: "Apple M4", Memory: "16 GB", Serial: "EXAMPLE0M4",
		UUID: "01234567-89AB-CDEF-0123-456789ABCDEF", Cores: Cores{Total: 10, Performance: 4, Efficiency: 6},
	}
	if diff := cmp.Diff(want, r.Hardware); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Volume{Device: "disk6s1", Mountpoint: "/Volumes/STICK", FileSystem: "MS-DOS FAT32", Size: 30784094208, Free: 30000000000, ReadOnly: new(false)}, r.Storage[2]); diff != "" {
		t.Error(diff)
	}
	if ro := r.Storage[3].ReadOnly; ro == nil || !*ro || len(r.Storage) != 4 {
		t.Errorf("%+v", r.Storage)
	}
}

func TestIntelIsRead(t *testing.T) {
	want := Hardware{
		Name: "MacBook Pro", Model: "MacBookPro16,1", Chip: "6-Core Intel Core i7", Memory: "16 GB", Serial: "EXAMPLEINTEL",
		UUID: "89ABCDEF-0123-4567-89AB-CDEF01234567", Cores: Cores{Total: 6}, Packages: 1,
	}
	if diff := cmp.Diff(want, read(t, "intel-12").Hardware); diff != "" {
		t.Error(diff)
	}
}

// The meaning of the numbers after the total differs between chips.
func TestCores(t *testing.T) {
	for raw, want := range map[string]Cores{
		`"proc 8:4:4"`: {8, 4, 4}, `"proc 10:4:6"`: {10, 4, 6}, `"proc 18:6:0:12"`: {Total: 18}, `"proc 24:16:8:0"`: {Total: 24}, `"proc 12:0:8:4"`: {Total: 12},
		`4`: {Total: 4}, `"4"`: {Total: 4}, `"proc 8"`: {Total: 8},
		`"proc 8:4:5"`: {}, `"proc 8:4"`: {}, `"proc x:4:4"`: {}, `"proc -1"`: {}, `""`: {}, `null`: {}, `{}`: {}, `99999`: {}, ``: {},
	} {
		if got := cores([]byte(raw)); got != want {
			t.Errorf("%s: %+v, want %+v", raw, got, want)
		}
	}
}

func TestAReportIsNotLostForOneValue(t *testing.T) {
	r, err := Parse([]byte("2026-11-20 noise\n" + `{"SPHardwareDataType":[{"machine_name":7,"serial_number":" X ","packages":"two"}],"SPStorageDataType":[{"bsd_name":"disk1","size_in_bytes":-1,"free_space_in_bytes":"9"},{"size_in_bytes":1,"free_space_in_bytes":2}]}`))
	want := Report{Hardware: Hardware{Serial: "X"}, Storage: []Volume{{Device: "disk1"}, {}}}
	if diff := cmp.Diff(want, r); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestWhatIsNoReportIsAnError(t *testing.T) {
	for _, printed := range []string{"", "{}", "[]", `{"SPHardwareDataType":[]}`, `{"SPHardwareDataType":[{"machine_name":"M`, "Das ist nicht erlaubt.", `{"SPHardwareDataType":"x"}`} {
		if r, err := Parse([]byte(printed)); err == nil {
			t.Errorf("%q: %+v", printed, r)
		}
	}
}

// A failing is a Runner with one kind of failure.
type failing struct {
	result sysexec.Result
	err    error
}

// Run implements [sysexec.Runner].
func (f failing) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Timeout == 0 {
		return sysexec.Result{}, errors.New("no limit")
	}
	return f.result, f.err
}

func TestAProgramThatFailsIsAnError(t *testing.T) {
	for _, err := range []error{fs.ErrNotExist, context.DeadlineExceeded, sysexec.ErrOutputTooLarge} {
		if _, got := Read(t.Context(), failing{err: err}); !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
	noise := sysexec.Result{Stderr: []byte(`{"SPHardwareDataType":[{}]}`)}
	if _, err := Read(t.Context(), failing{result: noise}); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}

// Recordings of other forms, text and property lists, may not pass for a report.
func TestRecordedOutputs(t *testing.T) {
	for _, r := range testenv.RecordedOutputs(t, "system_profiler") {
		if report, err := Parse(r.Raw); (err == nil) != bytes.Contains(r.Raw, []byte(`DataType" : [`)) {
			t.Errorf("%s: %+v", r.Name, report)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"SPHardwareDataType":[{"number_processors":"proc 8:4:4"}],"SPStorageDataType":[{"size_in_bytes":1}]}`)
	f.Add(strings.Repeat("{", 100))
	f.Fuzz(func(t *testing.T, printed string) {
		r, err := Parse([]byte(printed))
		if err != nil && (r.Storage != nil || r.Hardware != Hardware{}) {
			t.Error("a report and an error")
		}
		if c := r.Hardware.Cores; c.Total < 0 || c.Performance+c.Efficiency > c.Total {
			t.Errorf("%+v", c)
		}
		for _, v := range r.Storage {
			if v.Free > v.Size {
				t.Errorf("%+v", v)
			}
		}
	})
}
