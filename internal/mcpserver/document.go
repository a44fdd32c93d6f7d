// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"sentinel/internal/elevation"
	"sentinel/internal/fault"
	"sentinel/internal/jsonrpc"
	"sentinel/internal/ops"
	"sentinel/internal/progress"
	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
)

// A document is one JSON object as sentinel printed it.
type document struct {
	raw     json.RawMessage
	action  string
	success bool
}

// parseDocument reads what sentinel printed. ok is false unless that is one JSON
// object in UTF-8 with a boolean "success" and no key twice: clients differ in which of two
// they take.
func parseDocument(stdout []byte) (d document, ok bool) {
	members, ok := jsonrpc.ParseObject(stdout)
	if !ok {
		return document{}, false
	}
	if action := members.Get("action"); action != nil {
		if d.action, ok = jsonrpc.Text(action); !ok {
			return document{}, false
		}
	}
	switch string(members.Get("success")) {
	case "true":
		d.success = true
	case "false":
	default:
		return document{}, false
	}
	d.raw = bytes.TrimSpace(stdout)
	return d, true
}

func isDocument(stdout []byte) bool {
	_, ok := parseDocument(stdout)
	return ok
}

// readDocument returns the document of op from a finished run. A document of
// another action is refused, and so is a success whose program then exited with a failure.
func readDocument(op ops.Operation, r sysexec.Result) (document, error) {
	d, ok := parseDocument(r.Stdout)
	if scarce := elevation.Exhausted(r, nil); scarce != nil && !ok && !op.Changes() {
		return document{}, scarce // of a change it is not known how far it came
	}
	switch {
	case !ok && len(bytes.TrimSpace(r.Stdout)) == 0:
		return document{}, badOutput(r, "printed no document")
	case !ok:
		return document{}, badOutput(r, "printed something that is not one JSON document")
	case d.action != op.Action:
		return document{}, badOutput(r, fmt.Sprintf("printed a document of the action %q, not %q", sanitize.Text(d.action, 64), op.Action))
	case d.success && r.Exit != 0:
		return document{}, badOutput(r, "reported a success and then failed")
	}
	return d, nil
}

func badOutput(r sysexec.Result, what string) error {
	sentence := fmt.Sprintf("sentinel %s (exit status %d).", what, r.Exit)
	if line := firstLine([]byte(progress.Without(string(r.Stderr)))); line != "" {
		sentence += " It said: " + line
	}
	return fault.New(fault.BadOutput, sentence)
}

// firstLine returns the first line of a program's output that is not blank,
// made safe to show.
func firstLine(output []byte) string {
	const most = 200
	line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	return sanitize.Text(strings.TrimSpace(line), most)
}

// result returns the document as the result of a call: as structured content,
// untouched, and as text for clients that know only that.
func (d document) result() *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content:           []mcp.Content{mcp.NewTextContent(string(d.raw))},
		StructuredContent: d.raw,
		IsError:           !d.success,
	}
}

// failed returns err as the result of a call of op, in the form in which sentinel
// itself reports a failure.
func (h *handler) failed(op ops.Operation, err error) *mcp.CallToolResult {
	d := fault.NewDocument(op.Action, err)
	d.Fix = ops.FixAsCalls(d.Fix, func(tool string) bool { return slices.Contains(h.tools, tool) })
	raw, err := json.Marshal(d)
	if err != nil {
		panic("mcpserver: a failed document of plain fields cannot be encoded: " + err.Error())
	}
	return document{raw: raw}.result()
}
