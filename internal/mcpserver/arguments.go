// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
)

// argumentsKey is the key under which a context holds the arguments of its
// call.
type argumentsKey struct{}

// argumentsOf returns the arguments of the call that ctx belongs to, as the
// client wrote them; nil when it sent none.
func argumentsOf(ctx context.Context) json.RawMessage {
	raw, _ := ctx.Value(argumentsKey{}).(json.RawMessage)
	return raw
}

// inputOf returns what the client sent with the call that ctx belongs to in
// answer to a question.
func inputOf(ctx context.Context) input {
	in, _ := ctx.Value(inputKey{}).(input)
	return in
}

// splitCall takes the arguments out of a tools/call and puts them into ctx.
// mcp-go would decode them into floats and maps, where long numbers change, repeated
// keys vanish and 1e400 makes the whole request unreadable. They are checked later, in
// full, against the table. A request that is not a tools/call is returned unchanged, for
// mcp-go to refuse.
func splitCall(ctx context.Context, raw json.RawMessage) (context.Context, json.RawMessage) {
	var call struct {
		JSONRPC json.RawMessage `json:"jsonrpc,omitempty"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
		Params  *struct {
			Name      json.RawMessage `json:"name,omitempty"`
			Meta      json.RawMessage `json:"_meta,omitempty"`
			Arguments json.RawMessage `json:"arguments,omitempty"`
			State     json.RawMessage `json:"requestState,omitempty"`
			Responses json.RawMessage `json:"inputResponses,omitempty"`
		} `json:"params"`
	}
	if json.Unmarshal(raw, &call) != nil || call.Params == nil {
		return ctx, raw
	}
	ctx = context.WithValue(ctx, argumentsKey{}, call.Params.Arguments)
	ctx = context.WithValue(ctx, inputKey{}, input{call.Params.State, call.Params.Responses})
	call.Params.Arguments, call.Params.State, call.Params.Responses = nil, nil, nil
	rest, err := json.Marshal(call)
	if err != nil {
		return ctx, raw
	}
	return ctx, rest
}
