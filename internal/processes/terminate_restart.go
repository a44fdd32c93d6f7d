// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"

	"sentinel/internal/bound"
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
	if u.User || !u.service() {
		return r
	}
	policy, err := bound.Call(ctx, managerPeriod, func(ctx context.Context) (RestartPolicy, error) {
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
	case !r.unit.service():
		return nil, ""
	case r.unit.User:
		return nil, name + " is run by the service manager of the user, which may start it again."
	case !r.asked:
		return nil, name + " may start it again: the service manager did not say."
	case r.policy.MainPID == 0:
		return nil, name + " has no main process, and may start this one again."
	case !r.main:
		return nil, "It belongs to " + name + ", whose main process may start another; to restart the whole service, use restart_service."
	}
	will := r.willRestart(s)
	if will != nil && !*will {
		return will, ""
	}
	verb := "will"
	if will == nil {
		verb = "may"
	}
	return will, name + " " + verb + " start it again " + r.means()
}

// means says why, and what to do about it.
func (r restart) means() string {
	name := r.unit.restartName()
	keep := "; to restart it, use restart_service, and to keep it off, "
	switch {
	case !r.unit.Job:
		return "(Restart=" + r.policy.Restart + ")" + keep + "systemctl stop " + name + "."
	case r.policy.Restart == "":
		return "when it is needed" + keep + "sudo launchctl bootout " + name + "."
	}
	return "(KeepAlive)" + keep + "sudo launchctl bootout " + name + "."
}

// willRestart is the table of systemd.service(5) under Restart=. SIGKILL is an
// unclean end. SIGTERM is a clean one, unless the process handles it and exits with a
// status of its own.
func (r restart) willRestart(s Signal) *bool {
	yes, no := true, false
	switch r.policy.Restart {
	case "always":
		return &yes
	case "on-failure":
		if s == SignalTerm {
			return nil
		}
		return &yes
	case "on-success":
		if s == SignalTerm {
			return nil
		}
		return &no
	case "on-abnormal", "on-abort":
		is := s == SignalKill
		return &is
	case "no", "on-watchdog":
		return &no
	default:
		return nil
	}
}
