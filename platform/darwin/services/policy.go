// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"slices"

	"sentinel/internal/processes"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/launchctl"
)

// Of returns the job of the system that has the process as its own, an empty Unit
// when none has it. For root that is a daemon; others see the jobs of their own alone.
func Of(ctx context.Context, runner sysexec.Runner, pid int, root bool) (processes.Unit, error) {
	entries, err := launchctl.Client{Runner: runner}.List(ctx)
	if err != nil {
		return processes.Unit{}, err
	}
	at := slices.IndexFunc(entries, func(e launchctl.Entry) bool { return e.PID == pid })
	if at < 0 {
		return processes.Unit{}, nil
	}
	return processes.Unit{Name: entries[at].Label, User: !root, Job: true}, nil
}

// RestartPolicy asks what launchd does when the process of a job of the system
// ends; see [processes.TerminationSource]. The conditions of launchd.plist(5) under KeepAlive are
// told in the words of systemd.service(5).
func RestartPolicy(ctx context.Context, runner sysexec.Runner, label string) (processes.RestartPolicy, error) {
	j, err := launchctl.Client{Runner: runner}.Print(ctx, "system/"+label)
	if err != nil {
		return processes.RestartPolicy{}, err
	}
	return processes.RestartPolicy{Restart: policy(j), MainPID: j.PID}, nil
}

// policy leaves out what cannot be told: several conditions together, and jobs that
// a message, a socket or an event starts.
func policy(j launchctl.Job) string {
	switch {
	case j.KeepAlive:
		return "always"
	case len(j.Semaphores) == 1 && j.Semaphores[0] == "successful exit => 0":
		return "on-failure"
	case len(j.Semaphores) == 1 && j.Semaphores[0] == "successful exit => 1":
		return "on-success"
	case len(j.Semaphores) > 0 || j.OnDemand:
		return ""
	}
	return "no"
}
