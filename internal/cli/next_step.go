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
	"ZOMBIE_PROCESSES":     "ps -o pid,ppid,stat,etime,comm -e",
	"LOGIN_GUESSING":       "sudo sentinel --logins",
}

// nextStep is what to run next because of a reason, "" where there is nothing.
func (d *healthDocument) nextStep(r health.Reason) string {
	switch {
	case r.Code == "FAILED_UNITS" && r.Object != "" && d.unitStatus != "":
		return d.unitStatus + " " + shellWord(r.Object)
	case r.Code == "DISK_FULL":
		return "sudo du -xhd 1 " + shellWord(r.Object)
	case d.named != nil:
		return d.named(steps[r.Code])
	default:
		return steps[r.Code]
	}
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
