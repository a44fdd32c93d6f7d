// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pressureFile = "some avg10=1.22 avg60=0.81 avg300=0.44 total=98122013\nfull avg10=0.37 avg60=0.12 avg300=0.05 total=20118220\n"

func TestPressureReadsBothLines(t *testing.T) {
	got, err := ParsePressure([]byte(pressureFile))
	want := Pressure{Some: Stall{1.22, 0.81, 0.44}, Full: &Stall{0.37, 0.12, 0.05}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestPressureOfOldKernelsHasNoFullLine(t *testing.T) {
	got, err := ParsePressure([]byte("some avg10=1.22 avg60=0.81 avg300=0.44 total=98122013\n"))
	if err != nil || got.Full != nil || got.Some.Avg10 != 1.22 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestPressureRefusesWhatIsNotOne(t *testing.T) {
	for _, bad := range []string{
		"", "\n", "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", "some avg10=1.00\n",
		"some avg10=x avg60=0.81 avg300=0.44 total=1\n", "some avg10=-1 avg60=0.81 avg300=0.44 total=1\n",
		"some avg10=100.01 avg60=0.81 avg300=0.44 total=1\n", "some avg10=NaN avg60=0.81 avg300=0.44 total=1\n",
		"some avg60=1.22 avg10=0.81 avg300=0.44 total=1\n", "some 1.22 0.81 0.44 1\n",
	} {
		if got, err := ParsePressure([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: got %+v, %v", bad, got, err)
		}
	}
}

// A file cut after its first line looks like that of an older kernel.
func TestCutPressureIsWholeLines(t *testing.T) {
	beginnings(t, pressureFile, ParsePressure, func(got, want Pressure) bool {
		return got.Some == want.Some && (got.Full == nil || *got.Full == *want.Full)
	})
}

func TestPressureOfAGroupIsReadByPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpu.pressure")
	if err := os.WriteFile(path, []byte(pressureFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadPressure(path); err != nil || got.Some.Avg60 != 0.81 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := ReadPressure(path + ".not"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func FuzzPressure(f *testing.F) {
	f.Add([]byte(pressureFile))
	f.Add([]byte("some avg10=0x1p2 avg60=1e1 avg300=100.00 total=0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParsePressure(b)
		if err != nil {
			return
		}
		stalls := []Stall{p.Some}
		if p.Full != nil {
			stalls = append(stalls, *p.Full)
		}
		for _, s := range stalls {
			sane(t, s.Avg10, 100)
			sane(t, s.Avg60, 100)
			sane(t, s.Avg300, 100)
		}
	})
}
