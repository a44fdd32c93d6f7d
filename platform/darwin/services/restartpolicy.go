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
	label := entries[at].Label
	return processes.Unit{
		Name: label, User: !root, Service: true, RestartName: "system/" + label, StopCommand: "sudo launchctl bootout system/" + label,
	}, nil
}

// RestartPolicy predicts what launchd does when the process of a system job ends; see
// [processes.TerminationSource].
func RestartPolicy(ctx context.Context, runner sysexec.Runner, label string) (processes.RestartPolicy, error) {
	j, err := launchctl.Client{Runner: runner}.Print(ctx, "system/"+label)
	if err != nil {
		return processes.RestartPolicy{}, err
	}
	p := predict(j)
	p.MainPID = j.PID
	return p, nil
}

// predict reads KeepAlive of launchd.plist(5). What several conditions together
// come to, and when a message, a socket or an event starts a job, cannot be told. SIGTERM is
// success only for a process that handles it so.
func predict(j launchctl.Job) processes.RestartPolicy {
	p := processes.RestartPolicy{Cause: "(KeepAlive)"}
	switch {
	case j.KeepAlive:
		p.OnTerm, p.OnKill = processes.ComesBack, processes.ComesBack
	case len(j.Semaphores) == 1 && j.Semaphores[0] == "successful exit => 0":
		p.OnKill = processes.ComesBack
	case len(j.Semaphores) == 1 && j.Semaphores[0] == "successful exit => 1":
		p.OnKill = processes.StaysAway
	case len(j.Semaphores) > 0 || j.OnDemand:
		p.Cause = "when it is needed"
	default:
		p.OnTerm, p.OnKill = processes.StaysAway, processes.StaysAway
	}
	return p
}
