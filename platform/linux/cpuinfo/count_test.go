// SPDX-License-Identifier: Apache-2.0

package cpuinfo

import (
	"errors"
	"os"
	"testing"
)

func TestProcessorsAreCountedByTheirEntries(t *testing.T) {
	for text, want := range map[string]int{
		"processor\t: 0\nmodel name\t: x\n\nprocessor\t: 1\nmodel name\t: x\n":                2,
		"Processor\t: ARMv7 Processor rev 4 (v7l)\nprocessor\t: 0\n":                          1,
		"processor\t: ARMv7 Processor rev 4 (v7l)\nprocessor\t: 0\n":                          1,
		"vendor_id : IBM/S390\n# processors : 2\nprocessor 0: version = FF\nprocessor 1: v\n": 2,
		"processor\t: 0":  1,
		"processors: 3\n": 0, "processor\n": 0, "processor 0\n": 0, "": 0, "x: y\n": 0, "processor: -1\n": 0, "processor: \n": 0,
	} {
		got, err := parseCount([]byte(text))
		if got != want || (want == 0) != errors.Is(err, ErrFormat) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	if got, err := Count(t.TempDir()); got != 0 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %d, %v", got, err)
	}
}

func FuzzCount(f *testing.F) {
	f.Add([]byte("processor\t: 0\nprocessor 1: x\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := parseCount(b); n < 0 || n > len(b) || (n == 0) != (err != nil) {
			t.Errorf("%d, %v", n, err)
		}
	})
}
