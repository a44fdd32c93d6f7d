// SPDX-License-Identifier: Apache-2.0

package cli

import "sentinel/internal/ops"

// An option is a flag that no operation owns. Flag set, help, completions and
// man page follow from the list.
type option struct {
	name, shorthand string
	value           string   // what stands for its value; "" is a switch
	values          []string // the only values, where there are few
	about           string
	action          bool // it is what the run does
}

func options() []option {
	var tools []string
	for _, o := range ops.All() {
		tools = append(tools, o.Name)
	}
	return []option{
		{name: "request", value: "TOOL", values: tools, action: true, about: "run a tool, its arguments as JSON on stdin"},
		{name: "completion", value: "SHELL", values: []string{"bash", "zsh", "fish"}, action: true, about: "print completions for bash, zsh or fish"},
		{name: "version", action: true, about: "print the version"},
		{name: "help", shorthand: "h", action: true, about: "print this"},
		{name: "dry-run", about: "say what a change would do, and change nothing"},
		{name: "force", about: "change it although a safety rule refuses, where the rule can be overridden"},
		{name: "json", about: "print JSON, also on a terminal"},
		{name: "output", value: "FORMAT", values: []string{"json", "prometheus"}, about: "print JSON, or health as metrics for Prometheus"},
		{name: "limit", value: "N|all", values: []string{"all"}, about: "rows of each list, instead of the usual bounds"},
		{name: "config", value: "FILE", about: "configuration instead of /etc/sentinel/config.yaml"},
	}
}
