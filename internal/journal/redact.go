// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sentinel/internal/sanitize"
)

// Bounds of what a record keeps, in characters and members. Without the arguments
// they add up to less than maxLine.
const (
	maxName      = 64
	maxCaller    = 200
	maxText      = 500
	maxMembers   = 32
	maxArguments = 8 << 10 // bytes, as JSON
)

func (o Outcome) record(of uint64) Record {
	return Record{Event: EventOutcome, Of: of, Result: sanitize.Text(o.Result, maxName), Code: sanitize.Text(o.Code, maxName), Detail: text(o.Detail, maxText)}
}

func (i Intent) record() Record {
	who := i.Who
	who.User, who.SudoUser = text(who.User, maxName), text(who.SudoUser, maxName)
	who.Caller, who.Asked = text(who.Caller, maxCaller), text(who.Asked, maxCaller)
	program := Program{PID: i.Program.PID, StartID: sanitize.Text(i.Program.StartID, maxName)}
	return Record{
		Event: EventIntent, Tool: sanitize.Text(i.Tool, maxName), Arguments: arguments(i.Arguments), Reason: text(i.Reason, maxText),
		Who: &who, Program: &program,
	}
}

// text hides secrets and control characters in s and truncates it.
func text(s string, limit int) string { return sanitize.Reason(s, limit) }

// arguments returns what is kept of a tool's arguments: numbers and booleans as
// they are, anything else as text.
func arguments(given map[string]any) map[string]any {
	kept := make(map[string]any, len(given))
	for i, name := range slices.Sorted(maps.Keys(given)) {
		if i == maxMembers {
			kept["…"] = fmt.Sprintf("%d more", len(given)-maxMembers)
			break
		}
		kept[sanitize.Text(name, maxName)] = argument(given[name])
	}
	if raw, err := json.Marshal(kept); err != nil || len(raw) > maxArguments {
		return map[string]any{"…": fmt.Sprintf("%d arguments that are too long to keep", len(given))}
	}
	return kept
}

func argument(given any) any {
	switch v := given.(type) {
	case nil, bool, int, int64, uint64, float64:
		return v
	case json.Number:
		return text(v.String(), maxName)
	case string:
		return text(v, maxText)
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return "a value of type " + sanitize.Text(fmt.Sprintf("%T", given), maxName)
	}
	return text(string(raw), maxText)
}
