// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"testing"

	"sentinel/internal/jsonrpc"
)

func TestArgumentsReachTheHandlerLetterForLetter(t *testing.T) {
	for name, test := range map[string]struct{ line, arguments, rest string }{
		"plain": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"n":1e400, "m":2}}}`,
			`{"n":1e400, "m":2}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`,
		},
		"none": {
			`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","_meta":{"k":[1]}}}`,
			"", `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","_meta":{"k":[1]}}}`,
		},
		"no parameters":              {`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`},
		"parameters of another type": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`, "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, rest := splitCall(t.Context(), parsed(t, test.line))
			if got := string(argumentsOf(ctx)); got != test.arguments {
				t.Errorf("arguments %s, want %s", got, test.arguments)
			}
			if string(rest.Raw) != test.rest {
				t.Errorf("rest %s, want %s", rest.Raw, test.rest)
			}
		})
	}
}

// parsed returns the message on a line.
func parsed(t *testing.T, line string) message {
	t.Helper()
	m, why := newMessage(jsonrpc.Parse([]byte(line)).Messages[0], nil)
	if why != nil {
		t.Fatalf("%s: %s", line, why.sentence)
	}
	return m
}

func FuzzSplitCall(f *testing.F) {
	f.Add([]byte(call("1", "work", "x")))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"na\u006de":"a","arguments":null,"\"":5}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		frame := jsonrpc.Parse(line)
		if frame.Batch {
			return
		}
		m, why := newMessage(frame.Messages[0], nil)
		if why != nil || !m.Request() {
			return
		}
		ctx, rest := splitCall(t.Context(), m)
		again := jsonrpc.Parse(rest.Raw).Messages[0]
		if again.Fault != nil || m.Members != nil && again.Members.Get("arguments") != nil || string(again.ID) != string(m.ID) {
			t.Errorf("%s became %s", line, rest.Raw)
		}
		if arguments := argumentsOf(ctx); arguments != nil && !bytes.Contains(line, arguments) {
			t.Errorf("arguments %s are not in %s", arguments, line)
		}
	})
}
