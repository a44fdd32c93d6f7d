// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sampleAt(n int) Sample {
	return Sample{Time: int64(1_800_000_000 + 60*n), Boot: "b.1", Up: float64(60 * n), Span: 60, Figures: map[string]float64{"load": 0.25 * float64(n)}}
}

func newRing(t *testing.T) Ring {
	t.Helper()
	r := NewRing(filepath.Join(t.TempDir(), "recorder"))
	if err := r.Make(); err != nil {
		t.Fatal(err)
	}
	return r
}

// nothing is what there is to save beside a sample.
func nothing() error { return nil }

func (r Ring) mustAppend(t *testing.T, samples ...Sample) {
	t.Helper()
	for _, s := range samples {
		if err := r.Append(s, nothing); err != nil {
			t.Fatal(err)
		}
	}
}

// kept returns the times of the samples.
func (r Ring) kept(t *testing.T) (times []int64, damaged int) {
	t.Helper()
	damaged, err := r.Records(func(record Record) error {
		times = append(times, record.Time)
		_, err := record.Sample()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(times)
	return times, damaged
}

func timesOf(numbers ...int) (times []int64) {
	for _, n := range numbers {
		times = append(times, sampleAt(n).Time)
	}
	return times
}

func TestTheNewestSamplesAreKept(t *testing.T) {
	r := newRing(t)
	r.maxSegment, r.maxSegments = 1000, 3
	const all = 100
	for n := range all {
		r.mustAppend(t, sampleAt(n))
	}
	times, damaged := r.kept(t)
	first := int(times[0]-sampleAt(0).Time) / 60
	var want []int
	for n := first; n < all; n++ {
		want = append(want, n)
	}
	if diff := cmp.Diff(timesOf(want...), times); diff != "" || damaged != 0 || len(times) < 15 || len(times) > 40 {
		t.Errorf("%d samples, %d damaged\n%s", len(times), damaged, diff)
	}
	files, err := filepath.Glob(filepath.Join(r.Dir, "*"))
	if err != nil || len(files) != 3 {
		t.Errorf("%v, %v", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || info.Size() > 1000 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	if info, err := os.Stat(r.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestAWeekOfTheLargestRecordsFitsSixteenMegabytes(t *testing.T) {
	if kept := (maxSegments - 1) * ((maxSegment - maxRecord) / maxRecord); kept < 7*24*60 {
		t.Errorf("%d samples are kept", kept)
	}
	if maxSegments*maxSegment > 16_000_000 {
		t.Error("it is larger")
	}
}

func TestWhatIsNoSegmentIsLeftAlone(t *testing.T) {
	r := newRing(t)
	r.maxSegment, r.maxSegments = 400, 2
	for _, name := range []string{"1.records", "00000000.records", "-0000001.records", "last.json", "lock", "00000002.records.old"} {
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		r.mustAppend(t, sampleAt(n))
	}
	if times, damaged := r.kept(t); damaged != 0 || times[len(times)-1] != sampleAt(19).Time {
		t.Errorf("%v, %d", times, damaged)
	}
	if files, err := os.ReadDir(r.Dir); err != nil || len(files) != 6+2 {
		t.Errorf("%v, %v", files, err)
	}
}

// A sample whose successor would not know it is not kept: its events would be told twice.
func TestASampleIsKeptWithWhatTheNextOneNeeds(t *testing.T) {
	r := newRing(t)
	r.mustAppend(t, sampleAt(0))
	full := errors.New("no space left on device")
	if err := r.Append(sampleAt(1), func() error { return full }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	times, damaged := r.kept(t)
	if diff := cmp.Diff(timesOf(0), times); diff != "" || damaged != 0 {
		t.Errorf("%d damaged\n%s", damaged, diff)
	}
}

func TestLinksAndFoldersOfOthersAreRefused(t *testing.T) {
	r := newRing(t)
	target := filepath.Join(t.TempDir(), "target")
	if err := errors.Join(os.WriteFile(target, nil, 0o600), os.Symlink(target, r.path(1))); err != nil {
		t.Fatal(err)
	}
	if err := r.Append(sampleAt(0), nothing); err == nil {
		t.Error("a link is followed")
	}
	if raw, err := os.ReadFile(target); err != nil || len(raw) > 0 {
		t.Errorf("%q, %v", raw, err)
	}
	if err := errors.Join(os.Remove(r.path(1)), os.Mkdir(r.path(1), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := r.Append(sampleAt(0), nothing); err == nil {
		t.Error("a folder takes a sample")
	}
	open := Ring{Dir: t.TempDir(), maxSegment: maxSegment, maxSegments: maxSegments}
	if err := os.Chmod(open.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := open.Make(); err == nil || !strings.Contains(err.Error(), "written by others") {
		t.Errorf("a folder that others can write: %v", err)
	}
	if _, err := NewRing(filepath.Join(r.Dir, "none")).Records(func(Record) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
