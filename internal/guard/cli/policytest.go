// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sentinel/internal/guard/policy"
	"sentinel/internal/humanize"
)

// A writtenCall is one line of the calls that policy test reads.
type writtenCall struct {
	Method      string          `json:"method"`
	On          string          `json:"on"`
	Server      string          `json:"server"`
	Name        string          `json:"name"` // of the tool or prompt, or the URI
	Arguments   json.RawMessage `json:"arguments"`
	Annotations json.RawMessage `json:"annotations"`
	Expect      string          `json:"expect"`
}

// call returns the call, with what is left out filled in.
func (w writtenCall) call() (policy.Call, error) {
	c := policy.Call{Method: w.Method, On: policy.Side(w.On), Server: w.Server, Name: w.Name, Arguments: w.Arguments, Annotations: w.Annotations}
	if c.Method == "" {
		c.Method = policy.ToolsCall
	}
	switch {
	case !policy.Judges(c.Method):
		return c, fmt.Errorf("no rule holds for the method %q", shown(w.Method))
	case w.On != "" && c.On != policy.OnCall && c.On != policy.OnResult:
		return c, fmt.Errorf(`on is %q; it may be "call" or "result"`, shown(w.On))
	}
	return c, nil
}

// testedCalls is what policy test prints.
type testedCalls struct {
	Calls  []testedCall `json:"calls"`
	Failed int          `json:"failed"` // how many were not as expected
}

// A testedCall is what policy test prints for one.
type testedCall struct {
	Line     int             `json:"line"`
	Decision policy.Decision `json:"decision"`
	Expect   string          `json:"expect,omitempty"`
	OK       bool            `json:"ok"` // it is as expected, or nothing was
}

func policyTest() *cobra.Command {
	var recorded bool
	var since string
	cmd := &cobra.Command{
		Use:   "test RULES [CALLS]",
		Short: "Try a file of rules on written or recorded calls",
		Long: `Test reads calls as JSON Lines from a file, or from standard input:
  {"server":"db","name":"query","arguments":{"sql":"..."},"expect":"block"}
with "method", "on" and "annotations" where they matter. The exit status is 1
when a decision is not what a line expects. Limits are not judged: they depend
on what was called before. With --recorded it judges the calls of the record
whose arguments are there (record_values), and shows which would end otherwise;
hints of tools are not recorded, and have MCP's defaults there.`,
		Example: "  sentinel-guard policy test guard.yaml calls.jsonl\n  sentinel-guard policy test guard.yaml --recorded --since 2h",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if recorded && len(args) == 2 {
				return &exit{StatusUsage, errors.New("--recorded takes the calls from the record; leave out " + shown(args[1]))}
			}
			set, err := policy.Load(policy.Here(), policy.Source{Path: args[0], Required: true})
			if err != nil {
				return &exit{StatusFound, err}
			}
			if recorded {
				return testRecorded(cmd, set, since)
			}
			in := cmd.InOrStdin()
			if len(args) == 2 && args[1] != "-" {
				f, err := os.Open(args[1])
				if err != nil {
					return unable(err)
				}
				defer f.Close() //nolint:errcheck // only read from
				in = f
			}
			return testCalls(cmd, set, in)
		},
	}
	cmd.Flags().BoolVar(&recorded, "recorded", false, "judge the calls of the record")
	cmd.Flags().StringVar(&since, "since", "24h", "with --recorded, not older than: 2h, yesterday, 2026-11-01")
	return cmd
}

func testCalls(cmd *cobra.Command, set *policy.Set, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxCallLine)
	tested, failed := []testedCall{}, 0
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		t, err := testCall(set, lines.Bytes())
		if err != nil {
			return &exit{StatusUnjudged, fmt.Errorf("line %d: %w", n, err)}
		}
		if t.Line = n; !t.OK {
			failed++
		}
		tested = append(tested, t)
	}
	if err := lines.Err(); err != nil {
		return unable(err)
	}
	err := printed(cmd, testedCalls{tested, failed}, func() string { return testText(tested, failed) })
	if err == nil && failed > 0 {
		return &exit{status: StatusFound}
	}
	return err
}

func testCall(set *policy.Set, line []byte) (testedCall, error) {
	var w writtenCall
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return testedCall{}, err
	}
	c, err := w.call()
	if err != nil {
		return testedCall{}, err
	}
	decision := set.Decide(c)
	return testedCall{Decision: decision, Expect: w.Expect, OK: w.Expect == "" || w.Expect == decision.Action.String()}, nil
}

func testText(tested []testedCall, failed int) string {
	var b strings.Builder
	for _, t := range tested {
		line := fmt.Sprintf("%4d  %s", t.Line, decisionText(t.Decision))
		if !t.OK {
			line += ", expected " + shown(t.Expect)
		}
		b.WriteString(line + "\n")
	}
	fmt.Fprintf(&b, "%s, %d not as expected\n", humanize.Count(len(tested), "call", "calls"), failed)
	return b.String()
}
