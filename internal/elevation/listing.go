// SPDX-License-Identifier: Apache-2.0

package elevation

import (
	"slices"
	"strings"

	"sentinel/internal/installed"
)

// AllowsAll reads from the list of "sudo -l" whether the user may run any command as root, with a
// password or without one.
func AllowsAll(listing string) bool {
	return slices.ContainsFunc(rules(listing), func(r rule) bool { return r.command == "ALL" })
}

// OtherProgram reads from the list the sentinel that the rules name, where that is not the program at
// path; "" where there is none.
func OtherProgram(listing, path string) string {
	other := ""
	for _, r := range rules(listing) {
		switch program, ok := installed.RuleProgram(r.command); {
		case ok && program == path:
			return ""
		case ok:
			other = program
		}
	}
	return other
}

// AsksPassword reads from the list of "sudo -l" whether the rule for a command,
// which is the last that names it, needs a password: asked about one command, sudo allows it either
// way. A command that the list does not name needs none.
func AsksPassword(listing, command string) bool {
	asks := false
	for _, r := range rules(listing) {
		if r.command == command || r.command == "ALL" {
			asks = r.password
		}
	}
	return asks
}

// A rule is one command that may run as root.
type rule struct {
	command  string
	password bool // it needs one
}

// rules returns those of a list in their order.
func rules(listing string) (all []rule) {
	for _, entry := range entries(listing) {
		runas, rest, ok := strings.Cut(strings.TrimPrefix(entry, "("), ") ")
		if !ok || !asRoot(runas) {
			continue
		}
		password := true
		for item := range strings.SplitSeq(rest, ", ") {
			item, password = tags(item, password)
			all = append(all, rule{item, password})
		}
	}
	return all
}

// entries returns the rules of a list, each on one line. A rule begins after four
// blanks, and its continuation lines after more.
func entries(listing string) []string {
	var all []string
	for line := range strings.Lines(listing) {
		text := strings.Join(strings.Fields(line), " ")
		switch {
		case strings.HasPrefix(line, "    ("):
			all = append(all, text)
		case len(all) > 0 && text != "":
			all[len(all)-1] += " " + text
		}
	}
	return all
}

// asRoot says whether a rule for these users (and, after a colon, groups)
// includes root.
func asRoot(runas string) bool {
	users, _, _ := strings.Cut(runas, ":")
	return slices.ContainsFunc(strings.Split(users, ","), func(u string) bool {
		u = strings.TrimSpace(u)
		return u == "root" || u == "ALL"
	})
}

// tags removes the tags in front of a command. A tag also applies to the commands
// after it in its rule.
func tags(item string, password bool) (string, bool) {
	for {
		tag, rest, ok := strings.Cut(item, ": ")
		if !ok || tag == "" || strings.Trim(tag, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
			return item, password
		}
		switch tag {
		case "NOPASSWD":
			password = false
		case "PASSWD":
			password = true
		}
		item = rest
	}
}
