// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"sentinel/internal/guard/policy/as"
)

// mostRows is how many rows a query may ask for when a rule says "unbounded_select: true".
const mostRows = 1000

// operators and for which readings each is.
var operators = map[string][]reading{
	"equals": readings, "not_equals": readings, "in": readings, "not_in": readings,
	"contains": readings, "not_contains": readings, "starts_with": readings, "regex": readings,
	"gt": {asText}, "lt": {asText}, "exists": readings,
	"inside": {asPath, asURL, asHost, asShell, asSQL}, "not_inside": {asPath, asURL, asHost, asShell, asSQL},
	"unbounded_select": {asSQL},
}

// condition reads one condition: what it is about, how that is understood, and the operators, all
// of which must hold.
func (p *parser) condition(n *yaml.Node) condition {
	c := condition{line: n.Line, as: asText}
	operands := map[string]*yaml.Node{}
	var order []string
	fields := map[string]field{
		"argument": func(_, n *yaml.Node) {
			if text, ok := p.text(n, "argument"); ok {
				var err error
				if c.selector, err = parseSelector(text); err != nil {
					p.fail(n, "argument %q: %v", shorten(text), err)
				}
			}
		},
		"as":          func(_, n *yaml.Node) { c.as, _ = choice(p, n, "as", readings) },
		"ignore_case": func(_, n *yaml.Node) { c.ignoreCase, _ = p.flag(n, "ignore_case") },
		"nfkc":        func(_, n *yaml.Node) { c.nfkc, _ = p.flag(n, "nfkc") },
	}
	for name := range operators {
		fields[name] = func(_, n *yaml.Node) {
			operands[name] = n
			order = append(order, name)
		}
	}
	p.mapping(n, "a condition", fields)
	if n.Kind != yaml.MappingNode {
		return c
	}
	if !has(n, "argument") {
		p.fail(n, "the condition says not which argument it is about")
	}
	if len(order) == 0 {
		p.fail(n, "the condition has no operator")
	}
	for _, name := range order {
		p.test(name, operands[name], &c)
	}
	return c
}

// test compiles one operator with its operand.
func (p *parser) test(name string, n *yaml.Node, c *condition) {
	if c.as != "" && !slices.Contains(operators[name], c.as) {
		p.fail(n, "%s is no operator for as: %s", name, c.as)
		return
	}
	t := test{operator: name}
	if base, ok := strings.CutPrefix(name, "not_"); ok {
		t.operator, t.not = base, true
	}
	switch t.operator {
	case "exists":
		if is, ok := p.flag(n, name); ok {
			c.exists = &is
		}
		return
	case "gt", "lt":
		if n.Kind != yaml.ScalarNode || !isJSONNumber(n.Value) || n.ShortTag() == "!!str" {
			p.fail(n, "%s must be a number, written as in JSON", name)
		}
		t.number = n.Value
	case "regex":
		p.expression(n, &t)
	case "unbounded_select":
		t.most = p.rows(n)
	case "equals":
		p.operand(n, name, c, &t)
	case "in", "inside":
		p.list(n, name, func(n *yaml.Node) { p.operand(n, name, c, &t) })
	default: // contains, starts_with
		if text, ok := p.text(n, name); ok {
			t.texts = append(t.texts, spelt(c.as, p.expand(n, c, text)))
		}
	}
	c.tests = append(c.tests, t)
	c.lists = c.lists || slices.ContainsFunc(t.values, func(v value) bool { return v.kind == isArray })
}

func (p *parser) expression(n *yaml.Node, t *test) {
	text, ok := p.text(n, "regex")
	if !ok {
		return
	}
	for i, flags := range []string{"", "(?i)"} {
		compiled, err := regexp.Compile(flags + text)
		if err != nil {
			p.fail(n, "regex: %v", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			return
		}
		t.pattern[i] = compiled
	}
}

// spelt returns a part of a statement or a command with the blanks that its canonical form has. A
// part that is nothing by itself stays as it is.
func spelt(how reading, text string) string {
	switch how {
	case asSQL:
		if statements, err := as.SQL(text); err == nil && len(statements) == 1 {
			return statements[0].String()
		}
	case asShell:
		if words, err := as.ParseBeginning(text); err == nil {
			return words.String()
		}
	}
	return text
}

// rows reads true, or how many rows a query may ask for.
func (p *parser) rows(n *yaml.Node) uint64 {
	if n.Kind == yaml.ScalarNode && n.Value == "true" && n.ShortTag() == "!!bool" {
		return mostRows
	}
	rows, err := strconv.ParseUint(n.Value, 10, 63)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || !isJSONNumber(n.Value) || err != nil {
		p.fail(n, "unbounded_select must be true, for %d rows, or how many rows a query may ask for", mostRows)
	}
	return rows
}

// operand compiles what a value is compared to, as the value itself is understood.
func (p *parser) operand(n *yaml.Node, name string, c *condition, t *test) {
	if c.as == asText {
		if v, ok := p.json(n); ok {
			t.values = append(t.values, v)
			if v.kind == isString {
				t.texts = append(t.texts, v.text)
			}
		}
		return
	}
	text, ok := p.text(n, name)
	if !ok {
		return
	}
	text = p.expand(n, c, text)
	var err error
	if t.operator == "inside" {
		err = p.place(text, c, t)
	} else {
		err = p.exact(text, c, t)
	}
	if err != nil {
		p.fail(n, "%s: %q is not readable as %s: %v", name, shorten(text), c.as, err)
	}
}

// place compiles what values may be inside.
func (p *parser) place(text string, c *condition, t *test) (err error) {
	switch c.as {
	case asURL:
		var area as.Area
		area, err = as.ParseArea(text)
		t.areas = append(t.areas, area)
	case asHost:
		var site as.Site
		site, err = as.ParseSite(text)
		t.sites = append(t.sites, site)
	case asShell:
		var start as.Command
		start, err = as.ParseBeginning(text)
		t.starts = append(t.starts, start)
	case asSQL:
		t.kinds = true
		t.texts = append(t.texts, strings.ToUpper(text))
	default:
		t.texts = append(t.texts, text)
	}
	return err
}

// exact compiles what values may equal: the canonical form of the operand.
func (p *parser) exact(text string, c *condition, t *test) error {
	if c.as == asPath { // where it leads is seen at each call
		t.texts = append(t.texts, text)
		return nil
	}
	all, err := c.samples(p.env, text)
	if err != nil || len(all) == 0 {
		return err
	}
	t.texts = append(t.texts, all[0].text)
	if c.as == asHost {
		if _, err := netip.ParseAddr(all[0].text); err == nil || as.Local(all[0].text) {
			site, err := as.ParseSite(all[0].text)
			t.sites = append(t.sites, site)
			return err
		}
	}
	return nil
}

// expand puts the variables into an operand that is a path. One that nobody knows makes it a
// path that cannot be read.
func (p *parser) expand(n *yaml.Node, c *condition, text string) string {
	if c.as != asPath {
		return text
	}
	known := map[string]string{"PROJECT": p.env.Project, "HOME": p.env.Home}
	var expanded strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "${")
		expanded.WriteString(before)
		if !ok {
			return expanded.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		value, is := known[name]
		switch {
		case !is:
			p.fail(n, "there is no variable ${%s}; there are ${PROJECT} and ${HOME}", shorten(name))
			return ""
		case value == "":
			return ""
		}
		expanded.WriteString(value)
		text = after
	}
}

// json reads a value as JSON would have it.
func (p *parser) json(n *yaml.Node) (value, bool) {
	switch n.Kind {
	case yaml.SequenceNode:
		v := value{kind: isArray}
		for _, item := range n.Content {
			inner, ok := p.json(item)
			if !ok {
				return value{}, false
			}
			v.items = append(v.items, inner)
		}
		return v, true
	case yaml.MappingNode:
		v := value{kind: isObject}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, named := p.text(n.Content[i], "the name of a member")
			inner, ok := p.json(n.Content[i+1])
			if !ok || !named {
				return value{}, false
			}
			v.members = append(v.members, member{name, inner})
		}
		return v, true
	case yaml.ScalarNode:
		return p.scalar(n)
	default:
		p.fail(n, "aliases are not read; write the value out")
		return value{}, false
	}
}

func (p *parser) scalar(n *yaml.Node) (value, bool) {
	switch tag := n.ShortTag(); {
	case tag == "!!str":
		return value{kind: isString, text: n.Value}, true
	case tag == "!!bool" && (n.Value == "true" || n.Value == "false"):
		return value{kind: isBool, text: n.Value}, true
	case tag == "!!null":
		return value{kind: isNull, text: "null"}, true
	case (tag == "!!int" || tag == "!!float") && isJSONNumber(n.Value):
		return value{kind: isNumber, text: n.Value}, true
	default:
		p.fail(n, "%q is not a value of JSON; write a text in quotes, a number as JSON does", shorten(n.Value))
		return value{}, false
	}
}
