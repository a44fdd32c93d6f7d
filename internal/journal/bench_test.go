// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"strings"
	"testing"
)

// What an action pays for its record: two lines, each synced with its head.
func BenchmarkAction(b *testing.B) {
	j := fresh(b)
	for b.Loop() {
		finish(b, begin(b, j, "brute force"))
	}
}

func full(b *testing.B) *Journal {
	b.Helper()
	j := fresh(b)
	for range 2000 {
		finish(b, begin(b, j, strings.Repeat("reason ", 30)))
	}
	b.ResetTimer()
	return j
}

func BenchmarkVerify4000(b *testing.B) {
	j := full(b)
	for b.Loop() {
		sound(b, j)
	}
}

func BenchmarkHistory20Of2000(b *testing.B) {
	j := full(b)
	for b.Loop() {
		if h, err := j.History(b.Context(), 20, nil); err != nil || h.Total != 2000 {
			b.Fatal(h.Total, err)
		}
	}
}
