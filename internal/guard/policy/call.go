// SPDX-License-Identifier: Apache-2.0

// Package policy judges calls by the rules of a person: what is forbidden, what a
// person is asked about, what is only recorded.
//
// Every rule that matches counts and the most severe wins, in one file and over all of them: so
// a second file can tighten the first and never loosen it. A value that cannot be read as a rule
// asks matches each rule that forbids and none that allows.
package policy

import (
	"slices"

	"sentinel/internal/guard/policy/expression"
)

// The methods that rules hold for.
const (
	ToolsCall     = "tools/call"
	PromptsGet    = "prompts/get"
	ResourcesRead = "resources/read"
	Sampling      = "sampling/createMessage"
	Elicitation   = "elicitation/create"
)

var methods = []string{ToolsCall, PromptsGet, ResourcesRead, Sampling, Elicitation}

// A Side is which half of a call is judged.
type Side string

// The sides.
const (
	OnCall   Side = "call"
	OnResult Side = "result"
)

// A Call is what is judged, of the very bytes that are forwarded.
type Call struct {
	Method string
	On     Side   // "" is OnCall
	Server string // as the user calls it
	Name   string // of the tool or the prompt; the URI of a resource; "" for what has none

	// Unnamed says that nobody knows of which tool it is: rules that forbid hold whatever tool they name.
	Unnamed bool

	// Arguments is what conditions look into, as JSON: the arguments of a call, the params of
	// what has no arguments, the result on its side. Nil counts as {}.
	Arguments []byte

	// Annotations are those of the tool, as JSON; nil where the server gave none. Hints that are
	// missing have the defaults of MCP.
	Annotations []byte
}

// Judges says whether rules hold for a method.
func Judges(method string) bool {
	return slices.Contains(methods, method)
}

func (c Call) side() Side {
	if c.On == "" {
		return OnCall
	}
	return c.On
}

// expression is the call as the expressions of "when" see it.
func (c Call) expression() expression.Call {
	return expression.Call{
		Method: c.Method, On: string(c.side()), Server: c.Server, Name: c.Name, Arguments: c.Arguments, Annotations: c.Annotations,
	}
}

// An Action is what happens to a call, the more severe the greater.
type Action int

// The actions.
const (
	Allow Action = iota + 1
	Log
	Ask // allow_with_approval
	Block
)

var actionNames = map[string]Action{"allow": Allow, "log": Log, "allow_with_approval": Ask, "block": Block}

// String returns the action as a file spells it.
func (a Action) String() string {
	for name, action := range actionNames {
		if action == a {
			return name
		}
	}
	return ""
}

// MarshalText writes the action as a file spells it.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }
