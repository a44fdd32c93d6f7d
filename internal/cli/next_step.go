// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"sentinel/internal/health"
)

// steps are the commands that lead on from a reason of the threat level, by its code.
var steps = map[string]string{
	"TEMPERATURE_HIGH":     "sentinel --top",
	"THERMAL_PRESSURE":     "sentinel --top",
	"CPU_HIGH":             "sentinel --top",
	"CPU_PRESSURE":         "sentinel --top",
	"LOAD_HIGH":            "sentinel --top",
	"IO_PRESSURE":          "sentinel --top",
	"MEMORY_LOW":           "sentinel --top --sort memory",
	"MEMORY_PRESSURE":      "sentinel --top --sort memory",
	"SWAP_HIGH":            "sentinel --top --sort memory",
	"OOM_KILLS":            "sudo dmesg | grep -i 'out of memory'",
	"FIREWALL_DISABLED":    "sudo sentinel --fix-firewall --dry-run",
	"FILESYSTEM_READ_ONLY": "sudo dmesg | tail -n 50",
	"CLOCK_UNSYNCHRONIZED": "sentinel --security-audit",
	"CLOCK_OFFSET":         "sentinel --security-audit",
	"CLOCK_BEHIND":         "sentinel --security-audit",
	"TIME_SERVICE_MISSING": "sentinel --security-audit",
	"ZOMBIE_PROCESSES":     "ps -o pid,ppid,stat,etime,comm -e",
	"LOGIN_GUESSING":       "sudo sentinel --logins",
	"RESOLVER_SILENT":      "sudo sentinel --health-history --figure resolver_ms",
}

// nextStep is what to run next because of a reason, "" where there is nothing.
func (d *healthDocument) nextStep(r health.Reason) string {
	switch {
	case r.Code == "FAILED_UNITS" && r.Object != "" && d.unitStatus != "" && !strings.HasSuffix(r.Object, ".service"):
		return d.unitStatus + " " + shellWord(r.Object)
	case r.Object != "" && strings.HasSuffix(r.Code, "_UNITS"):
		return d.command("sentinel --service " + shellWord(r.Object))
	case r.Object != "" && (r.Code == "DISK_FULL" || r.Code == "INODES_FULL"):
		return d.command("sudo sentinel --disk-usage " + shellWord(r.Object))
	case (r.Code == "FALSE_DAEMON" || r.Code == "HIDDEN_PROGRAM") && pasteable(r.Object):
		return d.command("sudo sentinel --process " + r.Object)
	default:
		return d.command(steps[r.Code])
	}
}

// command makes a command such that it can be pasted.
func (d *healthDocument) command(text string) string {
	if d.named == nil {
		return text
	}
	return d.named(text)
}

// advise names the tool that tells more of each reason, where f makes a call of its command.
func (d *healthDocument) advise(f func(string) string) document {
	for i, r := range d.ThreatReasons {
		command := d.nextStep(r)
		if call := f(command); strings.Contains(command, "sentinel --") && !strings.Contains(call, "sentinel --") && !strings.Contains(command, "'") {
			d.ThreatReasons[i].Next = call
		}
	}
	return d
}

// shellWord makes a name of the host one word of a shell. A name that is an option, or
// holds what cannot be quoted, has a placeholder.
func shellWord(name string) string {
	switch {
	case strings.HasPrefix(name, "-") || strings.ContainsAny(name, "'…"):
		return "NAME"
	case pasteable(name):
		return name
	default:
		return "'" + name + "'"
	}
}
