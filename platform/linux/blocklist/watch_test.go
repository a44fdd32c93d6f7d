// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"strings"
	"testing"

	"sentinel/platform/linux/systemd"
)

type fakeUnits struct {
	state systemd.UnitState
	did   string
}

func (f *fakeUnits) State(_ context.Context, name string) systemd.UnitState {
	if name != "sentinel-restore.timer" {
		return systemd.UnitState{}
	}
	return f.state
}

func (f *fakeUnits) Queue(_ context.Context, name string, start bool) error {
	f.did = map[bool]string{true: "start ", false: "stop "}[start] + name
	return nil
}

func TestTimerRunsOnlyWhileItIsNeeded(t *testing.T) {
	for name, test := range map[string]struct {
		state systemd.UnitState
		on    bool
		did   string
		fails string
	}{
		"the first block":      {systemd.UnitState{Loaded: true}, true, "start sentinel-restore.timer", ""},
		"the second block":     {systemd.UnitState{Loaded: true, Active: true}, true, "", ""},
		"the last unblock":     {systemd.UnitState{Loaded: true, Active: true}, false, "stop sentinel-restore.timer", ""},
		"nothing ever blocked": {systemd.UnitState{Loaded: true}, false, "", ""},
		"not installed":        {systemd.UnitState{}, true, "", ""},
		"masked":               {systemd.UnitState{Masked: true}, true, "", "is masked"},
		"masked, not needed":   {systemd.UnitState{Masked: true}, false, "", ""},
	} {
		f := &fakeUnits{state: test.state}
		err := Watch(t.Context(), f, test.on)
		if f.did != test.did || (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: did %q, %v", name, f.did, err)
		}
	}
}
