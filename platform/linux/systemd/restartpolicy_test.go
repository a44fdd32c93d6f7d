// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"testing"

	"sentinel/internal/processes"
)

func TestPredictionsFollowTheTableOfRestart(t *testing.T) {
	const may, yes, no = processes.Uncertain, processes.ComesBack, processes.StaysAway
	for restart, want := range map[string]struct{ kill, term processes.Prediction }{
		"no": {no, no}, "always": {yes, yes}, "on-success": {no, may}, "on-failure": {yes, may}, "on-abnormal": {yes, no},
		"on-abort": {yes, no}, "on-watchdog": {no, no}, "on-tuesdays": {may, may},
	} {
		if p := Predict(restart, nil, nil); p.OnKill != want.kill || p.OnTerm != want.term || p.Cause != "(Restart="+restart+")" {
			t.Errorf("Restart=%s: %+v", restart, p)
		}
	}
}

// A unit names ends after which it is not started again, and such that are none of a failure.
func TestPredictionsHeedExitStatuses(t *testing.T) {
	const may, yes, no = processes.Uncertain, processes.ComesBack, processes.StaysAway
	killed, term := []any{[]int32{}, []int32{9}}, []any{[]int32{}, []int32{15}}
	status, none := []any{[]int32{143}, []int32{}}, []any{[]int32{}, []int32{}}
	for _, c := range []struct {
		restart          string
		prevent, success []any
		kill, term       processes.Prediction
	}{
		{"always", none, none, yes, yes}, {"always", killed, none, no, yes}, {"always", term, none, yes, may}, {"always", status, none, yes, may},
		{"always", none, killed, yes, yes}, {"on-failure", none, killed, no, may}, {"on-failure", none, term, yes, may}, {"on-failure", killed, none, no, may},
		{"on-success", none, killed, yes, may}, {"on-success", killed, killed, no, may}, {"on-abnormal", none, killed, no, no}, {"on-abort", none, status, yes, no},
		{"always", []any{"x", "y"}, none, no, may},
	} {
		if p := Predict(c.restart, c.prevent, c.success); p.OnKill != c.kill || p.OnTerm != c.term {
			t.Errorf("%+v: %+v", c, p)
		}
	}
}

// What other units may start does not surely stay away; what comes back anyhow does.
func TestPredictionsHeedWhatOthersStart(t *testing.T) {
	const may, yes, no = processes.Uncertain, processes.ComesBack, processes.StaysAway
	upheld, triggered := map[string]any{"UpheldBy": []string{"a.service"}, "OnFailure": []string{}}, map[string]any{"TriggeredBy": []string{"a.timer", "b.path", "c.socket", "d.timer"}}
	for _, c := range []struct {
		restart    string
		unit       map[string]any
		kill, term processes.Prediction
		cause      string
	}{
		{"no", nil, no, no, "(Restart=no)"},
		{"no", upheld, may, may, "(Restart=no, UpheldBy=a.service)"},
		{"on-abort", triggered, yes, may, "(Restart=on-abort, TriggeredBy=a.timer b.path c.socket)"},
		{"always", upheld, yes, yes, "(Restart=always)"},
		{"no", map[string]any{"OnFailure": []string{"a.service"}, "OnSuccess": []string{"b.service"}}, may, may, "(Restart=no, OnFailure=a.service, OnSuccess=b.service)"},
	} {
		if p := doubted(Predict(c.restart, nil, nil), c.unit); p.OnKill != c.kill || p.OnTerm != c.term || p.Cause != c.cause {
			t.Errorf("%+v: %+v", c, p)
		}
	}
}
