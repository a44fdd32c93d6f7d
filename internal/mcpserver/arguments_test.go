// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestArgumentsReachTheHandlerLetterForLetter(t *testing.T) {
	for name, test := range map[string]struct{ line, arguments, rest string }{
		"plain": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"n":1e400, "n":2}}}`,
			`{"n":1e400, "n":2}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`,
		},
		"none": {
			`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","_meta":{"k":[1]}}}`,
			"", `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","_meta":{"k":[1]}}}`,
		},
		"no parameters":              {`{"id":1,"method":"tools/call"}`, "", `{"id":1,"method":"tools/call"}`},
		"parameters of another type": {`{"id":1,"method":"tools/call","params":[1]}`, "", `{"id":1,"method":"tools/call","params":[1]}`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, rest := splitCall(t.Context(), json.RawMessage(test.line))
			if got := string(argumentsOf(ctx)); got != test.arguments {
				t.Errorf("arguments %s, want %s", got, test.arguments)
			}
			if string(rest) != test.rest {
				t.Errorf("rest %s, want %s", rest, test.rest)
			}
		})
	}
}

func FuzzSplitCall(f *testing.F) {
	f.Add([]byte(call("1", "work", "x")))
	f.Add([]byte(`{"id":1,"Params":{"ARGUMENTS":null,"name":5}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if !json.Valid(line) {
			return
		}
		ctx, rest := splitCall(t.Context(), line)
		if !json.Valid(rest) {
			t.Errorf("%s became %s", line, rest)
		}
		if arguments := argumentsOf(ctx); arguments != nil && !bytes.Contains(line, arguments) {
			t.Errorf("arguments %s are not in %s", arguments, line)
		}
	})
}
