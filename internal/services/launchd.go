// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"
	"strings"
	"time"

	"sentinel/internal/fault"
)

func (launchd) word() string { return "launchd" }

func (launchd) complete(asked string) (string, error) { return jobName(asked) }

// bare is the label, without the domain before it.
func (launchd) bare(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

func (launchd) isService(string) bool { return true }

func (launchd) rules() []rule { return launchdRules }

// tails are the label and what follows each of its dots: who asks for nginx may
// mean homebrew.mxcl.nginx.
func (h launchd) tails(name string) []string {
	label := h.bare(name)
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

func (h launchd) checkLoaded(u Unit) error {
	domain := strings.TrimSuffix(u.Name, "/"+h.bare(u.Name))
	load := "sudo launchctl bootstrap " + domain + " " + shown(u.File)
	switch u.Load {
	case "disabled":
		e := fault.New(fault.ServiceInactive, u.Name+" is disabled; restarting would start what is meant to be off.")
		enable := "If it is meant to run: sudo launchctl enable " + u.Name
		if u.File != "" {
			enable += "; then " + load
		}
		return e.WithFix(enable)
	case "unloaded":
		return fault.New(fault.ServiceInactive, u.Name+" is installed but not loaded; restarting would start what is meant to be off.").
			WithFix("Load it if it is wanted: " + load)
	}
	return nil
}

// checkWanted takes a job that launchd keeps alive or starts with its domain for
// one that is wanted. All others are started when they are needed.
func (launchd) checkWanted(u Unit) error {
	if on(u) || u.Active == "failed" || enabled(u) {
		return nil
	}
	return fault.New(fault.ServiceInactive, fmt.Sprintf("%s is not running (%s), and launchd starts it only when it is needed; restarting would start what is meant to be off.",
		u.Name, shown(u.Sub))).
		WithFix("To start it now: sudo launchctl kickstart " + u.Name)
}

// grace is longer than the ten seconds that launchd lets pass between two starts
// of a job unless its file says otherwise (ThrottleInterval in launchd.plist(5)).
func (launchd) grace() time.Duration { return 14 * time.Second }

// signal names a signal of macOS (signal(3) there), whatever this was built for.
func (launchd) signal(n int) string {
	names := map[int]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGEMT", 8: "SIGFPE", 9: "SIGKILL",
		10: "SIGBUS", 11: "SIGSEGV", 12: "SIGSYS", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 30: "SIGUSR1", 31: "SIGUSR2",
	}
	return names[n]
}

func (launchd) gone(name string) string { return name + " is not loaded any more" }

func (launchd) alive() string             { return "launchctl list" }
func (launchd) loaded() string            { return "sudo launchctl list" }
func (launchd) all() string               { return "sudo launchctl list" }
func (launchd) status(name string) string { return "sudo launchctl print " + name }
func (launchd) queue() string             { return "sudo launchctl list" }
func (launchd) verify(name string) string { return "sudo launchctl print " + name }
func (launchd) forgive(string) string     { return "" }

func (h launchd) logs(u Unit) string {
	if u.Output != "" {
		return "It writes to " + shown(u.Output)
	}
	return "More of them: log show --last 5m --predicate 'eventMessage CONTAINS \"" + h.bare(u.Name) + "\"'"
}
