// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"encoding/json"

	"sentinel/internal/jsonrpc"
)

// A Code is the stable name of a kind of refusal.
type Code string

// The codes of refusals.
const (
	Malformed    Code = "MESSAGE_MALFORMED"
	TooLarge     Code = "MESSAGE_TOO_LARGE"
	PolicyBlocks Code = "POLICY_BLOCKED"
	NoApprover   Code = "NO_APPROVER"
	RateLimited  Code = "RATE_LIMITED"
	CircuitOpen  Code = "CIRCUIT_OPEN"
	GuardFailed  Code = "GUARD_FAILED"
	ServerGone   Code = "SERVER_GONE"
)

// numbers are the codes of JSON-RPC errors. They stand outside of the range from -32768 to
// -32000, which belongs to JSON-RPC and MCP.
var numbers = map[Code]int{
	Malformed: 4400, TooLarge: 4413, PolicyBlocks: 4403, NoApprover: 4411,
	RateLimited: 4430, CircuitOpen: 4503, GuardFailed: 4500, ServerGone: 4502,
}

// A Refusal says why a message does not pass. It names no secret, no path of the guard and
// nothing of another user.
type Refusal struct {
	Code   Code
	Rule   string // that decided: the name of a stage, or of a rule of the policy
	Reason string // a sentence: what was refused
	Fix    string // a sentence: what may be done instead
	Retry  bool   // the same message may pass later
	Event  string // of the record, given by the relay
	Cause  error  // for the one who runs the guard, not for who is refused
	Hints  *Hints // of the tool, where the rule that decided looks at them; for the record
}

// Hints are the annotations by which a server says what a tool does (MCP, ToolAnnotations).
type Hints struct {
	ReadOnly    bool `json:"readOnlyHint"`    // it changes nothing
	Destructive bool `json:"destructiveHint"` // it may destroy something
	Idempotent  bool `json:"idempotentHint"`  // a second call changes nothing more
	OpenWorld   bool `json:"openWorldHint"`   // it reaches beyond the server
}

// details are the fields of a refusal as they are sent.
type details struct {
	Guard  string `json:"guard"`
	Code   Code   `json:"code"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	Fix    string `json:"fix"`
	Event  string `json:"event"`
}

func (r Refusal) details() details {
	return details{"sentinel-guard", r.Code, r.Rule, r.Reason, r.Fix, r.Event}
}

func (r Refusal) text() string {
	retry := "Trying again will not help."
	if r.Retry {
		retry = "It may be tried again later."
	}
	return r.Reason + " " + r.Fix + " " + retry
}

type response struct {
	JSONRPC string           `json:"jsonrpc"`
	ID      json.RawMessage  `json:"id"` // nil is written as null
	Result  *toolResult      `json:"result,omitempty"`
	Error   *jsonrpcResponse `json:"error,omitempty"`
}

type jsonrpcResponse struct {
	Code    int     `json:"code"`
	Message string  `json:"message"`
	Data    details `json:"data"`
}

type toolResult struct {
	Content []textContent `json:"content"`
	IsError bool          `json:"isError"`
	Meta    details       `json:"_meta"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Answer returns the answer to a request with this id and method that is refused, without an end
// of line: for a call of a tool a result that a model reads, else an error.
func (r Refusal) Answer(id jsonrpc.ID, method string) []byte {
	out := response{JSONRPC: jsonrpc.Version, ID: json.RawMessage(id)}
	if method == "tools/call" && id != nil {
		out.Result = &toolResult{Content: []textContent{{"text", r.text()}}, IsError: true, Meta: r.details()}
	} else {
		out.Error = &jsonrpcResponse{numbers[r.Code], r.Reason + " " + r.Fix, r.details()}
	}
	line, err := json.Marshal(out)
	if err != nil { // none of these types can fail but for the id, which was read before
		panic(err)
	}
	return line
}
