// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sentinel/internal/clients"
	"sentinel/internal/clients/edit"
	"sentinel/internal/guard/policy"
	"sentinel/internal/guard/record"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
)

// The statuses of a finding.
const (
	findingOK      = "ok"
	findingWarning = "warning"
	findingProblem = "problem"
	findingUnknown = "unknown"
)

// A finding is what one check of doctor saw.
type finding struct {
	ID      string `json:"id"` // stable: "entry", "guard", "program", "rules", "record", …
	Status  string `json:"status"`
	Client  string `json:"client,omitempty"`
	Server  string `json:"server,omitempty"`
	Project string `json:"project,omitempty"` // the folder for which the client has the server
	Value   string `json:"value"`             // what was seen, a sentence
	Fix     string `json:"fix,omitempty"`     // what to do, a command where there is one
}

// A diagnosis is all that doctor found.
type diagnosis struct {
	Problems int       `json:"problems"`
	Warnings int       `json:"warnings"`
	Unknown  int       `json:"unknown"`
	Checks   []finding `json:"checks"` // the worst first
}

// verifyWithin bounds how long the record is read.
const verifyWithin = 20 * time.Second

// A focus is whose entries doctor looks at; "" is all.
type focus struct{ client, server string }

// takes says whether a finding is in focus. What is said of a client as a whole concerns each of
// its servers.
func (o focus) takes(f finding) bool {
	return f.Client == "" || (o.client == "" || f.Client == o.client) && (o.server == "" || f.Server == o.server || f.Server == "" && o.client != "")
}

// check refuses what no client has.
func (o focus) check(all []finding) error {
	if err := known(o.client); err != nil {
		return err
	}
	if o.server != "" && !slices.ContainsFunc(all, func(f finding) bool { return f.Server == o.server && o.takes(f) }) {
		return fmt.Errorf("no client that was looked at has a server named %q", shown(o.server))
	}
	return nil
}

func doctorCommand() *cobra.Command {
	var on focus
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what the guard needs, and say what to do",
		Long: `Doctor looks at the servers of all clients that are known: which are behind
this guard, whether their programs are there, and whether others could write
them. It checks that the rules load and that the record can be written and
verifies. The exit status is 0 whatever it finds.`,
		Example: "  sentinel-guard doctor --server memory",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			entries := entryFindings(cmd.Context(), caller(system(cmd.Context())))
			if err := on.check(entries); err != nil {
				return &exit{StatusUsage, err}
			}
			d := diagnose(cmd.Context(), slices.DeleteFunc(entries, func(f finding) bool { return !on.takes(f) }))
			return printed(cmd, d, func() string { return doctorText(d) })
		},
	}
	cmd.Flags().StringVar(&on.client, "client", "", "of the entries those of this client alone")
	cmd.Flags().StringVar(&on.server, "server", "", "of the entries those of this server alone")
	cmd.Flags().Bool("json", false, "print JSON")
	completes(cmd, "client", clients.IDs()...)
	completesServers(cmd, &on.client, func(edit.Server, bool) bool { return true })
	return cmd
}

// diagnose adds what concerns all entries to what was found of them.
func diagnose(ctx context.Context, entries []finding) diagnosis {
	all := append(entries, rulesFinding())
	d := diagnosis{Checks: append(all, recordFindings(ctx)...)}
	for i := range d.Checks {
		f := &d.Checks[i]
		f.Server, f.Project = sanitize.Text(f.Server, width), sanitize.Text(f.Project, 200)
		f.Value, f.Fix = sanitize.Text(f.Value, 500), sanitize.Text(f.Fix, 500)
		switch f.Status {
		case findingProblem:
			d.Problems++
		case findingWarning:
			d.Warnings++
		case findingUnknown:
			d.Unknown++
		}
	}
	order := []string{findingProblem, findingWarning, findingUnknown, findingOK}
	rank := func(f finding) int { // what concerns all servers before what concerns one
		if f.Client == "" {
			return 2 * slices.Index(order, f.Status)
		}
		return 2*slices.Index(order, f.Status) + 1
	}
	slices.SortStableFunc(d.Checks, func(a, b finding) int { return rank(a) - rank(b) })
	return d
}

// rulesFinding says whether the rules that hold here load. Those that others can write do not.
func rulesFinding() finding {
	f := finding{ID: "rules", Status: findingOK}
	sources := policy.Sources()
	if _, err := policy.Load(policy.Here(), sources...); err != nil {
		f.Status, f.Value, f.Fix = findingProblem, "The rules cannot be used, and no server starts: "+firstLine(err.Error()), "Correct the file, then run: sentinel-guard policy check"
		return f
	}
	var there []string
	for _, s := range sources {
		if _, err := os.Stat(s.Path); err == nil {
			there = append(there, s.Path)
		}
	}
	if len(there) == 0 {
		f.Status, f.Value, f.Fix = findingWarning, "There are no rules: what can be read in one way passes.", "sentinel-guard policy init --preset filesystem"
		return f
	}
	f.Value = "The rules load: " + strings.Join(there, ", ") + "."
	return f
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// recordFindings say whether the record can be written, and is what was written.
func recordFindings(ctx context.Context) []finding {
	dir := record.Dir()
	if err := record.Usable(dir); err != nil {
		return []finding{{
			ID: "record", Status: findingProblem, Value: "Calls cannot be recorded, and so are refused: " + err.Error() + ".",
			Fix: "Make the folder and those above it yours, writable by you alone; or set XDG_STATE_HOME to one that is.",
		}}
	}
	usable := finding{ID: "record", Status: findingOK, Value: "Calls can be recorded in " + dir + "."}
	ctx, cancel := context.WithTimeout(ctx, verifyWithin)
	defer cancel()
	report, err := record.Verify(ctx, dir)
	verifies := finding{ID: "record_verifies", Status: findingOK, Value: "The record is what was written: " + humanize.Count(int(report.Records), "line", "lines") + "."}
	switch {
	case err != nil:
		verifies.Status, verifies.Value, verifies.Fix = findingUnknown, "Whether the record is what was written could not be read: "+err.Error()+".", "sentinel-guard verify"
	case report.ProblemsTotal > 0:
		verifies.Status, verifies.Fix = findingProblem, "sentinel-guard verify names each place"
		verifies.Value = "The record is not what was written, in " + humanize.Count(report.ProblemsTotal, "place", "places") + "."
	}
	return []finding{usable, verifies}
}

// maxShown is how many findings are printed, so that the verdict stays on the screen.
const maxShown = 7

func doctorText(d diagnosis) string {
	verdict := "OK"
	if d.Problems+d.Warnings+d.Unknown > 0 {
		verdict = humanize.Count(d.Problems, "problem", "problems") + ", " + humanize.Count(d.Warnings, "warning", "warnings") + fmt.Sprintf(", %d unknown", d.Unknown)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, of %s\n", verdict, humanize.Count(len(d.Checks), "check", "checks"))
	lines, checks := 1, together(d.Checks)
	for i, f := range checks {
		text := findingText(f)
		if lines += strings.Count(text, "\n"); lines > 21 && i > 0 || i >= maxShown && f.Status == findingOK {
			fmt.Fprintf(&b, "%d more, none worse than these: --json has all, --server NAME those of one\n", len(checks)-i)
			break
		}
		b.WriteString(text)
	}
	return b.String()
}

// maxNames is how many servers one finding names.
const maxNames = 10

// together joins the entries of a client that wrap would take: one command takes them all.
func together(checks []finding) (all []finding) {
	names, at := map[string][]string{}, map[string]int{}
	for _, f := range checks {
		if f.ID != "entry" || f.Value != notBehind {
			all = append(all, f)
			continue
		}
		of := append(names[f.Client], sanitize.Text(f.Server, 40)+inFolder(f.Project))
		if names[f.Client] = of; len(of) == 1 {
			at[f.Client] = len(all)
			all = append(all, f)
			continue
		}
		value := strings.Join(of[:min(len(of), maxNames)], ", ")
		if more := len(of) - maxNames; more > 0 {
			value += fmt.Sprintf(" and %d more", more)
		}
		all[at[f.Client]] = finding{ID: f.ID, Status: f.Status, Client: f.Client, Value: value + " are not behind the guard.", Fix: "sentinel-guard wrap --client " + f.Client}
	}
	return all
}

func findingText(f finding) string {
	text := wrapped(subject(f)+f.Value, fmt.Sprintf("%-9s", f.Status))
	if f.Fix != "" {
		text += wrapped(f.Fix, "         > ")
	}
	return text
}

// subject is what a finding is about, where that is a server.
func subject(f finding) string {
	switch {
	case f.Client == "":
		return ""
	case f.Server == "":
		return f.Client + ": "
	case f.Project == "":
		return f.Client + ", " + sanitize.Text(f.Server, 40) + ": "
	default:
		return f.Client + ", " + sanitize.Text(f.Server, 40) + " in " + sanitize.Text(f.Project, 40) + ": "
	}
}
