// SPDX-License-Identifier: Apache-2.0

package services

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/services"
)

func inspect(t *testing.T, m *fake, name string) services.Status {
	t.Helper()
	status, err := services.Inspect(t.Context(), source(t, m), services.Question{Name: name, Rows: -1, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func TestStatusOfAJobThatRuns(t *testing.T) {
	m := mac(map[string]*job{web: with(func(j *job) { j.pid = 700 })})
	s := inspect(t, m, "com.example.web").Services[0]
	if !s.Well || s.State.Active != "active" || s.Runs != 3 || s.UnitFile != "/Library/LaunchDaemons/com.example.web.plist" || s.Since != "2025-09-01T09:00:00Z" {
		t.Errorf("%+v", s)
	}
	if r := s.Resources; r == nil || r.Processes != 3 || *r.MemoryBytes != 3*1292<<10 || *r.CPUSeconds != 6 || *r.CPUPercent != 0 || r.MemoryLimitBytes != 0 {
		t.Errorf("%+v", s.Resources)
	}
	want := []string{"launchd starts it again whenever it ends (KeepAlive)", "it is started when it is loaded (RunAtLoad)"}
	if diff := cmp.Diff(want, s.RestartedBy); diff != "" {
		t.Error(diff)
	}
}

func TestStatusOfAJobThatFailed(t *testing.T) {
	m := mac(map[string]*job{web: with(func(j *job) { j.pid, j.keep, j.ended = 0, false, "\tlast exit code = 78: EX_CONFIG\n" })})
	s := inspect(t, m, web).Services[0]
	if s.Well || s.Summary != web+" failed: it ended with exit status 78 (its configuration is wrong)." || len(s.Log) != 1 || s.Log[0].Text != "web[1001] cannot open port" {
		t.Errorf("%+v", s)
	}
}

// Jobs of macOS itself end with a failure every day.
func TestJobsThatAreNotWell(t *testing.T) {
	m := mac(map[string]*job{
		web: with(func(j *job) { j.pid, j.keep, j.ended = 0, false, "\tlast exit code = 3\n" }), "system/com.apple.thing": with(func(j *job) { j.pid = 0 }), "system/com.example.fine": up(),
	})
	m.statuses = map[string]int{"com.example.web": 3, "com.apple.thing": 5}
	status := inspect(t, m, "")
	if len(status.Services) != 1 || status.Services[0].Name != web || status.Total != 1 {
		t.Errorf("%+v", status)
	}
	m.statuses["com.example.web"] = -sigterm
	if status := inspect(t, m, ""); len(status.Services) != 0 {
		t.Errorf("one that was asked to end: %+v", status)
	}
}
