// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"sentinel/internal/ops"
)

func TestTimerIsWantedWhileThereIsSomethingToRestore(t *testing.T) {
	restore := ops.Operation{Name: "restore_blocklist"}
	for name, test := range map[string]struct {
		files map[string]string
		kept  bool
		op    ops.Operation
		want  string
	}{
		"nothing":                 {nil, false, restore, "off"},
		"an empty list":           {map[string]string{"blocklist.json": `{"version":1,"entries":[]}`}, false, restore, "off"},
		"a list":                  {map[string]string{"blocklist.json": `{"version":1,"entries":[{"ip":"203.0.113.7","reason":"","blocked_by":"root","blocked_at":"2026-01-02T03:04:05Z"}]}`}, false, restore, "on"},
		"a list that is damaged":  {map[string]string{"blocklist.json": `{`}, false, restore, "on"},
		"a trial that is damaged": {map[string]string{"firewall-trial.json": `{`}, false, restore, "on"},
		"a firewall":              {nil, true, restore, "on"},
		"another operation":       {nil, true, ops.Operation{Name: "restart_service"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, _ := restoring(t, "1")
			if err := os.Remove(filepath.Join(s.stateDir, trialName)); err != nil {
				t.Fatal(err)
			}
			for path, content := range test.files {
				if err := os.WriteFile(filepath.Join(s.stateDir, path), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			s.host.Blocklist.BaselineKept = func() bool { return test.kept }
			s.host.Blocklist.Watch = func(_ context.Context, on bool) error {
				got = map[bool]string{true: "on", false: "off"}[on]
				return nil
			}
			if err := s.watch(t.Context(), test.op); err != nil || got != test.want {
				t.Errorf("the timer: %q, %v; want %q", got, err, test.want)
			}
		})
	}
}
