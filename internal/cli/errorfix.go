// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/lazyregexp"
	"sentinel/internal/ops"
)

// personsOnly replaces instructions to override a rule when a program asks: a model
// does what a fix says.
const personsOnly = "Only a person at a console of this machine can override this. "

// worded gives err the fix that fits whoever asked. Domains write "sudo sentinel
// ... --force" where a person can override a refusal. A program must not be told so; a person
// gets the command that was typed, with everything that makes it safe, and not a shorter one.
func (p Program) worded(call invocation, err error) error {
	e := fault.From(err)
	fix := cmp.Or(e.Fix, usualFix(e.Code))
	at := strings.LastIndex(fix, "sudo sentinel --")
	switch {
	case call.request && e.ToolFix != "":
		fix = p.asCalls(call, e, e.ToolFix)
	case call.request && strings.Contains(fix, "--force"):
		fix = personsOnly + p.asCalls(call, e, usualFix(e.Code))
	case call.request:
		fix = p.asCalls(call, e, fix)
	case at >= 0 && strings.HasSuffix(fix, " --force") && call.typed() != "":
		fix = fix[:at] + "sudo sentinel " + call.typed() + " --force"
	}
	return e.WithFix(p.named(fix))
}

// asCalls says the commands in the fix of a request as calls of tools on
// offer, for a model. The tool that was just denied, or took too long, is none of them.
func (p Program) asCalls(call invocation, e *fault.Error, fix string) string {
	on := p.onOffer(call)
	if on == nil {
		return fix
	}
	return ops.FixAsCalls(fix, func(tool string) bool {
		return on(tool) && (tool != call.op.Name || e.Code != fault.PermissionDenied && e.Code != fault.Timeout)
	})
}

func usualFix(code fault.Code) string {
	for _, i := range fault.All() {
		if i.Code == code {
			return i.Fix
		}
	}
	return ""
}

// bareCommand is a command of this program by its name.
var bareCommand = lazyregexp.New(`(^|\s)sentinel --`)

// named puts the whole path of this program into the commands of a text where
// sudo would not find it by its name.
func (p Program) named(text string) string {
	if p.Own == nil {
		return text
	}
	own, err := p.Own()
	if err != nil || slices.Contains(securePath(), filepath.Dir(own)) || !pasteable(own) {
		return text
	}
	return bareCommand.Get().ReplaceAllString(text, "${1}"+own+" --")
}

// securePath are the directories in which sudo looks for a program, by the default
// of the distributions (secure_path in sudoers(5)).
func securePath() []string {
	return []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
}

// typed is what was typed behind the name of the program, the action first, in
// a form that can be pasted into a shell. What a shell could take for something else has
// its placeholder instead.
func (i invocation) typed() string {
	var words []string
	add := func(flag, placeholder string) {
		value, given := i.given[flag]
		switch {
		case !given || slices.Contains(words, "--"+flag):
		case value == switchedOn || value == "":
			words = append(words, "--"+flag)
		case pasteable(value):
			words = append(words, "--"+flag, value)
		default:
			words = append(words, "--"+flag, placeholder)
		}
	}
	add(i.op.Flag, "")
	if f := i.op.Object(); f != nil {
		words = nil
		add(f.Flag, f.ValueName())
	}
	for _, f := range i.op.Modifiers() {
		add(f.Flag, f.ValueName())
	}
	for _, o := range ops.Options() {
		if o.Name != "force" { // goes last, where the fix has it
			add(o.Name, o.Value)
		}
	}
	return strings.Join(words, " ")
}

// pasteable says that a shell takes text for one word and for nothing else.
func pasteable(text string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_@%+,/-"
	return text != "" && strings.Trim(text, plain) == ""
}
