// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sentinel/internal/clients/edit"
	"sentinel/internal/guard/record"
	"sentinel/internal/sanitize"
	"sentinel/internal/timespec"
)

// severities, the least first.
var severities = []string{"low", "medium", "high", "critical"}

// maxListed is how many events are listed at most.
const maxListed = 10_000

// A selection is which events somebody wants to see.
type selection struct {
	server, tool, session, severity, since string
	last                                   int
	follows                                bool
}

func (s *selection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.server, "server", "", "of this server alone, as rules call it")
	f.StringVar(&s.tool, "tool", "", "of this tool, prompt or resource alone")
	f.StringVar(&s.session, "session", "", "of this session alone")
	f.StringVar(&s.since, "since", "", "not older than: 2h, yesterday, 2026-11-01")
	f.IntVar(&s.last, "last", 20, "how many at most")
	f.BoolVar(&s.follows, "follow", false, "go on with what comes, one event a line in JSON")
	f.Bool("json", false, "print JSON")
	completesServers(cmd, new(string), func(s edit.Server, _ bool) bool { return s.Wrapped })
}

// read returns the newest events that are wanted, lines a piece.
func (s *selection) read(cmd *cobra.Command, want func(record.Event) bool, lines int) ([]record.Event, error) {
	want, err := s.wanted(want)
	if err != nil {
		return nil, err
	}
	events, err := record.Newest(cmd.Context(), record.Dir(), lines*s.last, want)
	return events, unable(err)
}

// wanted returns what holds for those events for which want does, and that are selected.
func (s *selection) wanted(want func(record.Event) bool) (func(record.Event) bool, error) {
	if s.last < 1 || s.last > maxListed {
		return nil, &exit{StatusUsage, fmt.Errorf("--last must be from 1 to %d", maxListed)}
	}
	least := slices.Index(severities, s.severity)
	if s.severity != "" && least < 0 {
		return nil, &exit{StatusUsage, fmt.Errorf("--severity is one of %s", strings.Join(severities, ", "))}
	}
	var since time.Time
	if s.since != "" {
		var err error
		if since, err = timespec.Parse(s.since, time.Now()); err != nil {
			return nil, &exit{StatusUsage, fmt.Errorf("--since: %w; write 2h, yesterday or 2026-11-01", err)}
		}
	}
	return func(e record.Event) bool {
		return want(e) && (s.server == "" || e.ServerID == s.server) && (s.tool == "" || e.ToolName == s.tool) &&
			(s.session == "" || e.SessionID == s.session) && !e.Timestamp.Before(since) &&
			(least < 0 || slices.Index(severities, e.Severity) >= least)
	}, nil
}

// A listing is a command that lists events, or what they tell together.
type listing struct {
	want  func(record.Event) bool
	lines int // how many events a row has at most
	whole func([]record.Event) []record.Event
	text  func([]record.Event) string

	document func([]record.Event) any // in JSON
}

// command makes of cmd the command that lists, by what the selection's flags say.
func (l listing) command(cmd *cobra.Command) (*cobra.Command, *selection) {
	s := &selection{}
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if s.follows {
			return s.follow(cmd, l.want, l.text)
		}
		events, err := s.read(cmd, l.want, l.lines)
		if err != nil {
			return err
		}
		rows := append([]record.Event{}, l.whole(events)...)
		rows = rows[max(0, len(rows)-s.last):]
		return printed(cmd, l.document(rows), func() string { return l.text(rows) })
	}
	s.flags(cmd)
	return cmd, s
}

// An eventList is what events prints.
type eventList struct {
	Events []record.Event `json:"events"` // the newest last
}

// eventsCommand lists what was decided and noticed.
func eventsCommand() *cobra.Command {
	cmd, s := listing{want: isEvent, lines: 1, whole: slices.Clone[[]record.Event], text: eventsText, document: func(rows []record.Event) any { return eventList{rows} }}.command(&cobra.Command{
		Use:     "events",
		Short:   "List sessions, decisions and violations, the newest last",
		Long:    "Events lists when servers began and ended, what was refused or marked for\nreview, and what broke the protocol. Calls are listed by: sentinel-guard calls",
		Example: "  sentinel-guard events --severity medium --since yesterday",
	})
	cmd.Flags().StringVar(&s.severity, "severity", "", "at least: "+strings.Join(severities, ", "))
	completes(cmd, "severity", severities...)
	return cmd
}

func isEvent(e record.Event) bool {
	return slices.Contains([]string{record.Session, record.Decision, record.Violation}, e.Type)
}

func eventsText(events []record.Event) string {
	if len(events) == 0 {
		return "No events are recorded. What is behind the guard: sentinel-guard status\n"
	}
	var b strings.Builder
	for _, e := range events {
		what := strings.TrimPrefix(e.Type, "mcp_") + " " + e.Phase + e.Action + " " + e.Code + " " + e.Violation
		fmt.Fprintf(&b, "%s  %-16s  %-8s %s\n", moment(e.Timestamp), sanitize.Text(e.ServerID, 16), e.Severity, sanitize.Text(strings.Join(strings.Fields(what), " "), 36))
		detail := strings.Join(strings.Fields(strings.Join([]string{sanitize.Text(e.ToolName, 60), e.Command, e.ClientName, e.ClientVersion, e.Revision, e.Reason, strings.Join(e.Flags, ", "), e.EventID}, " ")), " ")
		if detail != "" {
			b.WriteString(wrapped(detail, strings.Repeat(" ", 16)))
		}
	}
	return b.String()
}
