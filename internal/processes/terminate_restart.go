// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"

	"sentinel/internal/deadline"
	"sentinel/internal/sanitize"
)

// A restart is what is known about a process coming back.
type restart struct {
	unit   Unit
	policy RestartPolicy
	main   bool // the process is the one whose end counts
	asked  bool // the service manager has answered
}

// askRestart asks the service manager about a service of the system. What it
// does not say stays unknown.
func askRestart(ctx context.Context, source TerminationSource, pid int, u Unit) restart {
	r := restart{unit: u}
	if u.User || !u.Service {
		return r
	}
	policy, err := deadline.Call(ctx, managerPeriod, func(ctx context.Context) (RestartPolicy, error) {
		return source.RestartPolicy(ctx, u.Name)
	})
	if err != nil {
		return r
	}
	r.policy, r.asked, r.main = policy, true, policy.MainPID == pid
	return r
}

// after returns whether the service manager starts the process again when s has
// ended it, nil when that is not sure, and a sentence where something may start it.
func (r restart) after(s Signal) (*bool, string) {
	name := r.unit.Name
	switch {
	case !r.unit.Service:
		return nil, ""
	case r.unit.User:
		return nil, sanitize.Quoted(name, maxName) + " is run by the service manager of the user, which may start it again."
	case !r.asked:
		return nil, name + " may start it again: the service manager did not say."
	case r.policy.MainPID == 0:
		return nil, name + " has no main process, and may start this one again."
	case !r.main:
		return nil, "It belongs to " + name + ", whose main process may start another; to restart the whole service: sudo sentinel --restart-service " + r.unit.RestartName + "."
	}
	prediction, verb := r.policy.OnTerm, "may"
	if s == SignalKill {
		prediction = r.policy.OnKill
	}
	switch prediction {
	case StaysAway:
		return prediction.known(), ""
	case ComesBack:
		verb = "will"
	}
	return prediction.known(), name + " " + verb + " start it again " + r.policy.Cause +
		"; to restart it: sudo sentinel --restart-service " + r.unit.RestartName + ", and to keep it off: " + r.unit.StopCommand + "."
}
