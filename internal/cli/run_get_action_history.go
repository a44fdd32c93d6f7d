// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/journal"
	"sentinel/internal/sanitize"
)

// usualActions is how many actions are asked for where nobody says how many, and maxShownReason how much is
// shown of a reason where they would take the room of other actions, in runes: a model writes them.
const (
	usualActions   = 20
	maxShownReason = 60
)

// A historyDocument answers get_action_history.
type historyDocument struct {
	answer.Header
	// Actions are what was changed, newest first.
	Actions []journal.Action `json:"actions" schema:"brief"`
	// Total counts all actions in the journal.
	Total     int  `json:"total"`
	Truncated bool `json:"truncated"` // actions does not show all
	// Unreadable counts lines of the journal that are damaged or were changed;
	// --verify-journal names them.
	Unreadable int `json:"unreadable_lines,omitempty"`
	// Unavailable says so if records were removed from the journal.
	Unavailable answer.Gaps `json:"unavailable"`
}

func runActionHistory(ctx context.Context, s session, call invocation) (document, error) {
	last := call.args.Int("last")
	h, err := s.journal.History(ctx, last, s.alive)
	if err != nil {
		return nil, err
	}
	d := &historyDocument{answer.NewHeader(call.op.Action, true), h.Actions, h.Total, h.Truncated, h.Unreadable, answer.Gaps{}}
	if h.Damage != "" {
		d.Unavailable.Note("actions", h.Damage)
	}
	if call.request {
		size := usualAnswer
		if last > usualActions {
			size = longAnswer
		}
		d.fit(size)
	}
	return d, nil
}

// alive reports whether the program that wrote a record still runs.
func (s session) alive(p journal.Program) bool {
	start, err := s.host.StartID(p.PID)
	return err == nil && start == p.StartID
}

// listed counts the actions in the list, including repeated ones.
func (d *historyDocument) listed() int {
	n := len(d.Actions)
	for _, a := range d.Actions {
		n += a.Repeated
	}
	return n
}

// fit shortens reasons, and then leaves out the oldest actions, until the document is small enough.
func (d *historyDocument) fit(size int) {
	shortened := false
	fit(d, size, func() bool {
		if !shortened {
			for i := range d.Actions {
				d.Actions[i].Reason = sanitize.Text(d.Actions[i].Reason, maxShownReason)
			}
			shortened = true
			return true
		}
		more := len(d.Actions) > 0
		d.Actions, d.Truncated = fewer(d.Actions), true
		return more
	})
}

func (d *historyDocument) view(p *page) {
	d.damage(p)
	switch {
	case len(d.Actions) == 0 && len(d.Unavailable)+d.Unreadable > 0:
		p.line("No change is recorded any more.")
	case len(d.Actions) == 0:
		p.verdict(calm, "HISTORY", "Nothing was changed by sentinel on this machine.")
	default:
		p.verdict(calm, "HISTORY", fmt.Sprintf("%d of %s, newest first.", d.listed(), counted(d.Total, "change")))
	}
	var rows [][]string
	for _, a := range d.Actions {
		rows = append(rows, []string{
			humanize.Moment(a.Time), timesText(a), objectText(a), p.whoText(a.Who), known(a.Reason), cmp.Or(a.Code, a.State),
		})
	}
	p.table("", []column{{title: "when", whole: true}, {title: "what"}, {title: "object", whole: true}, {title: "who"}, {title: "why"}, {title: "ended"}}, rows)
}

// damage begins the page if the journal was damaged or tampered with.
func (d *historyDocument) damage(p *page) {
	for _, g := range d.Unavailable {
		p.verdict(severe, "DAMAGED", "Changes are missing here: "+g.Reason+".")
	}
	if d.Unreadable > 0 {
		p.verdict(severe, "DAMAGED", "The journal has "+counted(d.Unreadable, "line")+" that cannot be read as written.")
	}
	if len(d.Unavailable)+d.Unreadable > 0 {
		p.fix("Look into it with: sudo sentinel --verify-journal")
	}
}

// whoText names who did something, and says whether a person agreed to it, without the MCP
// client on a narrow terminal.
func (p *page) whoText(w journal.Who) string {
	const roomy = 100
	from := ""
	if p.width < roomy {
		w.Caller = ""
	} else if w.From != "" {
		from = " from " + w.From
	}
	if w.Asked == "" {
		return author(w) + from
	}
	by := author(journal.Who{User: w.User, SudoUser: w.SudoUser})
	return by + " (agreed)" + strings.TrimPrefix(author(w), by) + from
}

// timesText names an action that stands for several.
func timesText(a journal.Action) string {
	if a.Repeated == 0 {
		return a.Tool
	}
	return fmt.Sprintf("%s, %d times", a.Tool, a.Repeated+1)
}

// objectText names the object of an action.
func objectText(a journal.Action) string {
	if ip, ok := a.Arguments["ip"]; ok {
		return fmt.Sprint(ip)
	}
	for _, name := range []string{"pid", "service"} {
		if v, ok := a.Arguments[name]; ok {
			return snip(fmt.Sprint(v), 20)
		}
	}
	return "-"
}
