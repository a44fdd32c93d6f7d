// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
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

// A guardStatus is what is behind the guard, and what it did in the last day. What could not be
// read is null, and named in Unavailable.
type guardStatus struct {
	Entries        []statusEntry         `json:"entries"`
	Wrapped        int                   `json:"wrapped"`
	Running        []record.RunningGuard `json:"running"` // guards that record in this state folder
	Since          time.Time             `json:"since"`
	Calls          *int                  `json:"calls"`
	RefusalsTotal  *int                  `json:"refusals_total"`
	Refusals       []record.RefusalSum   `json:"refusals"` // the most frequent first
	Newest         []record.Event        `json:"newest"`   // refusals, the newest last
	Records        *int64                `json:"records"`  // lines
	Verifies       *bool                 `json:"verifies"`
	RecordRequired *bool                 `json:"record_required"` // false: a call that cannot be recorded passes, and is not counted
	Unavailable    []string              `json:"unavailable"`
}

// A statusEntry is a server of a client.
type statusEntry struct {
	Client  string `json:"client"`
	Server  string `json:"server"`
	Project string `json:"project,omitempty"` // the folder for which the client has it
	Shared  bool   `json:"shared"`            // in a file of that folder, for all who work there
	Wrapped bool   `json:"wrapped"`
	Why     string `json:"why,omitempty"` // it is not, and cannot be put there
}

const (
	day        = 24 * time.Hour
	maxRefused = 3 // of the newest refusals, of the most frequent, and of running guards, on a screen
)

func statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say what is behind the guard, and what it refused today",
		Long: `Status lists which servers of the clients are behind the guard, which guards
run, what was refused in the last day, and whether the record verifies. A guard
that runs is seen by the lock that it holds on its record: not one with another
state folder, nor one that cannot record. What passed unrecorded, under
"record: best_effort", is not known.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := statusOfGuard(cmd.Context(), caller(system(cmd.Context())), time.Now())
			return printed(cmd, s, func() string { return statusText(s) })
		},
	}
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

func statusOfGuard(ctx context.Context, u clients.User, now time.Time) guardStatus {
	s := guardStatus{Entries: []statusEntry{}, Since: now.Add(-day).UTC(), Unavailable: []string{}}
	s.readEntries(ctx, u)
	s.readRecord(ctx, record.Dir())
	if rules, err := policy.Load(policy.Here(), policy.Sources()...); s.known("the rules", err) {
		required := rules.RecordRequired()
		s.RecordRequired = &required
	}
	return s
}

// known reports whether something could be read, and names it where not.
func (s *guardStatus) known(what string, err error) bool {
	if err != nil {
		s.Unavailable = append(s.Unavailable, sanitize.Text(what+": "+firstLine(err.Error()), 300))
	}
	return err == nil
}

func (s *guardStatus) readEntries(ctx context.Context, u clients.User) {
	for _, c := range configurations(u) {
		w, err := edit.Servers(ctx, u, c)
		if !s.known("the servers of "+c.ID, err) {
			continue
		}
		for _, e := range w.Servers {
			s.Entries = append(s.Entries, statusEntry{c.ID, sanitize.Text(e.Name, width), sanitize.Text(e.Project+c.Folder, 200), c.Folder != "", e.Wrapped, e.Why})
			if e.Wrapped {
				s.Wrapped++
			}
		}
	}
}

func (s *guardStatus) readRecord(ctx context.Context, dir string) {
	ctx, cancel := context.WithTimeout(ctx, verifyWithin)
	defer cancel()
	if running, err := record.Running(ctx, dir); s.known("which guards run", err) {
		s.Running = running
	}
	if sum, err := record.SumSince(ctx, dir, s.Since); s.known("what was refused", err) {
		s.Calls, s.RefusalsTotal, s.Refusals = &sum.Calls, &sum.RefusalsTotal, bounded(sum).Refusals
	}
	newest, err := record.Newest(ctx, dir, maxRefused, func(e record.Event) bool {
		return e.Type == record.Decision && e.Action == "block" && !e.Timestamp.Before(s.Since)
	})
	if s.known("the newest refusals", err) {
		s.Newest = append([]record.Event{}, newest...)
	}
	if report, err := record.Verify(ctx, dir); s.known("whether the record verifies", err) {
		verifies := report.ProblemsTotal == 0
		s.Verifies, s.Records = &verifies, &report.Records
	}
}

func statusText(s guardStatus) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %s behind the guard; %s; %s in the last day\n", s.Wrapped, humanize.Count(len(s.Entries), "server", "servers"), runningText(s), refusedText(s))
	switch {
	case s.Verifies == nil:
		b.WriteString("Whether the record verifies is not known.\n")
	case *s.Verifies && *s.Records == 0:
		b.WriteString("Nothing is recorded yet.\n")
	case *s.Verifies:
		b.WriteString("The record is what was written.\n")
	default:
		b.WriteString("The record is NOT what was written: sentinel-guard verify\n")
	}
	if s.RecordRequired != nil && !*s.RecordRequired {
		b.WriteString("Calls that cannot be recorded pass, and are not counted (record: best_effort).\n")
	}
	for _, what := range s.Unavailable[:min(len(s.Unavailable), maxRefused)] {
		b.WriteString(sanitize.Text("Not known: "+what, width-1) + "\n")
	}
	unwrapped := len(s.Entries) - s.Wrapped
	heading(&b, "NOT BEHIND THE GUARD", min(unwrapped, maxRefused), unwrapped)
	b.WriteString(unwrappedText(s.Entries))
	heading(&b, "RUNNING", min(len(s.Running), maxRefused), len(s.Running))
	for _, g := range s.Running[max(0, len(s.Running)-maxRefused):] {
		fmt.Fprintf(&b, "%s  %-16s  %7d  %s\n", moment(g.Start), sanitize.Text(g.ServerID, 16), g.PID, sanitize.Text(g.ClientName, 30))
	}
	statusRefusals(&b, s)
	return b.String()
}

// unwrappedText lists what can be put behind the guard before what cannot, and says how.
func unwrappedText(entries []statusEntry) string {
	var able, unable []string
	for _, e := range entries {
		line := fmt.Sprintf("%-14s  %s", e.Client, sanitize.Text(e.Server+inFolder(e.Project), 60))
		switch {
		case e.Wrapped:
		case e.Why == "":
			able = append(able, line+"\n")
		default:
			unable = append(unable, sanitize.Text(line+": "+e.Why, width-1)+"\n")
		}
	}
	all := append(able, unable...)
	text := strings.Join(all[:min(len(all), maxRefused)], "")
	if len(able) > 0 {
		text += "To see what can be done: sentinel-guard wrap --all --dry-run\n"
	}
	return text
}

func runningText(s guardStatus) string {
	if s.Running == nil {
		return "running guards not known"
	}
	return humanize.Count(len(s.Running), "guard runs", "guards run")
}

func refusedText(s guardStatus) string {
	if s.RefusalsTotal == nil {
		return "refusals not known"
	}
	return humanize.Count(*s.RefusalsTotal, "refusal", "refusals")
}

func statusRefusals(b *strings.Builder, s guardStatus) {
	few := s.Refusals[:min(len(s.Refusals), maxRefused)]
	heading(b, "REFUSED", len(few), len(s.Refusals))
	for _, f := range few {
		fmt.Fprintf(b, "%6d  %-20s  %s\n", f.Count, sanitize.Text(f.Code, 20), sanitize.Text(f.Rule, 48))
	}
	for _, e := range s.Newest {
		fmt.Fprintf(b, "%s  %-16s  %-22s  %s\n", moment(e.Timestamp), sanitize.Text(e.ServerID, 16), sanitize.Text(nameOf(e.ToolName, e.Method), 22), sanitize.Text(e.Rule, 20))
	}
}
