// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"slices"
	"strings"
)

// An Option is a flag of sentinel that does not belong to an operation. The flag
// set, help, completions and man page are derived from the list.
type Option struct {
	Name, Shorthand string
	Value           string   // placeholder of its value; "" for a switch
	Values          []string // the only values, where they are a closed set
	Usage           string
	Action          bool // it selects what the run does
	ByWord          bool // an action that people may type without its dashes
}

// The kinds of values that a machine has.
const (
	CandidateServices  = "services"
	CandidateProcesses = "processes"
	CandidateBlocked   = "blocked"
)

// Candidates lists the kinds of values that completions ask the machine for.
func Candidates() []string {
	return []string{CandidateServices, CandidateProcesses, CandidateBlocked}
}

// Options lists the options in the order of the help.
func Options() []Option {
	var tools []string
	for _, o := range All() {
		tools = append(tools, o.Name)
	}
	return []Option{
		{Name: "request", Value: "TOOL", Values: tools, Action: true, Usage: "run a tool, its arguments as JSON on stdin"},
		{Name: "completion", Value: "SHELL", Values: []string{"bash", "zsh", "fish"}, Action: true, ByWord: true, Usage: "print completions for bash, zsh or fish"},
		{Name: "complete", Value: "KIND", Values: Candidates(), Action: true, Usage: "print the values that completions offer: " + strings.Join(Candidates(), ", ")},
		{Name: "version", Shorthand: "V", Action: true, ByWord: true, Usage: "print the version"},
		{Name: "help", Shorthand: "h", Action: true, ByWord: true, Usage: "print this"},
		{Name: "dry-run", Usage: "say what a change would do, and change nothing"},
		{Name: "yes", Usage: "do not ask at a terminal before the firewall is changed"},
		{Name: "force", Usage: "change it although a safety rule refuses, where the rule can be overridden"},
		{Name: "json", Usage: "print JSON, also on a terminal"},
		{Name: "output", Value: "FORMAT", Values: []string{"json", "text", "prometheus"}, Usage: "print JSON, the page for people, or metrics for Prometheus"},
		{Name: "verbose", Shorthand: "v", Usage: "pages with everything, and no value cut"},
		{Name: "no-pager", Usage: "no pager for pages that are longer than the screen"},
		{Name: "check", Usage: "end with 0 OK, 1 WARNING, 2 CRITICAL or 3 UNKNOWN and print one line, as plugins of Nagios do"},
		{Name: "limit", Value: "N|all", Values: []string{"all"}, Usage: "rows of each list, instead of the usual bounds"},
		{Name: "host", Value: "NAME", Usage: "run it on another machine, which has sentinel too, over the ssh of this user"},
		{Name: "config", Value: "FILE", Usage: "configuration instead of /etc/sentinel/config.yaml"},
	}
}

// IsOption reports whether a flag is that of an option. Its field is for programs, which have no
// options.
func IsOption(flag string) bool {
	return slices.ContainsFunc(Options(), func(o Option) bool { return o.Name == flag })
}

// Spelled returns the option as a person types it.
func (o Option) Spelled() string { return strings.TrimSpace("--" + o.Name + " " + o.Value) }
