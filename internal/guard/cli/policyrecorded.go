// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sentinel/internal/guard/policy"
	"sentinel/internal/guard/record"
	"sentinel/internal/guard/stage"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
	"sentinel/internal/timespec"
)

// maxJudged is how many recorded calls are judged, the newest.
const maxJudged = 10_000

// ruled are the codes of refusals by rules. What was refused for another reason had passed them.
var ruled = []stage.Code{stage.PolicyBlocks, stage.NoApprover}

// A judgedCall is a recorded call with what rules would have decided about it.
type judgedCall struct {
	Timestamp time.Time       `json:"timestamp"`
	Session   string          `json:"session_id"`
	Server    string          `json:"server_id"`
	Method    string          `json:"method"`
	Name      string          `json:"name"`
	Refused   bool            `json:"refused"` // by the rules that held when it came
	Decision  policy.Decision `json:"decision"`
}

// A judgedRecord is what policy test says of recorded calls.
type judgedRecord struct {
	Since time.Time    `json:"since"`
	Calls []judgedCall `json:"calls"` // the newest last
	// Changed is how many would now pass that were refused, or be refused that passed.
	Changed int `json:"changed"`
	// Unjudged is how many are recorded without all of their arguments.
	Unjudged int `json:"unjudged"`
}

// changed says that the rules decide otherwise than what became of the call.
func (c judgedCall) changed() bool { return c.Refused != (c.Decision.Action > policy.Log) }

// testRecorded judges the calls of the record.
func testRecorded(cmd *cobra.Command, set *policy.Set, since string) error {
	from, err := timespec.Parse(since, time.Now())
	if err != nil {
		return &exit{StatusUsage, fmt.Errorf("--since: %w", err)}
	}
	events, err := record.Newest(cmd.Context(), record.Dir(), maxJudged, func(e record.Event) bool {
		return e.Arguments != nil && e.Type != record.Violation && policy.Judges(e.Method) && !e.Timestamp.Before(from)
	})
	if err != nil {
		return unable(err)
	}
	judged := judgedRecord{Since: from, Calls: []judgedCall{}}
	for _, e := range events {
		if !e.Arguments.Whole {
			judged.Unjudged++
			continue
		}
		c := judgedCall{Timestamp: e.Timestamp, Session: e.SessionID, Server: e.ServerID, Method: e.Method, Name: e.ToolName, Refused: slices.Contains(ruled, stage.Code(e.Code))}
		c.Decision = set.Decide(policy.Call{Method: e.Method, On: policy.OnCall, Server: e.ServerID, Name: e.ToolName, Arguments: e.Arguments.Content})
		if c.changed() {
			judged.Changed++
		}
		judged.Calls = append(judged.Calls, c)
	}
	return printed(cmd, judged, func() string { return recordedText(judged) })
}

func recordedText(j judgedRecord) string {
	var b strings.Builder
	for _, c := range j.Calls {
		if !c.changed() {
			continue
		}
		was := "passed"
		if c.Refused {
			was = "was refused"
		}
		b.WriteString(wrapped(fmt.Sprintf("%s  %s:%s %s; now: %s", moment(c.Timestamp), sanitize.Text(c.Server, 24), sanitize.Text(nameOf(c.Name, c.Method), 32), was, decisionText(c.Decision)), ""))
	}
	text := fmt.Sprintf("%s judged since %s, %d otherwise than before.", humanize.Count(len(j.Calls), "call", "calls"), moment(j.Since), j.Changed)
	if j.Unjudged > 0 {
		text += fmt.Sprintf(" %d could not be: the record has not all of their arguments; record_values in guard.yaml keeps them, without secrets.", j.Unjudged)
	}
	return b.String() + wrapped(text, "")
}
