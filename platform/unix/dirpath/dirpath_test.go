// SPDX-License-Identifier: Apache-2.0

package dirpath

import (
	"strings"
	"testing"
)

// A path is whole up to a bound, and then has as many whole names at each end as have room.
func TestALongPathKeepsItsEnds(t *testing.T) {
	name := strings.Repeat("n", 127) // with its slash a power of two
	top := &Dir{}
	in := func(d *Dir, name string) *Dir {
		sub := d.In(name)
		return &sub
	}
	d := top
	for range 2 * MaxEnd / 128 {
		d = in(d, name)
	}
	half := strings.Repeat("/"+name, MaxEnd/128)
	if got := d.String(); got != half+half {
		t.Errorf("%d bytes, want %d", len(got), 2*MaxEnd)
	}
	if got := in(d, "x").String(); got != half+"/…"+half[128:]+"/x" {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if b := in(in(top, "a"), "b"); top.String() != "" || b.String() != "/a/b" || b.Len() != 4 || b.From(2) != "/b" {
		t.Errorf("%q, %q, %d bytes, %q", top, b, b.Len(), b.From(2))
	}
}
