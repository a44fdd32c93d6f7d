// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/logs"
	"sentinel/internal/ops"
)

// crowdedLogs is a document with as much as there can be.
func crowdedLogs(raw bool) *logsDocument {
	d := &logsDocument{raw: raw, Report: logs.Report{Since: "2026-03-04T11:00:00Z", Until: "2026-03-04T12:00:00Z", LinesTotal: new(3_000_000), ErrorsTotal: new(5), PatternsTotal: 8000, Unavailable: answer.Gaps{}}}
	for i := range 1000 {
		text := fmt.Sprint(i, strings.Repeat(" word", 60))
		if raw {
			d.Lines = append(d.Lines, logs.Line{Time: "2026-03-04T11:00:00.000Z", Priority: "err", Unit: "web.service", Text: text})
			continue
		}
		d.Patterns = append(d.Patterns, logs.Pattern{Pattern: text, Count: 7, First: "2026-03-04T11:00:00Z", Last: "2026-03-04T11:30:00Z", Priority: "err", Unit: "web.service", Sample: text})
	}
	return d
}

func TestLogsForAProgramAreBounded(t *testing.T) {
	for _, raw := range []bool{true, false} {
		for _, size := range []int{usualAnswer, mostLogs} {
			d := crowdedLogs(raw)
			d.fit(size)
			out, err := json.Marshal(d)
			if err != nil || len(out) > size || len(out) < size/2 || !d.Truncated {
				t.Errorf("%v: %d bytes of %d, %v", raw, len(out), size, err)
			}
			if raw && !strings.HasPrefix(d.Lines[len(d.Lines)-1].Text, "999 ") || !raw && !strings.HasPrefix(d.Patterns[0].Sample, "0 ") {
				t.Error("what matters most is gone")
			}
		}
	}
}

func TestLogsFitTheScreen(t *testing.T) {
	p := newPage(80, false)
	p.height = 24
	crowdedLogs(false).view(p)
	if got := string(p.bytes()); !p.fits() || !strings.HasPrefix(got, "ERRORS: 3000000 lines in 8000 patterns, 5 of them errors, ") || !strings.Contains(got, "sentinel --logs --raw --unit web.service") {
		t.Errorf("%s", got)
	}
	d := &logsDocument{Report: logs.Report{Unit: "web.service", Boots: 2, BootedBefore: "2026-03-04T11:00:00Z", LinesTotal: new(1), ErrorsTotal: new(0), PatternsTotal: 1, Patterns: []logs.Pattern{{Count: 1, Sample: "hello"}}}}
	p = newPage(80, false)
	d.view(p)
	if got := string(p.bytes()); !strings.Contains(got, "LOGS: 1 line of web.service in 1 pattern, none an error") || !strings.Contains(got, "the newest of 2 boots") || wrongPlural.MatchString(got) {
		t.Errorf("%s", got)
	}
	d.ErrorsTotal = nil
	p = newPage(80, false)
	d.view(p)
	if got := string(p.bytes()); !strings.Contains(strings.Join(strings.Fields(got), " "), "1 pattern, none an error, and not everything could be read, ") {
		t.Errorf("%s", got)
	}
	d.LinesTotal, d.Patterns = new(0), nil
	p = newPage(80, false)
	d.view(p)
	if got := string(p.bytes()); !strings.HasPrefix(got, "LOGS: No line of web.service matches, ") {
		t.Errorf("%s", got)
	}
}

// Who may read nothing is not told that there is nothing.
func TestLogsThatCannotBeReadAreUnknown(t *testing.T) {
	d := &logsDocument{Report: logs.Report{Unavailable: answer.Gaps{{Field: "journal", Reason: "not readable without root"}}}}
	p := newPage(80, false)
	d.view(p)
	if got := string(p.bytes()); !strings.HasPrefix(got, "UNKNOWN: No line was found, and not everything could be read, ") {
		t.Errorf("%s", got)
	}
}

// People have --limit, with all; programs have the argument of that name.
func TestRowsOfLogs(t *testing.T) {
	for command, want := range map[string]int{"--logs": logs.DefaultRows, "--logs --limit 7": 7, "--logs --limit all": 0, "--logs --limit 500": 500} {
		call, err := parse(strings.Fields(command))
		if err != nil || logsRequest(call).Rows != want {
			t.Errorf("%s: %d, %v", command, logsRequest(call).Rows, err)
		}
	}
	op, _ := ops.ByName("get_logs")
	for sent, want := range map[string]int{`{}`: 40, `{"limit":200}`: 200} {
		r, err := op.ParseRequest([]byte(sent))
		if call := (invocation{op: op, args: r.Arguments, request: true, rows: defaultRows}); err != nil || logsRequest(call).Rows != want {
			t.Errorf("%s: %d, %v", sent, logsRequest(call).Rows, err)
		}
	}
	if _, err := op.ParseRequest([]byte(`{"limit":201}`)); err == nil {
		t.Error("a limit of 201")
	}
	if _, err := parse([]string{"--logs", "--limit", "0"}); err == nil || fault.From(err).Code != fault.InvalidArgument {
		t.Error(err)
	}
}
