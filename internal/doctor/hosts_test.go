// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

func TestOtherMachinesAreAsked(t *testing.T) {
	p := well(t, nil)
	p.Version = "0.2.0"
	p.Others = func(context.Context) ([]Other, error) {
		return []Other{
			{Host: "web1", Version: "0.2.0"}, {Host: "old", Version: "0.1.0"}, {Host: "web2", Version: "0.2.0"},
			{Host: "gone", Err: fault.New(fault.HostUnreachable, "gone does not answer.")},
		}, nil
	}
	var said []string
	for _, f := range Examine(t.Context(), p).Checks {
		if f.ID == "hosts" {
			said = append(said, f.Status+" "+f.Value)
			if f.Status != OK && !strings.Contains(f.Fix, strings.Fields(f.Value)[0]) {
				t.Errorf("%+v", f)
			}
		}
	}
	want := []string{"warning old has sentinel 0.1.0, and this is 0.2.0.", "warning gone does not answer.", "ok 2 of 4 answer, with sentinel 0.2.0"}
	if !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
	p.Others = func(context.Context) ([]Other, error) { return nil, errors.New("the ssh of root would be asked") }
	if f := find(t, Examine(t.Context(), p), "hosts"); f.Status != Unknown || !strings.Contains(f.Value, "root") {
		t.Errorf("behind sudo: %+v", f)
	}
}
