// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/journal"
)

// maxHistory is the size in bytes up to which a history is not cut.
const maxHistory = 19_000

// A historyDocument answers get_action_history.
type historyDocument struct {
	answer.Header
	// Actions are what was changed, newest first.
	Actions []journal.Action `json:"actions" schema:"brief"`
	// Total counts all actions in the journal that is kept.
	Total     int  `json:"total"`
	Truncated bool `json:"truncated,omitempty"`
	// Unreadable counts lines of the journal that are damaged or were changed;
	// --verify-journal names them.
	Unreadable int `json:"unreadable_lines,omitempty"`
}

func runActionHistory(ctx context.Context, s session, call invocation) (document, error) {
	last := call.args.Int("last")
	h, err := s.journal.History(ctx, last, s.alive)
	if err != nil {
		return nil, err
	}
	d := &historyDocument{answer.NewHeader(call.op.Action, true), h.Actions, h.Total, h.Truncated, h.Unreadable}
	if call.request {
		d.fit()
	}
	return d, nil
}

// alive says whether the program that wrote a record still runs.
func (s session) alive(p journal.Program) bool {
	start, err := s.host.StartID(p.PID)
	return err == nil && start == p.StartID
}

// fit leaves out the oldest actions until the document keeps its bound.
func (d *historyDocument) fit() {
	for len(d.Actions) > 0 {
		raw, err := encode(d, false)
		if err != nil || len(raw) <= maxHistory {
			return
		}
		d.Actions, d.Truncated = d.Actions[:len(d.Actions)*9/10], true
	}
}

func (d *historyDocument) view(p *page) {
	if len(d.Actions) == 0 {
		p.verdict(calm, "HISTORY", "Nothing was changed by sentinel on this machine.")
		return
	}
	p.verdict(calm, "HISTORY", fmt.Sprintf("%d of %d changes, newest first.", len(d.Actions), d.Total))
	if d.Unreadable > 0 {
		p.verdict(severe, "DAMAGED", fmt.Sprintf("%d lines of the journal are no records any more. Run: sudo sentinel --verify-journal", d.Unreadable))
	}
	var rows [][]string
	for _, a := range d.Actions {
		rows = append(rows, []string{
			a.Time.Local().Format(time.DateTime), a.Tool, objectText(a), author(a.Who), known(a.Reason), cmp.Or(a.Code, a.State),
		})
	}
	p.table("", []column{{title: "when"}, {title: "what"}, {title: "object"}, {title: "who"}, {title: "why"}, {title: "ended"}}, rows)
}

// objectText names what an action was about.
func objectText(a journal.Action) string {
	for _, name := range []string{"pid", "ip", "service"} {
		if v, ok := a.Arguments[name]; ok {
			return fmt.Sprint(v)
		}
	}
	return "-"
}
