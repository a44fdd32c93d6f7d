// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"regexp"
	"slices"

	"sentinel/internal/guard/policy/as"
	"sentinel/internal/guard/policy/expression"
)

// A Policy is one file of rules, compiled.
type Policy struct {
	File    string
	Default Action
	Rules   []Rule
	Limits  Limits
	Record  Record
	Values  *bool // the record keeps arguments and results; nil when the file does not say

	MinimalEnvironment bool // servers get no more variables than they need
}

// A Record says what happens to a call that cannot be recorded; "" when a file does not say.
type Record string

// What happens to such a call.
const (
	RecordRequired   Record = "required"    // it is refused
	RecordBestEffort Record = "best_effort" // it passes
)

// A Rule is one of the rules of a file.
type Rule struct {
	Name   string
	Line   int // in its file
	Action Action
	Reason string // for who is refused; "" when the file gives none

	original   bool // in the spelling of the first gateway
	tools      []toolGlob
	methods    []string // nil: all
	sides      []Side
	any        bool // one condition is enough
	conditions []condition
	when       *expression.Program
}

// forbids says that the rule matches what cannot be read.
func (r *Rule) forbids() bool { return r.Action != Allow }

// concerns says whether the rule is about such calls at all.
func (r *Rule) concerns(c *Call) bool {
	return slices.Contains(r.sides, c.side()) && (r.methods == nil || slices.Contains(r.methods, c.Method)) &&
		slices.ContainsFunc(r.tools, func(g toolGlob) bool {
			return g.matches(c.Server, c.Name) || c.Unnamed && r.forbids() && g.server.matches(c.Server)
		})
}

// A condition is what must be so of the values that its selector finds.
type condition struct {
	line       int
	selector   selector
	as         reading
	ignoreCase bool
	nfkc       bool
	ifPresent  bool // of the first gateway: an argument that is not there is no reason to refuse
	tests      []test
	lists      bool // a test compares a list as a whole
	exists     *bool
}

// A reading is how a value is understood.
type reading string

const (
	asText  reading = "text"
	asPath  reading = "path"
	asURL   reading = "url"
	asHost  reading = "host"
	asShell reading = "shell"
	asSQL   reading = "sql"
)

var readings = []reading{asText, asPath, asURL, asHost, asShell, asSQL}

// A test is an operator with what it compares to.
type test struct {
	operator string
	not      bool // the opposite of the operator
	values   []value
	texts    []string          // of values, as the condition reads them
	places   []as.Place        // where those that are paths lead, at the call
	pattern  [2]*regexp.Regexp // as written, and without regard to case where a volume has none
	number   string
	most     uint64
	areas    []as.Area
	sites    []as.Site
	kinds    bool // the texts are kinds of statements
	starts   []as.Command
}

// Tools returns the patterns of the tools that the rule is about.
func (r *Rule) Tools() []string {
	tools := make([]string, len(r.tools))
	for i := range r.tools {
		tools[i] = r.tools[i].text
	}
	return tools
}
