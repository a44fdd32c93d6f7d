// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
)

// sampled has a recorder that took a sample just now.
func sampled(context.Context) (Recording, error) { return Recording{Last: time.Now()}, nil }

func TestTheRecorderIsJudgedByItsLastSample(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		seen    Recording
		err     error
		timer   string
		service string
		status  string
		says    string
		fix     string
	}{
		"a sample just now": {Recording{Last: now}, nil, "active", "inactive", OK, "The last sample is of " + now.UTC().Format(time.RFC3339), ""},
		"switched off":      {Recording{Off: true}, nil, "inactive", "", OK, "switched off in the configuration", ""},
		"no timer":          {Recording{Last: now}, nil, "inactive", "", Warning, "sentinel-record.timer does not run, so get_health_history", "sudo systemctl enable --now sentinel-record.timer"},
		"a run that failed": {Recording{Last: now}, nil, "active", "failed", Problem, "sentinel-record.service has failed", "journalctl --unit sentinel-record.service"},
		"none yet":          {Recording{}, nil, "active", "", Warning, "No sample was taken yet", "sudo sentinel --record"},
		"an old one":        {Recording{Last: now.Add(-staleSample - time.Minute)}, nil, "active", "", Warning, "one a minute is usual", "sudo sentinel --record"},
		"not for everybody": {Recording{}, fs.ErrPermission, "active", "", OK, "sentinel-record.timer runs; when it took its last sample only root can tell", ""},
		"timer not known":   {Recording{}, fs.ErrPermission, "", "", Unknown, "Only root can tell", "sudo sentinel --doctor"},
		"damaged":           {Recording{}, errors.New("it has another form"), "active", "", Problem, "cannot be read: it has another form", "sudo sentinel --record"},
	} {
		t.Run(name, func(t *testing.T) {
			p := well(t, nil)
			p.Recorder = func(context.Context) (Recording, error) { return test.seen, test.err }
			p.UnitState = func(_ context.Context, unit string) (string, error) {
				return map[string]string{recordTimer: test.timer, recordService: test.service}[unit], nil
			}
			f := find(t, Examine(t.Context(), p), "recorder")
			if f.Status != test.status || !strings.Contains(f.Value, test.says) || !strings.Contains(f.Fix, test.fix) || f.Status == OK && f.Fix != "" {
				t.Errorf("%+v, want %s, %q, fix %q", f, test.status, test.says, test.fix)
			}
		})
	}
}

func TestARecorderThatIsNotInstalled(t *testing.T) {
	p := well(t, nil)
	must(t, os.Remove(p.at("/etc/systemd/system/sentinel-record.timer")))
	if f := find(t, Examine(t.Context(), p), "recorder"); f.Status != Warning || !strings.Contains(f.Value, "sentinel-record.timer is not installed") || f.Fix == "" {
		t.Errorf("%+v", f)
	}
	must(t, os.RemoveAll(p.at("/run/systemd")))
	if f := find(t, Examine(t.Context(), p), "recorder"); f.Status != OK {
		t.Errorf("without systemd something else may take samples: %+v", f)
	}
}
