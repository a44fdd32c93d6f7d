// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"sentinel/internal/health"
)

// object stands in a step for what the reason is about.
const object = "OBJECT"

// steps are the commands that lead on from a reason of the threat level, by its code. All are of
// sentinel: a person types them on whatever system it is, and a model has the calls that they are.
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
	"OOM_KILLS":            "sudo sentinel --logs --unit kernel --text 'out of memory'",
	"DISK_FULL":            "sudo sentinel --disk-usage OBJECT",
	"INODES_FULL":          "sudo sentinel --disk-usage OBJECT",
	"FILESYSTEM_READ_ONLY": "sudo sentinel --logs --unit kernel --priority err --since 7d",
	"FAILED_UNITS":         "sentinel --service OBJECT",
	"RESTARTING_UNITS":     "sentinel --service OBJECT",
	"CAPPED_UNITS":         "sentinel --service OBJECT",
	"FIREWALL_DISABLED":    "sudo sentinel --fix-firewall --dry-run",
	"CLOCK_UNSYNCHRONIZED": "sentinel --security-audit",
	"CLOCK_OFFSET":         "sentinel --security-audit",
	"CLOCK_BEHIND":         "sentinel --security-audit",
	"TIME_SERVICE_MISSING": "sentinel --security-audit",
	"ZOMBIE_PROCESSES":     "sudo sentinel --process OBJECT",
	"FALSE_DAEMON":         "sudo sentinel --process OBJECT",
	"HIDDEN_PROGRAM":       "sudo sentinel --process OBJECT",
	"LOGIN_GUESSING":       "sudo sentinel --logins",
	"RESOLVER_SILENT":      "sudo sentinel --health-history --figure resolver_ms",
}

// ofOtherUnit leads on from a unit that is no service: a mount or a timer, whose log says why it failed.
const ofOtherUnit = "sudo sentinel --logs --unit OBJECT --since 7d"

// nextStep is what to run next because of a reason, "" where there is nothing.
func (d *healthDocument) nextStep(r health.Reason) string {
	step := steps[r.Code]
	if strings.HasSuffix(r.Code, "_UNITS") && d.isService != nil && !d.isService(r.Object) {
		step = ofOtherUnit
	}
	if strings.Contains(step, object) && r.Object == "" {
		return ""
	}
	return strings.Replace(step, object, shellWord(r.Object), 1)
}

// isService tells services from other units of the service manager.
func (s session) isService(name string) bool {
	_, err := s.host.Services.Kind().CheckName(name)
	return err == nil
}

// advise names the tool that tells more of each reason, where f makes a call of its command.
func (d *healthDocument) advise(f func(string) string) document {
	for i, r := range d.ThreatReasons {
		if call := f(d.nextStep(r)); isCall(call) {
			d.ThreatReasons[i].Next = call
		}
	}
	return d
}

// isCall reports whether a command became the call of a tool: one that no tool on offer does begins as it did.
func isCall(step string) bool {
	return !strings.HasPrefix(strings.TrimPrefix(step, "sudo "), "sentinel --")
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
