// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"sentinel/internal/guard/policy/expression"
)

// maxReason is how long the reason of a rule may be, in bytes: a model reads it.
const maxReason = 1 << 10

// rule reads one rule, in the spelling of today or in that of the first gateway.
func (p *parser) rule(n *yaml.Node, number int) Rule {
	r := Rule{Name: fmt.Sprintf("rule %d", number), Line: n.Line, sides: []Side{OnCall}}
	switch {
	case n.Kind != yaml.MappingNode:
		p.fail(n, "a rule must be a mapping, key: value")
	case isOriginal(n):
		p.originalRule(n, &r)
	default:
		p.todaysRule(n, &r)
	}
	return r
}

func (p *parser) todaysRule(n *yaml.Node, r *Rule) {
	named := false
	p.mapping(n, "a rule", map[string]field{
		"name": func(_, n *yaml.Node) {
			r.Name, named = p.text(n, "name")
			p.fits(n, "name", r.Name)
		},
		"description": func(_, n *yaml.Node) { p.text(n, "description") },
		"tools":       func(_, n *yaml.Node) { p.list(n, "tools", func(n *yaml.Node) { p.tools(n, r) }) },
		"methods": func(_, n *yaml.Node) {
			p.list(n, "methods", func(n *yaml.Node) {
				if m, ok := choice(p, n, "methods", methods); ok {
					r.methods = append(r.methods, m)
				}
			})
		},
		"on": func(_, n *yaml.Node) {
			r.sides = nil
			p.list(n, "on", func(n *yaml.Node) {
				if s, ok := choice(p, n, "on", []Side{OnCall, OnResult}); ok {
					r.sides = append(r.sides, s)
				}
			})
		},
		"match":      func(_, n *yaml.Node) { p.match(n, "match", r) },
		"conditions": func(_, n *yaml.Node) { p.conditions(n, r, p.condition) },
		"action": func(_, n *yaml.Node) {
			r.Action, _ = p.action(n, "action", "block", "allow", "log", "allow_with_approval")
		},
		"reason": func(_, n *yaml.Node) {
			r.Reason, _ = p.text(n, "reason")
			p.fits(n, "reason", r.Reason)
		},
		"when": func(_, n *yaml.Node) { p.when(n, r) },
	})
	switch {
	case !named || strings.TrimSpace(r.Name) == "":
		p.fail(n, "the rule has no name")
	case r.Action == 0 && !has(n, "action"):
		p.fail(n, "the rule %q has no action", shorten(r.Name))
	case r.any && len(r.conditions) == 0 && !has(n, "conditions"):
		p.fail(n, "the rule %q matches any of its conditions and has none", shorten(r.Name))
	}
	p.anyTool(r)
}

// anyTool lets a rule that names no tools hold for all.
func (p *parser) anyTool(r *Rule) {
	if r.tools == nil {
		everything := glob{{kind: '*'}}
		r.tools = []toolGlob{{"*", everything, everything}}
	}
}

func has(n *yaml.Node, key string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

func (p *parser) fits(n *yaml.Node, what, text string) {
	if len(text) > maxReason {
		p.fail(n, "the %s is longer than %d bytes", what, maxReason)
	}
}

func (p *parser) tools(n *yaml.Node, r *Rule) {
	text, ok := p.text(n, "tools")
	if !ok {
		return
	}
	g, err := parseToolGlob(text)
	if err != nil {
		p.fail(n, "%q: %v", shorten(text), err)
		return
	}
	r.tools = append(r.tools, g)
}

func (p *parser) match(n *yaml.Node, what string, r *Rule) {
	word, _ := choice(p, n, what, []string{"all", "any"})
	r.any = word == "any"
}

func (p *parser) when(n *yaml.Node, r *Rule) {
	text, ok := p.text(n, "when")
	if !ok {
		return
	}
	program, err := expression.Compile(text)
	if err != nil {
		p.fail(n, "when: %v", err)
	}
	r.when = program
}

// conditions reads the list of a rule, each with read.
func (p *parser) conditions(n *yaml.Node, r *Rule, read func(*yaml.Node) condition) {
	if n.Kind != yaml.SequenceNode {
		p.fail(n, "conditions must be a list")
		return
	}
	for _, item := range n.Content {
		r.conditions = append(r.conditions, read(item))
	}
}

// isOriginal says whether a rule is spelt as the first gateway spelt them.
func isOriginal(n *yaml.Node) bool {
	return slices.ContainsFunc([]string{"id", "target_tool", "target_argument", "match_type"}, func(key string) bool { return has(n, key) })
}

// originalRule reads a rule of the first gateway. Its conditions are about one argument, and it
// applies only where that argument is; here at any depth, because one that is nested is there too.
func (p *parser) originalRule(n *yaml.Node, r *Rule) {
	r.original, r.Action = true, Block
	id, name, argument := "", "", ""
	p.mapping(n, "a rule with target_tool", map[string]field{
		"id":              func(_, n *yaml.Node) { id = n.Value },
		"name":            func(_, n *yaml.Node) { name, _ = p.text(n, "name") },
		"description":     func(_, n *yaml.Node) { p.text(n, "description") },
		"target_tool":     func(_, n *yaml.Node) { p.originalTool(n, r) },
		"target_argument": func(_, n *yaml.Node) { argument, _ = p.text(n, "target_argument") },
		"match_type":      func(_, n *yaml.Node) { p.match(n, "match_type", r) },
		"action": func(_, n *yaml.Node) {
			r.Action, _ = p.action(n, "action", "block", "allow", "log", "allow_with_approval")
		},
		"conditions": func(_, n *yaml.Node) { p.conditions(n, r, p.originalCondition) },
	})
	switch {
	case name != "":
		r.Name = name
	case id != "":
		r.Name = id
	}
	p.fits(n, "name", r.Name)
	if argument == "" && len(r.conditions) > 0 {
		p.fail(n, "the rule %q has conditions and no target_argument", shorten(r.Name))
		return
	}
	anywhere := selector{text: "**." + argument, segments: []string{"**", argument}}
	for i := range r.conditions {
		r.conditions[i].selector = anywhere
	}
	if argument != "" && len(r.conditions) == 0 && !r.any {
		present := true
		r.conditions = append(r.conditions, condition{line: n.Line, selector: anywhere, exists: &present})
	}
	p.anyTool(r)
}

// originalTool reads a pattern of tools alone; the first gateway knew one server.
func (p *parser) originalTool(n *yaml.Node, r *Rule) {
	text, ok := p.text(n, "target_tool")
	if !ok {
		return
	}
	tool, err := parseGlob(text)
	if err != nil {
		p.fail(n, "%q: %v", shorten(text), err)
		return
	}
	r.tools = append(r.tools, toolGlob{text, glob{{kind: '*'}}, tool})
}

func (p *parser) originalCondition(n *yaml.Node) condition {
	c := condition{line: n.Line, as: asText, ifPresent: true}
	var operator string
	var operand *yaml.Node
	p.mapping(n, "a condition with operator", map[string]field{
		"operator": func(_, n *yaml.Node) {
			operator, _ = choice(p, n, "operator", []string{"contains", "not_contains", "equals", "regex"})
		},
		"value":       func(_, n *yaml.Node) { operand = n },
		"ignore_case": func(_, n *yaml.Node) { c.ignoreCase, _ = p.flag(n, "ignore_case") },
	})
	switch {
	case operator == "" && !has(n, "operator"):
		p.fail(n, "the condition has no operator")
	case operand == nil:
		p.fail(n, "the condition has no value")
	case operator != "":
		p.test(operator, operand, &c)
	}
	return c
}
