// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"strings"
	"testing"
)

func TestCommandsAreSaidAsCalls(t *testing.T) {
	for text, want := range map[string]string{
		"Take the pid of a row of: sentinel --top":                               "Take the pid of a row of: get_top_processes",
		"Find what uses it with: sentinel --top --sort memory":                   `Find what uses it with: get_top_processes {"sort":"memory"}`,
		"Look again with sentinel --top and send the start_id.":                  "Look again with get_top_processes and send the start_id.",
		"Look for a hung disk with: sentinel --json":                             "Look for a hung disk with: get_system_health",
		"Restart it: sudo sentinel --restart-service NAME; or reboot.":           "Restart it: restart_service; or reboot.",
		"Run: sudo sentinel --restart-service nginx":                             `Run: restart_service {"service":"nginx"}`,
		"Look with sentinel --dns db.example.net, or send an address.":           `Look with dns_lookup {"name":"db.example.net"}, or send an address.`,
		"Keep some: sudo sentinel --fix-firewall --keep-open https,22":           `Keep some: enable_firewall {"keep_open":"https,22"}`,
		"See, then leave out --dry-run: sudo sentinel --fix-firewall --dry-run":  `See, then leave out dry_run: enable_firewall {"dry_run":true}`,
		"sudo sentinel --disable-firewall, then: sudo sentinel --fix-firewall.":  "disable_firewall, then: enable_firewall.",
		"End it: sudo sentinel --kill 12":                                        `End it: terminate_process {"pid":12}`,
		"See it in the history of web1: sentinel --host web1 --history --last 5": `See it in the history of web1: get_action_history {"host":"web1","last":5}`,
		"Look there: sentinel --host web1 --doctor":                              "Look there: sentinel --host web1 --doctor (for the user, at a shell of this machine)",
		"Nothing of ours: sudo dmesg | tail":                                     "Nothing of ours: sudo dmesg | tail",
		"Look into sudo sentinel --disk-usage '/my data', then.":                 `Look into get_disk_usage {"path":"/my data"}, then.`,
		"sudo sentinel --logs --unit kernel --text 'out of memory' --since 7d":   `get_logs {"since":"7d","text":"out of memory","unit":"kernel"}`,
		"sudo sentinel --disk-usage /DATA":                                       `get_disk_usage {"path":"/DATA"}`,
		`"sentinel --kill 1" (PID 5) would end; or sentinel --kill 5`:            `"sentinel --kill 1" (PID 5) would end; or terminate_process {"pid":5}`,
		`"x\" sentinel --top \"" and "y": sentinel --top; "sentinel --top"`:      `"x\" sentinel --top \"" and "y": get_top_processes; "sentinel --top"`,
		`5" wide: sentinel --top`:                                                `5" wide: get_top_processes`,
		"":                                                                       "",
		// What no tool does is for a person.
		"Look: sudo sentinel --doctor --config '/my conf'":  "Look: sudo sentinel --doctor --config '/my conf' (for the user, at a shell of this machine)",
		"Send it: sudo sentinel --report":                   "Send it: sudo sentinel --report (for the user, at a shell of this machine)",
		"Run sudo sentinel --restore-blocklist, then look.": "Run sudo sentinel --restore-blocklist (for the user, at a shell of this machine), then look.",
		"Run: sudo sentinel --fix-firewall --force":         "Run: sudo sentinel --fix-firewall --force (for the user, at a shell of this machine)",
		"All flags: sentinel --help":                        "All flags: sentinel --help (for the user, at a shell of this machine)",
	} {
		if got := AsCalls(text, func(string) bool { return true }); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

func TestAFixThatTakesAShellIsTheUsers(t *testing.T) {
	for fix, want := range map[string]string{
		"Add yourself to the group sentinel: sudo usermod -aG sentinel ann":      "For the user, at a shell of this machine: Add yourself to the group sentinel: sudo usermod -aG sentinel ann",
		"If it is meant to run, unmask it first with: systemctl unmask NAME":     "For the user, at a shell of this machine: If it is meant to run, unmask it first with: systemctl unmask NAME",
		"Take the pid of a row of: sentinel --top":                               "Take the pid of a row of: get_top_processes",
		"Run it with sudo; what lets this user is said by: sentinel --doctor":    "Run it with sudo; what lets this user is said by: sentinel --doctor (for the user, at a shell of this machine)",
		"See sentinel --json, then: sudo launchctl kickstart system/example.net": "For the user, at a shell of this machine: See get_system_health, then: sudo launchctl kickstart system/example.net",
		"Run ssh web1 once by hand":                                              "For the user, at a shell of this machine: Run ssh web1 once by hand",
		"Try again.":                                                             "Try again.",
	} {
		if got := FixAsCalls(fix, func(string) bool { return true }); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", fix, got, want)
		}
	}
}

func TestAToolThatIsOffIsNotNamed(t *testing.T) {
	const text = "Wait, and find out what asks so often with: sudo sentinel --history"
	got := AsCalls(text, func(tool string) bool { return tool != "get_action_history" })
	if want := text + " (for the user, at a shell of this machine)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzAsCalls(f *testing.F) {
	f.Add("Run: sudo sentinel --kill 7, then sentinel --top --sort memory.")
	f.Add("sentinel --")
	f.Add("sentinel -- ")
	f.Fuzz(func(t *testing.T, text string) {
		kept := AsCalls(text, func(string) bool { return false })
		if got := strings.ReplaceAll(kept, forAPerson, ""); got != strings.ReplaceAll(text, forAPerson, "") {
			t.Errorf("%q became %q", text, kept)
		}
		AsCalls(text, func(string) bool { return true })
	})
}
