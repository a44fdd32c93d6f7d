// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sentinel/internal/guard/record"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
	"sentinel/internal/timespec"
)

// reportCommand sums up sessions.
func reportCommand() *cobra.Command {
	var session, since string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Sum up sessions: calls, refusals, violations, bytes, the slowest",
		Long: `Report counts what is recorded since a time, or of one session: calls by tool
and outcome, refusals by code and rule, violations, bytes and the slowest calls.`,
		Example: "  sentinel-guard report --since yesterday",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sum, err := sumOf(cmd.Context(), session, since, cmd.Flags().Changed("since"))
			if err != nil {
				return err
			}
			return printed(cmd, sum, func() string { return reportText(sum) })
		},
	}
	cmd.Flags().StringVar(&session, "session", "", "of this session alone, however old")
	cmd.Flags().StringVar(&since, "since", "24h", "not older than: 2h, yesterday, 2026-11-01")
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

// maxRows is how many sessions, tools and refusals are printed at most.
const maxRows = 20

func sumOf(ctx context.Context, session, since string, sinceGiven bool) (record.Summary, error) {
	if session == "" {
		from, err := timespec.Parse(since, time.Now())
		if err != nil {
			return record.Summary{}, &exit{StatusUsage, fmt.Errorf("--since: %w", err)}
		}
		sum, err := record.SumSince(ctx, record.Dir(), from)
		return bounded(sum), unable(err)
	}
	if sinceGiven {
		return record.Summary{}, &exit{StatusUsage, fmt.Errorf("--session is of the whole session; leave out --since")}
	}
	sum, err := record.SumSession(ctx, record.Dir(), session)
	if err == nil && len(sum.Sessions) == 0 {
		return sum, &exit{StatusUsage, fmt.Errorf("no session %s is recorded; sentinel-guard report lists those of the last day", sanitize.Text(session, 40))}
	}
	return bounded(sum), unable(err)
}

// bounded leaves the newest sessions, and of tools and refusals the most frequent; the totals stay.
func bounded(r record.Summary) record.Summary {
	r.Sessions = r.Sessions[max(0, len(r.Sessions)-maxRows):]
	r.Tools = r.Tools[:min(len(r.Tools), maxRows)]
	r.Refusals = r.Refusals[:min(len(r.Refusals), maxRows)]
	r.Flags = mostFrequent(r.Flags)
	return r
}

func mostFrequent(counts map[string]int) map[string]int {
	names := byCount(counts)
	most := map[string]int{}
	for _, name := range names[:min(len(names), maxRows)] {
		most[name] = counts[name]
	}
	return most
}

func byCount(counts map[string]int) []string {
	names := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(names, func(a, b string) int { return counts[b] - counts[a] })
	return names
}

func reportText(r record.Summary) string {
	if r.SessionsTotal == 0 {
		return "Nothing is recorded since " + moment(r.Since) + ".\n"
	}
	var b strings.Builder
	if !r.Since.IsZero() {
		b.WriteString("Since " + moment(r.Since) + ": ")
	}
	fmt.Fprintf(&b, "%s, %s, %s\n", humanize.Count(r.SessionsTotal, "session", "sessions"), humanize.Count(r.Calls, "call", "calls"), humanize.Count(r.RefusalsTotal, "refusal", "refusals"))
	fmt.Fprintf(&b, "%s of arguments, %s of results\n", humanize.Bytes(uint64(r.ArgumentBytes)), humanize.Bytes(uint64(r.ResultBytes))) // both sums of sizes
	heading(&b, "SESSIONS", len(r.Sessions), r.SessionsTotal)
	for _, s := range r.Sessions {
		sessionText(&b, s)
	}
	heading(&b, "CALLS", len(r.Tools), r.ToolsTotal)
	for _, t := range r.Tools {
		fmt.Fprintf(&b, "%6d  %-16s  %-26s  %s\n", t.Calls, sanitize.Text(t.ServerID, 16), sanitize.Text(nameOf(t.ToolName, t.Method), 26), sanitize.Text(counted(t.Outcomes), 26))
	}
	heading(&b, "REFUSALS", len(r.Refusals), len(r.Refusals))
	for _, f := range r.Refusals {
		fmt.Fprintf(&b, "%6d  %-16s  %s\n", f.Count, sanitize.Text(f.Code, 16), sanitize.Text(f.Rule, 52))
	}
	countsText(&b, "FOR REVIEW", r.Flags)
	countsText(&b, "VIOLATIONS", r.Violations)
	heading(&b, "SLOWEST CALLS", len(r.Slowest), len(r.Slowest))
	for _, s := range r.Slowest {
		fmt.Fprintf(&b, "%s  %-16s  %-26s  %.1f ms\n", moment(s.Timestamp), sanitize.Text(s.ServerID, 16), sanitize.Text(nameOf(s.ToolName, s.Method), 26), s.DurationMS)
	}
	return b.String()
}

func heading(b *strings.Builder, title string, shown, total int) {
	switch {
	case shown == 0:
	case shown < total:
		fmt.Fprintf(b, "\n%s (%d of %d)\n", title, shown, total)
	default:
		fmt.Fprintf(b, "\n%s\n", title)
	}
}

func sessionText(b *strings.Builder, s record.SessionSum) {
	began, ended := "not recorded  ", "no end recorded"
	if s.Start != nil {
		began = moment(*s.Start)
	}
	if s.End != nil {
		ended = "ended " + moment(*s.End)
	}
	if s.ExitStatus != nil {
		ended += fmt.Sprintf(" with status %d", *s.ExitStatus)
	}
	fmt.Fprintf(b, "%s  %-16s  %s\n", began, sanitize.Text(s.ServerID, 16), ended)
	detail := fmt.Sprintf("%s, %s, %s; %s", humanize.Count(s.Calls, "call", "calls"), humanize.Count(s.Refusals, "refusal", "refusals"), humanize.Count(s.Violations, "violation", "violations"),
		strings.Join([]string{s.SessionID, s.ClientName, s.ClientVersion, s.Revision}, " "))
	b.WriteString(wrapped(detail, strings.Repeat(" ", 16)))
}

func countsText(b *strings.Builder, title string, counts map[string]int) {
	heading(b, title, len(counts), len(counts))
	for _, name := range byCount(counts) {
		fmt.Fprintf(b, "%6d  %s\n", counts[name], sanitize.Text(name, 70))
	}
}

// counted is a list such as "ok 3, refused 1", the most frequent first.
func counted(counts map[string]int) string {
	var parts []string
	for _, name := range byCount(counts) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

// nameOf is what a call is known by.
func nameOf(tool, method string) string {
	if tool != "" {
		return tool
	}
	return method
}
