// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"time"
)

func TestReportsAreJudgedByWhatBecameOfThem(t *testing.T) {
	at, before := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 4, 30, 12, 0, 0, 0, time.UTC)
	now := time.Now()
	for name, test := range map[string]struct {
		seen   Reporting
		err    error
		state  string
		status string
		says   string
		fix    string
	}{
		"nobody to report to": {Reporting{}, nil, "inactive", OK, "No receiver is configured", ""},
		"not for everybody":   {Reporting{Endpoints: 2}, nil, "active", Unknown, "2 endpoints are configured; only root", "sudo sentinel --doctor"},
		"unreadable":          {Reporting{}, fs.ErrPermission, "active", Unknown, "only root", "sudo sentinel --doctor"},
		"no timer":            {Reporting{Endpoints: 1, Known: true}, nil, "inactive", Warning, "sentinel-report.timer does not run", "systemctl enable --now sentinel-report.timer"},
		"none yet":            {Reporting{Endpoints: 1, Known: true}, nil, "active", Warning, "no report was sent yet", "sudo sentinel --report"},
		"all well":            {Reporting{Endpoints: 1, Known: true, Last: &Sent{now, "done", "x"}}, nil, "active", OK, "The last report arrived, " + now.UTC().Format(time.RFC3339), ""},
		"an old one":          {Reporting{Endpoints: 1, Known: true, Last: &Sent{now.Add(-staleReport - time.Minute), "done", "x"}}, nil, "active", Warning, "one every five minutes is usual", "sudo sentinel --report"},
		"kept": {Reporting{Endpoints: 1, Known: true, Last: &Sent{at, "pending", "HOOK did not answer."}, Waiting: 3, Bytes: 21000, Arrived: before}, nil, "active", Warning,
			"not delivered, 2026-05-01T12:00:00Z: HOOK did not answer.; waiting: 3 (21 KiB); the last one arrived 2026-04-30T12:00:00Z", "--report"},
		"refused":            {Reporting{Endpoints: 1, Known: true, Last: &Sent{at, "failed", "HOOK said 400."}}, nil, "active", Problem, "HOOK said 400.; none has arrived yet", "--report"},
		"something is stuck": {Reporting{Endpoints: 2, Known: true, Last: &Sent{at, "done", "x"}, Waiting: 1, Bytes: 10}, nil, "active", Warning, "waiting: 1 (1 KiB)", "--report"},
	} {
		t.Run(name, func(t *testing.T) {
			p := well(t, nil)
			p.Reports = func(context.Context) (Reporting, error) { return test.seen, test.err }
			p.UnitState = func(_ context.Context, unit string) (string, error) {
				return map[string]string{"sentinel-report.timer": test.state}[unit], nil
			}
			f := find(t, Examine(t.Context(), p), "reporting")
			if f.Status != test.status || !strings.Contains(f.Value, test.says) || !strings.Contains(f.Fix, test.fix) || f.Status == OK && f.Fix != "" {
				t.Errorf("%+v, want %s, %q, fix %q", f, test.status, test.says, test.fix)
			}
		})
	}
}
