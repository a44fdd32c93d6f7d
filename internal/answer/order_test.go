// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"slices"
	"testing"
)

func TestTrueFirst(t *testing.T) {
	rows := []bool{false, true, false, true}
	slices.SortFunc(rows, TrueFirst)
	if !slices.Equal(rows, []bool{true, true, false, false}) {
		t.Error(rows)
	}
}
