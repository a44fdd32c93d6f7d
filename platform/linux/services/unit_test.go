// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/services"
)

// A reload changes the state twice, and an active service stays active.
func TestSinceIsNotOfAReload(t *testing.T) {
	p := properties{"ActiveEnterTimestamp": uint64(1e6), "InactiveEnterTimestamp": uint64(2e6), "StateChangeTimestamp": uint64(3e6)}
	for state, want := range map[string]int64{"active": 1, "inactive": 2, "failed": 2, "activating": 3, "reloading": 3} {
		p["ActiveState"] = state
		if got := common(p).Since; !got.Equal(time.Unix(want, 0)) {
			t.Errorf("%s: since %v, want %d", state, got, want)
		}
	}
}

func TestUnitsThatIsolateAreActionsOnTheSystem(t *testing.T) {
	p := properties{
		"FailureAction": "none", "OnFailure": []string{"maintenance.target"}, "OnFailureJobMode": "isolate",
		"OnSuccess": []string{"next.target"}, "OnSuccessJobMode": "fail",
	}
	if diff := cmp.Diff([]string{"none", "stop all but maintenance.target on"}, common(p).Actions); diff != "" {
		t.Error(diff)
	}
	p["OnFailure"], p["OnSuccessJobMode"] = []string{}, "isolate"
	if diff := cmp.Diff([]string{"none", "stop all but next.target on"}, common(p).Actions); diff != "" {
		t.Error(diff)
	}
}

// What a service does after a signal is what terminate_process foretells of it.
func TestWhatComesBackAfterWhichSignal(t *testing.T) {
	for restart, want := range map[string][2]bool{
		"": {}, "no": {}, "on-watchdog": {}, "on-success": {}, "on-failure": {true, false}, "on-abort": {true, false}, "always": {true, true},
	} {
		var u services.Unit
		service(properties{"Restart": restart}, &u)
		if got := [2]bool{u.BackAfterKill, u.BackAfterTerm}; got != want {
			t.Errorf("%q: %v", restart, got)
		}
	}
}

func TestAServiceThatWasStartedOftenMayStayOff(t *testing.T) {
	long, just := time.Now().Add(-time.Hour), time.Now()
	for name, c := range map[string]struct {
		burst    uint32
		interval uint64
		started  time.Time
		limited  bool
	}{
		"never again":   {5, 10_000_000, just, true},
		"a while ago":   {5, 10_000_000, long, false},
		"never started": {5, 10_000_000, time.Time{}, false},
		"a long time":   {5, 7_200_000_000, long, true},
		"one start":     {1, 10_000_000, just, true},
		"no limit":      {0, 10_000_000, just, false},
		"no time":       {5, 0, just, false},
		"in no future":  {5, 10_000_000, just.Add(time.Hour), true},
	} {
		p := properties{"StartLimitBurst": c.burst, "StartLimitIntervalUSec": c.interval}
		if got := startLimited(p, c.started); got != c.limited {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhatDoesNotSurelyComeBack(t *testing.T) {
	var u services.Unit
	service(properties{"Restart": "always", "RestartPreventExitStatus": []any{[]int32{}, []int32{9}}, "RemainAfterExit": true}, &u)
	if u.BackAfterKill || !u.BackAfterTerm || !u.StaysExited {
		t.Errorf("%+v", u)
	}
	service(properties{"Restart": "on-failure", "SuccessExitStatus": []any{[]int32{}, []int32{9}}}, &u)
	if u.BackAfterKill {
		t.Errorf("%+v", u)
	}
}
