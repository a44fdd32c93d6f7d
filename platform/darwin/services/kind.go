// SPDX-License-Identifier: Apache-2.0

package services

import (
	"strings"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/services"
)

// Kind implements [services.Source].
func (Services) Kind() *services.Kind { return &launchdKind }

var launchdKind = services.Kind{
	Name:       "launchd",
	Vanished:   "is not loaded any more",
	CheckName:  jobName,
	BareName:   labelOf,
	ShortForms: shortForms,
	Rules:      rules,
	// launchd lets ten seconds pass between two starts of a job unless its file says
	// otherwise (ThrottleInterval in launchd.plist(5)).
	CrashGrace: 14 * time.Second,
	Signals: map[int]string{ // signal(3) of macOS
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGEMT", 8: "SIGFPE", 9: "SIGKILL",
		10: "SIGBUS", 11: "SIGSEGV", 12: "SIGSYS", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 30: "SIGUSR1", 31: "SIGUSR2",
	},
	Commands: services.Commands{
		Alive:  "launchctl list",
		Loaded: "sudo launchctl list",
		All:    "sudo launchctl list",
		Queue:  "sudo launchctl list",
		Status: "sudo launchctl print",
		Verify: "sudo launchctl print",
	},
}

// labelOf removes the domain from a target.
func labelOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// shortForms are the label and what follows each of its dots: nginx may stand
// for homebrew.mxcl.nginx.
func shortForms(name string) []string {
	label := labelOf(name)
	if _, err := jobName(label); err != nil {
		return nil
	}
	forms := []string{label}
	for {
		_, rest, found := strings.Cut(label, ".")
		if !found || rest == "" {
			return forms
		}
		forms, label = append(forms, rest), rest
	}
}

// disabled returns the error for a job that was explicitly disabled. file is its property list, or
// empty.
func disabled(target, file string) error {
	enable := "If it is meant to run: sudo launchctl enable " + target
	if file != "" {
		enable += "; then " + loadCommand(target, file)
	}
	return fault.New(fault.ServiceInactive, target+" is disabled; restarting it would start a service that is switched off.").WithFix(enable)
}

// unloaded returns the error for a job that is installed but not loaded.
func unloaded(target, file string) error {
	return fault.New(fault.ServiceInactive, target+" is installed but not loaded; restarting it would start a service that is switched off.").
		WithFix("Load it if it is wanted: " + loadCommand(target, file))
}

func loadCommand(target, file string) string {
	return "sudo launchctl bootstrap " + strings.TrimSuffix(target, "/"+labelOf(target)) + " " + shown(file)
}

// dormant returns the error for a job that runs only on demand: launchd neither keeps it alive nor
// starts it with its domain.
func dormant(target, state string) error {
	return fault.New(fault.ServiceInactive, target+" is not running ("+shown(state)+"), and launchd starts it only when it is needed; restarting it would start a service that is switched off.").
		WithFix("To start it now: sudo launchctl kickstart " + target)
}

// logHint returns where a job logs: to a file of its own, or to the log of the system.
func logHint(target, output string) string {
	if output != "" {
		return "It writes to " + shown(output)
	}
	return "More of them: log show --last 5m --predicate 'eventMessage CONTAINS \"" + labelOf(target) + "\"'"
}
