// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sentinel/internal/fault"
)

func (systemd) word() string { return "systemd" }

func (systemd) complete(asked string) (string, error) { return unitName(asked) }

func (systemd) bare(name string) string { return strings.TrimSuffix(name, suffix) }

func (systemd) isService(name string) bool { return strings.HasSuffix(name, suffix) }

func (systemd) rules() []rule { return systemdRules }

// tails leaves templates out, which are no services.
func (h systemd) tails(name string) []string {
	if bare := h.bare(name); !strings.HasSuffix(bare, "@") {
		return []string{bare}
	}
	return nil
}

func (systemd) checkLoaded(u Unit) error {
	switch {
	case u.Load == "masked":
		return fault.New(fault.ServiceMasked, u.Name+" is masked: its administrator has made starting it impossible.").
			WithFix("If it is meant to run, unmask it first with: systemctl unmask " + u.Name)
	case u.NotManual: // for systemd, such a unit cannot be started either
		return refusal(u.Name, "its unit file does not let it be started or stopped by hand", false)
	case u.Load != "loaded" || u.NoStart:
		return fault.New(fault.RestartFailed, "The unit file of "+u.Name+" cannot be used ("+shown(u.Load)+"); nothing was changed.").
			WithFix("Find what is wrong with: systemd-analyze verify " + u.Name)
	}
	return nil
}

// checkWanted counts a unit that is not on as wanted only when its administrator
// enabled it.
func (systemd) checkWanted(u Unit) error {
	if on(u) || u.Active == "failed" || enabled(u) {
		return nil
	}
	e := fault.New(fault.ServiceInactive, fmt.Sprintf("%s is not running (%s) and not enabled (%s); restarting would start what is meant to be off.",
		u.Name, shown(u.Active), shown(u.FileState)))
	if len(u.TriggeredBy) > 0 {
		return e.WithFix("It is started when it is needed by " + shown(strings.Join(u.TriggeredBy, ", ")) + "; to start it now: systemctl start " + u.Name)
	}
	return e.WithFix("Start it by hand if it is wanted: systemctl start " + u.Name)
}

// enabled reads the state of a unit file (systemctl(1), is-enabled). What a
// generator made, such as from a script of /etc/init.d, is enabled where the start of the
// system wants it; static, indirect, linked and transient units are not.
func enabled(u Unit) bool {
	switch u.FileState {
	case "enabled", "enabled-runtime":
		return true
	case "generated":
		return slices.Contains(u.WantedBy, "multi-user.target") || slices.Contains(u.WantedBy, "graphical.target")
	}
	return false
}

func (systemd) grace() time.Duration { return 10 * time.Second }

// signal names a signal of Linux (signal(7)), whatever this was built for.
func (systemd) signal(n int) string {
	names := map[int]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
		10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
	}
	return names[n]
}

func (systemd) gone(name string) string { return "There is no unit file of " + name + " any more" }

func (systemd) alive() string              { return "systemctl is-system-running" }
func (systemd) loaded() string             { return "systemctl list-units --type=service" }
func (systemd) all() string                { return "systemctl list-unit-files --type=service" }
func (systemd) status(name string) string  { return "systemctl status " + name }
func (systemd) queue() string              { return "systemctl list-jobs" }
func (systemd) verify(name string) string  { return "systemd-analyze verify " + name }
func (systemd) forgive(name string) string { return "systemctl reset-failed " + name }

func (systemd) logs(u Unit) string { return "More of them: journalctl --unit=" + u.Name }
