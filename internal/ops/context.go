// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// A Context is what a program says of a call beside its arguments, under "_context". All of it is a
// claim, and proves nothing.
type Context struct {
	Caller string `json:"caller,omitempty"` // the program that asks
	// Asking says that a person is to be asked first: nothing is done, and the answer is that of a
	// dry run with what the question needs.
	Asking bool   `json:"asking,omitempty"`
	Asked  string `json:"asked,omitempty"` // who agreed: "", Accepted or Typed
	Plan   string `json:"plan,omitempty"`  // what is to be done and nothing else, from the answer to Asking
	// Tools are those that a model has on offer, which has no shell: its answers name them. Without
	// them answers name commands.
	Tools []string `json:"tools,omitzero"`
}

// Who agreed to a change.
const (
	Accepted = "accepted" // the user of an MCP client, who was asked
	Typed    = "typed"    // a person at a terminal, who typed the command
)

const (
	maxCaller = 200 // runes
	maxTools  = 100
	maxPlan   = 64 // bytes
)

// parseContext decodes the value of "_context".
func parseContext(raw json.RawMessage) (c Context, err error) {
	members, err := object(raw)
	if err != nil {
		return c, wrongContext()
	}
	for name, value := range members {
		var target any
		switch name {
		case "caller":
			target = &c.Caller
		case "asking":
			target = &c.Asking
		case "asked":
			target = &c.Asked
		case "plan":
			target = &c.Plan
		case "tools":
			target = &c.Tools
		}
		if target == nil || string(value) == "null" || json.Unmarshal(value, target) != nil {
			return c, wrongContext()
		}
	}
	if utf8.RuneCountInString(c.Caller) > maxCaller || len(c.Plan) > maxPlan || len(c.Tools) > maxTools || !slices.Contains([]string{"", Accepted, Typed}, c.Asked) {
		return c, wrongContext()
	}
	return c, nil
}

func wrongContext() error {
	return &ArgumentError{
		Message: fmt.Sprintf("_context holds only caller (a text of at most %d characters), tools (a list of at most %d names), asking (true or false), asked (%s or %s) and plan.", maxCaller, maxTools, Accepted, Typed),
		Fix:     `Send {"caller": "name"}, with the names of the tools on offer as tools, or leave _context out.`,
	}
}
