// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"sentinel/internal/jsonrpc"
)

// maxLine is the longest line in bytes that a client may send. Arguments are
// limited to ops.MaxRequest, which is far less; a longer line is a mistake or an attack.
const maxLine = 1 << 20

// overloaded is the code for a request that the server will not take now: the one that
// HTTP has for it. Codes of our own stand outside of the range from -32768 to -32000, which
// belongs to JSON-RPC and MCP (MCP 2026-07-28, "Error Codes").
const overloaded = 503

// A message is one message of a client.
type message struct {
	jsonrpc.Message
	key   string // of the id of a request; "" for everything else
	batch *batch // that it came in; nil when it stood alone on its line
}

// newMessage returns a message, or why its id cannot be used: a number with a
// fraction or an exponent comes back from some JSON decoders spelled in another way.
func newMessage(parsed jsonrpc.Message, b *batch) (message, *refusal) {
	m := message{Message: parsed, batch: b}
	switch {
	case m.Fault != nil:
		return m, &refusal{code: m.Fault.Code, sentence: m.Fault.Reason}
	case m.Request() && m.ID[0] != '"' && !m.ID.Whole():
		return m, &refusal{code: jsonrpc.InvalidRequest, sentence: "Invalid request: id must be a text or a whole number of at most 2^53; leave it out in a notification"}
	case m.Request():
		m.key, _ = m.ID.Key()
	}
	return m, nil
}

func (m *message) is(method mcp.MCPMethod) bool { return m.Method == string(method) }

// A refusal is why a message is answered without being handled.
type refusal struct {
	code     int
	sentence string
	data     any
}

// A response is the answer to a request as it goes out.
type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"` // as the client wrote it
	Result  any             `json:"result,omitempty"`
	Error   *responseError  `json:"error,omitempty"`
}

type responseError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (r *refusal) response(id json.RawMessage) *response {
	return &response{JSONRPC: jsonrpc.Version, ID: id, Error: &responseError{r.code, r.sentence, r.data}}
}

// refused returns the answer to a message that is not handled. Without an id that is
// known, the revisions from 2025-11-25 on have none in the answer; their schemas take null for a
// mistake. The ones before have no form for it, and JSON-RPC 2.0 asks for null.
func (t *transport) refused(m message, why *refusal) *response {
	id := json.RawMessage(m.ID)
	if v := t.session.ProtocolVersion(); id == nil && v != "" && v < mcp.ProtocolVersion20251125 {
		id = json.RawMessage("null")
	}
	return why.response(id)
}

// formOf says of params that they cannot be read.
func formOf(m message) string {
	return fmt.Sprintf("the params of %s do not have the form that the protocol gives them", m.Method)
}

// asInputRequired takes the content from a result that requires input, which has none: mcp-go
// writes an empty one, and by that a client could take it for the result of a tool.
func asInputRequired(result any) any {
	if r, ok := result.(*mcp.CallToolResult); ok && r.ResultType == mcp.ResultTypeInputRequired {
		return mcp.InputRequiredResult{Result: r.Result, MultiRoundTripResult: r.MultiRoundTripResult}
	}
	return result
}

// responseTo makes the answer of mcp-go to m one of ours. That m is a message was found
// before: what mcp-go cannot read of it are the params, which it says in words of its own.
func responseTo(m message, answer mcp.JSONRPCMessage) *response {
	switch a := answer.(type) {
	case mcp.JSONRPCResponse:
		return &response{JSONRPC: jsonrpc.Version, ID: json.RawMessage(m.ID), Result: asInputRequired(a.Result)}
	case mcp.JSONRPCError:
		r := &refusal{a.Error.Code, a.Error.Message, a.Error.Data}
		if r.code == jsonrpc.InvalidRequest || r.code == jsonrpc.ParseError {
			r = wrongParams(formOf(m))
		}
		return r.response(json.RawMessage(m.ID))
	default:
		return nil
	}
}
