// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
)

// maxName is the longest name of a tool or prompt in bytes. The specification advises 128
// characters.
const maxName = 1024

// envelope refuses what cannot be read in exactly one way, and calls that do not say in the
// protocol's way what they call: other stages judge by that.
func envelope() stage.Stage {
	return stage.Stage{Name: "envelope", Judge: func(m *stage.Message) (stage.Verdict, error) {
		why := ""
		switch {
		case m.Fault != nil:
			why = m.Fault.Reason
		case m.Request():
			why = checkCall(m.Message)
		}
		if why == "" {
			return stage.Verdict{}, nil
		}
		return stage.Blocked(stage.Refusal{
			Code:   stage.Malformed,
			Rule:   "envelope",
			Reason: why + ".",
			Fix:    "Send it again in the form of the protocol.",
		}), nil
	}}
}

func checkCall(m *jsonrpc.Message) string {
	if len(m.Params) > 0 && m.Params[0] != '{' && string(m.Params) != "null" && m.Params[0] != '[' {
		return "Invalid request: params must be an object"
	}
	member, ok := stage.NameMember(m.Method)
	if !ok {
		return ""
	}
	if len(m.Params) == 0 || m.Params[0] != '{' {
		return "Invalid request: the params of " + m.Method + " must be an object"
	}
	name, isText := jsonrpc.Text(m.Members.Get(member))
	switch {
	case !isText || name == "":
		return "Invalid request: " + m.Method + " needs the text " + member
	case member == "name" && len(name) > maxName:
		return "Invalid request: the name is too long"
	}
	if arguments := m.Members.Get("arguments"); member == "name" && len(arguments) > 0 && arguments[0] != '{' && string(arguments) != "null" {
		return "Invalid request: arguments must be an object"
	}
	return ""
}
