// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"slices"
	"strings"
	"time"

	"sentinel/internal/services"
	"sentinel/platform/darwin/launchctl"
	"sentinel/platform/darwin/ps"
)

// restartedBy says what makes launchd start a job again (launchd.plist(5)).
func restartedBy(j launchctl.Job) []string {
	var list []string
	switch {
	case j.KeepAlive:
		list = append(list, "launchd starts it again whenever it ends (KeepAlive)")
	case len(j.Semaphores) > 0:
		list = append(list, "launchd starts it again on conditions (KeepAlive: "+strings.Join(j.Semaphores[:min(len(j.Semaphores), 5)], ", ")+")")
	}
	if j.OnDemand {
		list = append(list, "it is started when it is needed, by a message, a socket or an event")
	}
	if j.RunAtLoad {
		list = append(list, "it is started when it is loaded (RunAtLoad)")
	}
	return list
}

// Suspects implements [services.Inspector]: jobs without a process whose last run failed. Those of macOS
// itself are left out: many end so in the course of their work.
func (m *manager) Suspects(ctx context.Context) ([][]string, int, error) {
	entries, err := m.ctl.List(ctx)
	if err != nil {
		return nil, 0, known(err, m.EUID == 0)
	}
	rows := [][]string{}
	for _, e := range entries {
		ended := e.PID == 0 && e.Status != 0 && e.Status != -sigkill && e.Status != -sigterm
		if _, err := jobName(e.Label); err == nil && ended && !strings.HasPrefix(e.Label, "com.apple.") {
			rows = append(rows, []string{e.Label})
		}
	}
	return rows, 0, nil
}

// Use implements [services.Inspector]. macOS has no control groups: it is what the process of the job and
// its descendants use, without limits.
func (m *manager) Use(ctx context.Context, u services.Unit) (services.Use, error) {
	if u.MainPID == 0 {
		return services.Use{}, nil
	}
	table, err := ps.Table(ctx, m.Runner)
	if err != nil {
		return services.Use{}, err
	}
	use := services.Use{PIDs: []int{}}
	var memory uint64
	var cpu time.Duration
	pids := family(table, u.MainPID)
	for _, p := range table {
		if !slices.Contains(pids, p.PID) {
			continue
		}
		use.PIDs = append(use.PIDs, p.PID)
		memory, cpu = memory+p.RSS, cpu+p.CPU
		if p.PID == u.MainPID {
			use.Started = p.Started
		}
	}
	if len(use.PIDs) > 0 {
		use.Memory, use.CPU = &memory, &cpu
	}
	return use, nil
}

// maxFamily bounds how many processes of a job are counted.
const maxFamily = 256

// family returns a process and its descendants.
func family(table []ps.Process, main int) []int {
	pids := []int{main}
	for i := 0; i < len(pids) && len(pids) < maxFamily; i++ {
		for _, p := range table {
			if p.PPID == pids[i] && !slices.Contains(pids, p.PID) {
				pids = append(pids, p.PID)
			}
		}
	}
	return pids
}

// FirstRestart implements [services.Inspector]. launchd does not tell.
func (m *manager) FirstRestart(context.Context, string) (time.Time, error) { return time.Time{}, nil }

// TestConfiguration implements [services.Manager]. What runs on a Mac is not installed where root alone
// can write.
func (m *manager) TestConfiguration(context.Context, services.Unit) *services.ConfigTest { return nil }

// Obstacles implements [services.Manager]. What a job of launchd needs is not looked at.
func (m *manager) Obstacles(context.Context, services.Unit) ([]services.Obstacle, error) {
	return nil, nil
}
