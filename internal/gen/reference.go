// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
)

// referencePage lists everything that sentinel can do.
func referencePage() string {
	var b strings.Builder
	b.WriteString(generated + "# Reference\n\nEvery action of `sentinel`, with its flags, and the tools of `sentinel-mcp` that do the same. " +
		"A run does one action and prints one document; the whole form of each is in [schemas](schemas). " +
		"People may type an action as a word in place of its flag, as the first argument; rules of sudo and programs have the flags alone. `sentinel help ACTION` shows the flags of one.\n\n" +
		"- [Tools](#tools): for people as flags, for programs as `sentinel --request TOOL`, for assistants over MCP\n" +
		"- [Commands](#commands): for people and for the service manager alone\n- [Options](#options)\n- [Exit status](#exit-status)\n- [Checks of a monitoring system](#checks-of-a-monitoring-system)\n" +
		"- [Codes that every action has](#codes-that-every-action-has)\n\n## Tools\n\n" +
		"| tool | flag | effect | root | answers within |\n|---|---|---|---|---|\n")
	for _, o := range ops.All() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | `%s` | %s | %s | %s |\n", o.Name, o.Name, cell(commandText(o)), effectText(o.Effect), privilegeText(o.Privilege), o.Deadline)
	}
	b.WriteString("\n" + strings.Join(namesIn(ops.DiagnosticsToolset), ", ") + " are in the toolset `diagnostics`, which `sentinel-mcp --install` switches on unless `--toolsets default` says otherwise; the others are in `default`. " +
		"A deadline holds from the start of `sentinel` on; `sentinel-mcp` gives up after 45 s (`--timeout`) whatever happens.\n")
	for _, o := range ops.All() {
		toolSection(&b, o)
	}
	b.WriteString("\n## Commands\n\nNo request and no tool reaches them.\n\n| command | what it does | root | answers within | error codes of its own |\n|---|---|---|---|---|\n")
	for _, o := range ops.Commands() {
		fmt.Fprintf(&b, "| `sentinel --%s` | %s | %s | %s | %s |\n", o.Flag, o.Usage, privilegeText(o.Privilege), o.Deadline, codesText(o.Codes))
	}
	for _, o := range ops.Options() {
		if o.Action {
			root := "not needed"
			if o.Name == "request" {
				root = "as the tool"
			}
			fmt.Fprintf(&b, "| `sentinel %s` | %s | %s | | |\n", cell(o.Spelled()), o.Usage, root)
		}
	}
	b.WriteString("\n## Options\n\n| option | meaning |\n|---|---|\n")
	for _, o := range ops.Options() {
		if !o.Action {
			fmt.Fprintf(&b, "| `%s` | %s |\n", cell(o.Spelled()), o.Usage)
		}
	}
	b.WriteString("\n`--dry-run` belongs to what changes something or sends telemetry, `--force` to changes that a rule of safety may refuse and to `--scan-ports`, `--limit` to what answers with lists, " +
		"`--output prometheus` to what has [metrics](metrics.md). What does not belong to the action is `USAGE`. None of `--dry-run`, `--force` and `--limit` goes with `--request`; `dry_run` is an argument of every tool that has `--dry-run`. " +
		"The answer to a dry run has `dry_run`, says in `details` what would be done, and holds in `preview` the members that the answer is expected to have.\n")
	b.WriteString("\n## Exit status\n\n| status | meaning |\n|---|---|\n")
	for _, s := range exitStatuses() {
		fmt.Fprintf(&b, "| %d | %s |\n", s.status, s.meaning)
	}
	b.WriteString("\nWhich code has which status: [errors.md](errors.md).\n" + checksSection + "\n## Codes that every action has\n\n")
	for _, g := range sharedCodes() {
		fmt.Fprintf(&b, "- %s: %s\n", g.who, codesText(texts(g.codes)))
	}
	return b.String()
}

func toolSection(b *strings.Builder, o ops.Operation) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", o.Name, o.Description)
	rows := [][2]string{
		{"command", "`sentinel " + cell(commandText(o)) + "`, or `sentinel " + cell(o.SpelledWord()) + "`"},
		{"toolset", "`" + o.Toolset + "`"},
		{"effect", effectText(o.Effect)},
		{"annotations", annotationsText(o)},
		{"root", privilegeText(o.Privilege)},
		{"answers within", o.Deadline.String()},
		{"error codes of its own", codesText(o.Codes)},
		{"form", fmt.Sprintf("[schemas/%s.json](schemas/%s.json)", o.Name, o.Name)},
	}
	b.WriteString("| | |\n|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %s |\n", r[0], r[1])
	}
	if len(o.Fields) > 0 {
		b.WriteString("\n| argument | flag | values | default | wrong value | meaning |\n|---|---|---|---|---|---|\n")
	}
	for _, f := range o.Fields {
		wrong := fault.Code(f.Code)
		if wrong == "" {
			wrong = fault.InvalidArgument
		}
		fmt.Fprintf(b, "| `%s` | `--%s` | %s | %s | `%s` | %s |\n", f.Name, f.Flag, valuesText(f), defaultCell(f), wrong, f.Description)
	}
}

// namesIn lists the tools of a toolset.
func namesIn(toolset string) []string {
	var names []string
	for _, o := range ops.All() {
		if o.Toolset == toolset {
			names = append(names, "`"+o.Name+"`")
		}
	}
	return names
}

// cell escapes bars, which would end the cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func commandText(o ops.Operation) string {
	if o.Flag == "" {
		return "--json"
	}
	return o.Spelled()
}

func annotationsText(o ops.Operation) string {
	return fmt.Sprintf("readOnlyHint %t, destructiveHint %t, idempotentHint %t, openWorldHint %t",
		o.Effect == ops.Read, o.Changes(), o.Idempotent, o.Effect == ops.SendsOut)
}

func codesText(codes []string) string {
	if len(codes) == 0 {
		return "none"
	}
	var quoted []string
	for _, c := range codes {
		quoted = append(quoted, "`"+c+"`")
	}
	return strings.Join(quoted, ", ")
}

func effectText(e ops.Effect) string {
	return map[ops.Effect]string{ops.Read: "reads", ops.Write: "changes", ops.Destructive: "changes; ends or cuts something", ops.SendsOut: "sends packets to other hosts"}[e]
}

func privilegeText(p ops.Privilege) string {
	return map[ops.Privilege]string{ops.AnyUser: "not needed", ops.BetterRoot: "better with", ops.NeedsRoot: "needed"}[p]
}

func valuesText(f ops.Field) string {
	switch {
	case f.Kind == ops.Integer:
		return fmt.Sprintf("%d to %d", f.Min, f.Max)
	case f.Kind == ops.Boolean:
		return "`true`, `false`"
	case len(f.Enum) > 0:
		return "`" + strings.Join(f.Enum, "`, `") + "`"
	default:
		return fmt.Sprintf("text, at most %d characters", f.MaxLength)
	}
}

func defaultCell(f ops.Field) string {
	switch {
	case f.Required:
		return "required"
	case f.Default == nil:
		return "none"
	default:
		return fmt.Sprintf("`%v`", f.Default)
	}
}

type exitStatus struct {
	status  int
	meaning string
}

func exitStatuses() []exitStatus {
	return []exitStatus{
		{fault.ExitOK, "success"},
		{fault.ExitFailed, "the action failed; the document says why (`error_code`, `error`, `fix`)"},
		{fault.ExitUsage, "the command line, or a value in it, is not allowed"},
		{fault.ExitPermission, "permission: it needs root, or sudo does not allow it"},
		{fault.ExitRefused, "refused by a safety rule"},
		{fault.ExitQueued, "not delivered yet, and kept: the next report sends it"},
		{fault.ExitInterrupted, "interrupted or cancelled"},
	}
}

const checksSection = `
## Checks of a monitoring system

With ` + "`--check`" + `, ` + "`sentinel`, `sentinel audit`, `sentinel doctor` and `sentinel updates`" + ` end and print as a plugin of Nagios does, which Icinga, Naemon, Checkmk and Zabbix run, too: one line with
the status, the reasons and, behind a bar, performance data. With ` + "`--json`" + ` or ` + "`--output`" + ` the answer has that form, and the exit status is still the check's.

| status | health | audit | doctor | updates |
|---|---|---|---|---|
| 0 OK | ` + "`threat_level` is LOW" + ` | PASS | no problem, no warning | none waits, no reboot is due |
| 1 WARNING | WARNING | WARNING | a warning | one waits, or a reboot is due |
| 2 CRITICAL | CRITICAL | FAIL | a problem | one for security waits |
| 3 UNKNOWN | CPU, memory or disks are not known, and nothing else is at a threshold | no check came to a verdict | | the package manager does not say, or its lists know of none and are older than 7 days |

Whatever prevents an answer, a mistake on the command line included, is 3. Thresholds in the performance data are those of the configuration; a value at one counts as beyond it.

` + "```" + `
$ sentinel --check
SENTINEL HEALTH WARNING - The file system at "/" is 91 % full. Not known: temperature. | cpu=3.1%;90;98;0;100 memory=41.2%;85;95;0;100 'disk /'=91%;85;95;0;100
` + "```" + `

The user of an agent sees what an ordinary user sees. For all of it, allow the literal command to sudo, such as ` + "`nagios ALL=(root) NOPASSWD: /usr/bin/sentinel --security-audit --check`" + `.
`
