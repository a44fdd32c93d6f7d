// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"
	"strings"

	"sentinel/internal/sanitize"
)

// exitMeanings are those of exit statuses that programs share (sysexits.h(3head), the shell's of
// POSIX.1-2017 XCU 2.8.2). Those of a service manager itself are in its [Kind].
var exitMeanings = map[int]string{
	64: "wrong use of its command line", 65: "data that it cannot use", 66: "a file that it reads is missing or cannot be read", 67: "an unknown user",
	68: "an unknown host", 69: "something that it needs is not available", 70: "an internal error", 71: "the system refused it something", 72: "a file of the system is missing",
	73: "it could not create a file", 74: "a read or a write failed", 75: "a failure that may pass", 76: "a protocol was broken", 77: "it lacks a permission",
	78: "its configuration is wrong", 126: "a command could not be executed", 127: "a command was not found",
}

// signalMeanings are what it means for a service to have been ended so.
var signalMeanings = map[string]string{
	"SIGKILL": "it was killed, by somebody or for want of memory", "SIGTERM": "it was asked to end", "SIGSEGV": "it crashed: invalid access to memory",
	"SIGBUS": "it crashed: invalid access to memory or to a file that was cut", "SIGABRT": "it gave up on an internal error", "SIGFPE": "it crashed in its arithmetic",
	"SIGILL": "it crashed on an instruction that this processor does not have", "SIGSYS": "it made a system call that its unit forbids",
	"SIGXCPU": "it used more processor time than its limit", "SIGXFSZ": "it wrote a larger file than its limit allows", "SIGHUP": "its terminal or session ended",
	"SIGINT": "it was interrupted", "SIGPIPE": "who read its output was gone", "SIGTRAP": "it hit a trap of its own",
}

// meaning says in words how the main process of a service ended; "" where that is not known.
func (k *Kind) meaning(u Unit) string {
	s := k.state(u, 0)
	switch {
	case u.Reason != "" && u.MainPID == 0:
		return shown(u.Reason)
	case s.Signal != "":
		return signalMeanings[s.Signal]
	case s.ExitStatus == nil || *s.ExitStatus == 0:
		return ""
	case k.Exits[*s.ExitStatus] != "":
		return k.Exits[*s.ExitStatus]
	}
	return exitMeanings[*s.ExitStatus]
}

// ending describes why a service failed, by the result of org.freedesktop.systemd1(5).
func (k *Kind) ending(u Unit) string {
	switch u.Result {
	case "oom-kill":
		return "it was killed because memory ran out"
	case "timeout":
		return "it did not start or stop in time" + k.how(u)
	case "watchdog":
		return "it stopped giving signs of life to its watchdog"
	case "resources":
		return k.Name + " could not set up what it needs"
	case "protocol":
		return "it did not start as the type in its unit file says"
	case "exec-condition":
		return "a condition command of its unit file did not allow it"
	case "start-limit-hit":
		return "it was started too often (start limit)"
	}
	s := k.state(u, 0)
	end := "it failed"
	switch {
	case s.Signal != "":
		end = "it was ended by " + s.Signal
	case s.ExitStatus != nil:
		end = fmt.Sprintf("it ended with exit status %d", *s.ExitStatus)
	}
	if meaning := k.meaning(u); meaning != "" {
		end += " (" + meaning + ")"
	}
	return end
}

// trouble says what is wrong with a unit, in a sentence.
func (k *Kind) trouble(u Unit) string {
	name := shown(u.Name)
	switch {
	case u.Missing:
		return name + " does not exist."
	case u.Unusable != nil:
		return shownError(u.Unusable)
	case waitsToRestart(u):
		return fmt.Sprintf("%s keeps dying: %s, and %s starts it again (%d times so far).", name, k.ending(u), k.Name, u.Restarts)
	case u.Active == "failed":
		return name + " failed: " + k.ending(u) + "."
	case u.Unmet:
		return "A condition of " + name + " is not met, so it was not started."
	}
	return name + " is off."
}

// summary says how a service is and why.
func (i *inspection) summary(u Unit, s Service) string {
	var text strings.Builder
	text.WriteString(i.condition(u))
	if u.Fileless && on(u) {
		text.WriteString(" It has no unit file any more, so that it cannot be started again.")
	}
	if needs := inNeeds(s.FailedNeeds); needs != "" && !isUp(u) {
		text.WriteString(" It needs what is not well: " + needs)
	}
	for _, p := range s.PortsTakenBy {
		fmt.Fprintf(&text, " Port %d, which its log says is in use, is held by %s.", p.Number, holder(p))
	}
	if i.givenUp(u) {
		fmt.Fprintf(&text, " %s has given it up (start limit).", i.kind.Name)
	}
	return text.String()
}

// condition is the first sentence of a summary.
func (i *inspection) condition(u Unit) string {
	name := shown(u.Name)
	switch {
	case u.Unusable != nil && !on(u):
		return shownError(u.Unusable)
	case !isUp(u) && u.Active != "inactive":
		return i.kind.trouble(u)
	case u.Unmet:
		return i.kind.trouble(u)
	case u.Active == "inactive":
		return name + " is off" + i.whyOff(u) + "."
	case i.oftenRestarted(u):
		return fmt.Sprintf("%s is %s (%s), but %s had to start it again %d times, the last time at %s.", name, shown(u.Active), shown(u.Sub), i.kind.Name, u.Restarts, stamp(u.lastStart()))
	}
	return fmt.Sprintf("%s is %s (%s).", name, shown(u.Active), shown(u.Sub))
}

// whyOff says why a service is off that has not failed.
func (i *inspection) whyOff(u Unit) string {
	switch {
	case u.Type == "oneshot" && !u.Ended.IsZero():
		return ": its work is done"
	case !u.Ended.IsZero() && !u.Started.IsZero() && u.ExitCode != 0:
		return fmt.Sprintf(": it ended by itself%s %.1f s after its start", i.kind.how(u), max(0, u.Ended.Sub(u.Started).Seconds()))
	case u.Dormant != nil:
		return " and not switched on"
	}
	return " although it is to run: it was stopped, or never started"
}

func holder(p Port) string {
	if p.PID == 0 {
		return "a process that cannot be seen without root, at " + p.Address
	}
	return fmt.Sprintf("%s (PID %d)", sanitize.Quoted(p.Process, 64), p.PID)
}

// shownError is the sentence of an error.
func shownError(err error) string { return strings.TrimSuffix(err.Error(), ".") + "." }
