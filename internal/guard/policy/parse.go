// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of one file.
const (
	maxFile     = 4 << 10 // KiB
	maxRules    = 20_000
	maxProblems = 20
)

// A parser compiles one file and gathers what is wrong with it.
type parser struct {
	file     string
	env      Environment
	problems Problems
}

// Parse compiles a file. Whatever is not as it must be is an error, a [Problems].
func Parse(file string, raw []byte, env Environment) (*Policy, error) {
	p := parser{file: file, env: env}
	policy := &Policy{File: file, Default: Allow}
	if root := p.document(raw); root != nil {
		p.policy(root, policy)
	}
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return policy, nil
}

func (p *parser) fail(n *yaml.Node, format string, args ...any) {
	if len(p.problems) < maxProblems {
		p.problems = append(p.problems, Problem{p.file, n.Line, n.Column, fmt.Sprintf(format, args...)})
	}
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// document returns the one document in raw, nil when it is empty.
func (p *parser) document(raw []byte) *yaml.Node {
	if len(raw) > maxFile<<10 {
		p.fail(&yaml.Node{}, "it is larger than %d KiB", maxFile)
		return nil
	}
	d := yaml.NewDecoder(bytes.NewReader(raw))
	var document, second yaml.Node
	switch err := d.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		at := yamlLine.FindStringSubmatch(err.Error())
		line := 0
		if at != nil {
			line, _ = strconv.Atoi(at[1]) //nolint:errcheck // without a number it is 0
		}
		p.fail(&yaml.Node{Line: line}, "%s", yamlLine.ReplaceAllString(err.Error(), ""))
		return nil
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		p.fail(&second, "it holds more than one YAML document")
		return nil
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil
	}
	return root
}

// A field reads the value of one key.
type field func(key, value *yaml.Node)

// mapping reads an object of which only these keys are known.
func (p *parser) mapping(n *yaml.Node, what string, fields map[string]field) {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "%s must be a mapping, key: value", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := fields[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || read == nil:
			p.fail(key, "%s has no setting %q; it has %s", what, shorten(key.Value), names(fields))
		case seen[key.Value]:
			p.fail(key, "%q is there twice", key.Value)
		case value.Kind == yaml.AliasNode:
			p.fail(value, "aliases are not read; write the value out")
		default:
			read(key, value)
		}
		seen[key.Value] = true
	}
}

func names(fields map[string]field) string {
	all := make([]string, 0, len(fields))
	for name := range fields {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func shorten(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// text reads a string. A number where text is meant is an error: 0777 and 1e3 are not what they
// look like in YAML.
func (p *parser) text(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		p.fail(n, "%s must be a text; write it in quotes", what)
		return "", false
	}
	return n.Value, true
}

// flag reads true or false.
func (p *parser) flag(n *yaml.Node, what string) (is, ok bool) {
	if n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" || n.ShortTag() != "!!bool" {
		p.fail(n, "%s must be true or false", what)
		return false, false
	}
	return n.Value == "true", true
}

// list reads a sequence, or one value in place of it.
func (p *parser) list(n *yaml.Node, what string, item func(*yaml.Node)) {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	if len(items) == 0 {
		p.fail(n, "%s is empty", what)
	}
	for _, i := range items {
		if i.Kind == yaml.AliasNode {
			p.fail(i, "aliases are not read; write the value out")
			continue
		}
		item(i)
	}
}

// choice reads one of a few words.
func choice[T ~string](p *parser, n *yaml.Node, what string, of []T) (T, bool) {
	text, ok := p.text(n, what)
	if ok && !slices.Contains(of, T(text)) {
		words := make([]string, len(of))
		for i := range of {
			words[i] = string(of[i])
		}
		p.fail(n, "%s is %q; it may be %s", what, shorten(text), strings.Join(words, ", "))
		return "", false
	}
	return T(text), ok
}

func (p *parser) action(n *yaml.Node, what string, of ...string) (Action, bool) {
	word, ok := choice(p, n, what, of)
	return actionNames[word], ok
}

// policy reads the whole file.
func (p *parser) policy(root *yaml.Node, into *Policy) {
	fields := map[string]field{
		"version": func(_, n *yaml.Node) {
			if n.Kind != yaml.ScalarNode || n.Value != "1" && n.Value != "1.0" {
				p.fail(n, "the version is %q; this program reads version 1", shorten(n.Value))
			}
		},
		"default": func(_, n *yaml.Node) {
			if a, ok := p.action(n, "default", "allow", "block", "allow_with_approval"); ok {
				into.Default = a
			}
		},
		"rules":  func(_, n *yaml.Node) { p.rules(n, into) },
		"limits": func(_, n *yaml.Node) { p.limits(n, &into.Limits) },
		"environment": func(_, n *yaml.Node) {
			word, _ := choice(p, n, "environment", []string{"inherit", "minimal"})
			into.MinimalEnvironment = word == "minimal"
		},
		"record_values": func(_, n *yaml.Node) {
			if is, ok := p.flag(n, "record_values"); ok {
				into.Values = &is
			}
		},
		"record": func(_, n *yaml.Node) {
			into.Record, _ = choice(p, n, "record", []Record{RecordRequired, RecordBestEffort})
		},
	}
	p.mapping(root, "the file", fields)
}

func (p *parser) rules(n *yaml.Node, into *Policy) {
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return
	case n.Kind != yaml.SequenceNode:
		p.fail(n, "rules must be a list")
		return
	case len(n.Content) > maxRules:
		p.fail(n, "there are more than %d rules", maxRules)
		return
	}
	into.Rules = make([]Rule, 0, len(n.Content))
	lines := map[string]int{}
	for i, item := range n.Content {
		r := p.rule(item, i+1)
		if first := lines[r.Name]; first > 0 {
			p.fail(item, "the rule %q is there twice, first in line %d", shorten(r.Name), first)
		}
		lines[r.Name] = item.Line
		into.Rules = append(into.Rules, r)
		if len(p.problems) >= maxProblems {
			return
		}
	}
}

// Limits are the bounds that a file sets; 0 sets none.
type Limits struct {
	CallsPerMinute int         `json:"calls_per_minute,omitempty"`
	PerTool        []ToolLimit `json:"per_tool,omitempty"` // calls a minute
	Concurrency    int         `json:"concurrency,omitempty"`
	FailureRatio   float64     `json:"failure_ratio,omitempty"`
	TimeoutSeconds int         `json:"timeout_seconds,omitempty"` // without an answer, a call counts as a failure of the server
	MessageBytes   int         `json:"message_bytes,omitempty"`   // of a request or notification
	ResultBytes    int         `json:"result_bytes,omitempty"`    // of an answer
}

// Bounds of the limits themselves.
const (
	maxCount   = 1_000_000
	maxTimeout = 86_400
	maxBytes   = 1 << 30
)

// A ToolLimit is how many calls a minute tools may have, each for itself.
type ToolLimit struct {
	Tools          string `json:"tools"` // SERVER:TOOL
	CallsPerMinute int    `json:"calls_per_minute"`

	glob toolGlob
}

// For says whether the limit holds for a tool.
func (l ToolLimit) For(server, tool string) bool { return l.glob.matches(server, tool) }

func (p *parser) limits(n *yaml.Node, into *Limits) {
	p.mapping(n, "limits", map[string]field{
		"calls_per_minute": func(_, n *yaml.Node) { p.count(n, "calls_per_minute", maxCount, &into.CallsPerMinute) },
		"concurrency":      func(_, n *yaml.Node) { p.count(n, "concurrency", maxCount, &into.Concurrency) },
		"timeout_seconds":  func(_, n *yaml.Node) { p.count(n, "timeout_seconds", maxTimeout, &into.TimeoutSeconds) },
		"message_bytes":    func(_, n *yaml.Node) { p.count(n, "message_bytes", maxBytes, &into.MessageBytes) },
		"result_bytes":     func(_, n *yaml.Node) { p.count(n, "result_bytes", maxBytes, &into.ResultBytes) },
		"failure_ratio": func(_, n *yaml.Node) {
			ratio, err := strconv.ParseFloat(n.Value, 64)
			if n.Kind != yaml.ScalarNode || !isJSONNumber(n.Value) || err != nil || ratio <= 0 || ratio > 1 {
				p.fail(n, "failure_ratio must be a number above 0 and at most 1")
				return
			}
			into.FailureRatio = ratio
		},
		"per_tool": func(_, n *yaml.Node) { p.perTool(n, into) },
	})
}

// Text returns the limits in words, "" when there are none.
func (l Limits) Text() string {
	var parts []string
	put := func(n int, format string, args ...any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	put(l.CallsPerMinute, "%d calls a minute", l.CallsPerMinute)
	for _, t := range l.PerTool {
		put(t.CallsPerMinute, "%d of %s", t.CallsPerMinute, t.Tools)
	}
	put(l.Concurrency, "%d at once", l.Concurrency)
	put(l.MessageBytes, "%d bytes a message", l.MessageBytes)
	put(l.ResultBytes, "%d bytes a result", l.ResultBytes)
	if l.FailureRatio > 0 {
		parts = append(parts, fmt.Sprintf("no calls for a minute when %g of them fail", l.FailureRatio))
	}
	put(l.TimeoutSeconds, "%d seconds without an answer are a failure", l.TimeoutSeconds)
	return strings.Join(parts, ", ")
}

func (p *parser) perTool(n *yaml.Node, into *Limits) {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "per_tool must be a mapping, SERVER:TOOL: CALLS")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		l := ToolLimit{Tools: key.Value}
		var err error
		if l.glob, err = parseToolGlob(key.Value); err != nil {
			p.fail(key, "%q: %v", shorten(key.Value), err)
		}
		p.count(value, "the limit of a tool", maxCount, &l.CallsPerMinute)
		if slices.ContainsFunc(into.PerTool, func(o ToolLimit) bool { return o.Tools == l.Tools }) {
			p.fail(key, "%q is there twice", shorten(key.Value))
		}
		into.PerTool = append(into.PerTool, l)
	}
}

func (p *parser) count(n *yaml.Node, what string, most int, into *int) {
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || !isJSONNumber(n.Value) || err != nil || v < 1 || v > most {
		p.fail(n, "%s must be a whole number from 1 to %d", what, most)
		return
	}
	*into = v
}
