// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sentinel/internal/guard/record"
	"sentinel/internal/sanitize"
)

// A callList is what calls prints.
type callList struct {
	Calls []record.Event `json:"calls"` // the newest last, beginning and end of a call in one
}

// callsCommand lists calls.
func callsCommand() *cobra.Command {
	cmd, _ := listing{want: ofCall, lines: 2, whole: ended, text: callsText, document: func(rows []record.Event) any { return callList{rows} }}.command(&cobra.Command{
		Use:     "calls",
		Short:   "List the calls that went through the guard, the newest last",
		Long:    "Calls lists calls of tools, prompts and resources, and other requests, with\nhow each ended. Arguments and results are recorded as size, digest and shape.",
		Example: "  sentinel-guard calls --server files --since 1h",
	})
	return cmd
}

// ofCall tells the lines of calls: of each its beginning and its end, or that it was refused.
func ofCall(e record.Event) bool { return e.Type == record.Call || e.Outcome != "" }

// ended puts the two lines of a call together, at the place of its beginning.
func ended(events []record.Event) []record.Event {
	type id struct {
		session, from string
		call          int
	}
	begun := map[id]int{}
	calls := []record.Event{}
	for _, e := range events {
		of := id{e.SessionID, e.From, e.Call}
		at, known := begun[of]
		if known && e.Outcome != record.Pending {
			e.Arguments, e.Timestamp, e.Seq = calls[at].Arguments, calls[at].Timestamp, calls[at].Seq
			calls[at] = e
			delete(begun, of)
			continue
		}
		begun[of] = len(calls)
		calls = append(calls, e)
	}
	return calls
}

func callsText(calls []record.Event) string {
	if len(calls) == 0 {
		return "No calls are recorded. What is behind the guard: sentinel-guard status\n"
	}
	var b strings.Builder
	for _, c := range calls {
		outcome := c.Outcome
		switch {
		case c.Code != "":
			outcome += " " + c.Code
		case c.ErrorCode != 0:
			outcome += fmt.Sprintf(" %d", c.ErrorCode)
		case c.DurationMS > 0:
			outcome += fmt.Sprintf(" %.1f ms", c.DurationMS)
		}
		fmt.Fprintf(&b, "%s  %-14s  %-21s  %s\n", moment(c.Timestamp), sanitize.Text(c.ServerID, 14), sanitize.Text(nameOf(c.ToolName, c.Method), 21), sanitize.Text(outcome, 25))
	}
	return b.String()
}

func moment(t time.Time) string { return t.Local().Format("01-02 15:04:05") }
