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
		if p := Predict(restart); p.OnKill != want.kill || p.OnTerm != want.term || p.Cause != "(Restart="+restart+")" {
			t.Errorf("Restart=%s: %+v", restart, p)
		}
	}
}
