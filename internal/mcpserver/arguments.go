// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
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
// mcp-go would decode them into floats and maps, where long numbers change and 1e400 makes
// the whole request unreadable. They are checked later, in full, against the table. What the
// client sends in answer to a question goes the same way; what else stands in params stays.
func splitCall(ctx context.Context, m message) (context.Context, message) {
	if m.Members == nil {
		return ctx, m
	}
	ctx = context.WithValue(ctx, argumentsKey{}, json.RawMessage(m.Members.Get("arguments")))
	ctx = context.WithValue(ctx, inputKey{}, input{given(m.Members, "requestState"), given(m.Members, "inputResponses")})
	var rest bytes.Buffer
	rest.WriteString(`{"jsonrpc":"2.0","id":`)
	rest.Write(m.ID)
	rest.WriteString(`,"method":` + quote(m.Method) + `,"params":{`)
	comma := ""
	for _, member := range m.Members {
		switch member.Name {
		case "arguments", "requestState", "inputResponses":
			continue
		}
		rest.WriteString(comma + quote(member.Name) + ":")
		rest.Write(member.Value)
		comma = ","
	}
	rest.WriteString("}}")
	m.Raw = rest.Bytes()
	return ctx, m
}

// quote writes a text as JSON.
func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return strconv.Quote(text) // no text fails to encode
	}
	return string(quoted)
}
