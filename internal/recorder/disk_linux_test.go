// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

func TestAFullDiskCostsNoSample(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	if err := unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "size=32k,mode=755"); err != nil {
		t.Fatal(err)
	}
	r := NewRing("/mnt/recorder")
	r.maxSegment = 10_000
	if err := r.Make(); err != nil {
		t.Fatal(err)
	}
	var kept []int
	var err error
	for n := 0; n < 1000 && err == nil; n++ {
		if err = r.Append(sampleAt(n), nothing); err == nil {
			kept = append(kept, n)
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || len(kept) < 100 {
		t.Fatalf("%d samples, %v", len(kept), err)
	}
	for range 3 {
		if err := r.Append(sampleAt(2000), nothing); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v", err)
		}
	}
	times, damaged := r.kept(t)
	if diff := cmp.Diff(timesOf(kept...), times); diff != "" || damaged != 0 {
		t.Errorf("%d damaged\n%s", damaged, diff)
	}
	if err := unix.Mount("", "/mnt", "", unix.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	r.mustAppend(t, sampleAt(3000))
	times, damaged = r.kept(t)
	if diff := cmp.Diff(timesOf(append(kept, 3000)...), times); diff != "" || damaged != 0 {
		t.Errorf("%d damaged, with room again\n%s", damaged, diff)
	}
	if _, err := os.Stat(r.path(1)); err != nil {
		t.Error(err)
	}
}

// A power cut leaves any part of the record that was being written, or what was never written in its
// place.
func TestAPowerCutCostsTheLastRecordAlone(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	if err := unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=755"); err != nil { // which has nothing to wait for
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", "/mnt")
	good := newRing(t)
	good.mustAppend(t, sampleAt(0), sampleAt(1))
	before, err := os.ReadFile(good.path(1))
	if err != nil {
		t.Fatal(err)
	}
	third := sampleAt(2)
	third.Figures = nil
	last, err := encode(third)
	if err != nil {
		t.Fatal(err)
	}
	damages := map[string][]byte{}
	for at := range last {
		cut := slices.Concat(before, last[:at])
		damages[fmt.Sprintf("cut after %d", at)] = cut
		damages[fmt.Sprintf("zeros after %d", at)] = slices.Concat(cut, make([]byte, len(last)-at))
		for _, b := range []byte{'\n', last[at] ^ 0x80, last[at] ^ 1} {
			changed := slices.Concat(before, last)
			changed[len(before)+at] = b
			damages[fmt.Sprintf("byte %d is %#x", at, b)] = changed
		}
	}
	for name, content := range damages {
		r := newRing(t)
		if err := os.WriteFile(r.path(1), content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, next := range [][]int{{}, {3}} {
			for _, n := range next {
				r.mustAppend(t, sampleAt(n))
			}
			times, _ := r.kept(t)
			whole := bytes.HasSuffix(content, last) || bytes.HasSuffix(content, bytes.TrimSuffix(last, []byte("\n")))
			want := timesOf(slices.Concat([]int{0, 1}, next)...)
			if whole {
				want = timesOf(slices.Concat([]int{0, 1, 2}, next)...)
			}
			if diff := cmp.Diff(want, times); diff != "" {
				t.Errorf("%q, then %v:\n%s", name, next, diff)
			}
		}
	}
	if len(damages) < 4*len(last) {
		t.Errorf("only %d damages", len(damages))
	}
}
