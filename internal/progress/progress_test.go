// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"strings"
	"testing"
)

func TestLineIsReadAsItWasWritten(t *testing.T) {
	for percent := range 101 {
		line := strings.TrimSuffix(Line(percent), "\n")
		if got, ok := Parse(line); !ok || got != percent {
			t.Errorf("%q: %d, %v", line, got, ok)
		}
	}
	if got := Line(42); got != "progress 42\n" {
		t.Errorf("%q", got)
	}
}

func TestOtherTextIsNoProgress(t *testing.T) {
	for _, line := range []string{
		"", "progress", "progress ", "progress  4", "progress 4 ", " progress 4", "Progress 4", "progress 04", "progress +4", "progress -0",
		"progress -1", "progress 101", "progress 4.5", "progress 4\n", "progress 4%", "progress ٤", "progress 99999999999999999999", "x progress 4",
	} {
		if percent, ok := Parse(line); ok {
			t.Errorf("%q is taken for %d", line, percent)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("progress 42")
	f.Add("progress 042")
	f.Fuzz(func(t *testing.T, line string) {
		if percent, ok := Parse(line); ok && (percent < 0 || percent > 100 || Line(percent) != line+"\n") {
			t.Errorf("%q: %d", line, percent)
		}
	})
}
