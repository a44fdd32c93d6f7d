// SPDX-License-Identifier: Apache-2.0

package pfctl

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"sentinel/internal/sanitize"
)

// ParseEnabled reads the status in what "-s info" prints: "Status: Enabled for
// ..." or "Status: Disabled", with or without a time.
func ParseEnabled(printed []byte) (bool, error) {
	for line := range strings.Lines(string(printed)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "Status:" {
			continue
		}
		switch words[1] {
		case "Enabled":
			return true, nil
		case "Disabled":
			return false, nil
		}
	}
	return false, errors.New("pfctl printed no status of pf")
}

// ParseRules reads what "-s rules" prints: a rule on each line. What belongs to
// no rule, as the notices that some listings were published with, is left out.
func ParseRules(printed []byte) []string {
	var rules []string
	for line := range strings.Lines(string(printed)) {
		words := strings.Fields(line)
		if len(words) > 0 && ruleWords[words[0]] {
			rules = append(rules, strings.Join(words, " "))
		}
	}
	return rules
}

// ruleWords begin a filter rule as pfctl prints it (print_rule of
// pfctl_parser.c). That of translation and of dummynet are listed elsewhere.
var ruleWords = map[string]bool{
	"pass": true, "block": true, "scrub": true, "no": true, "anchor": true, "scrub-anchor": true,
}

// ParseAnchors reads what "-v -s Anchors" prints: a path on each line, indented.
func ParseAnchors(printed []byte) []string {
	var paths []string
	for line := range strings.Lines(string(printed)) {
		path := strings.TrimSpace(line)
		if strings.HasPrefix(line, "  ") && path != "" && !strings.ContainsAny(path, " \t") {
			paths = append(paths, path)
		}
	}
	return paths
}

// ParseTable reads what "-T show" prints, with counters (-v) or without: an
// address on each line, indented by three blanks and a column for a mark. Anything else is an
// error, because a table that is cut off must not pass for the whole. So are networks, which
// are never put into a table here.
func ParseTable(printed []byte) ([]netip.Addr, error) {
	var list []netip.Addr
	for line := range strings.Lines(string(printed)) {
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(line, "\t") || aboutALTQ(text) {
			continue
		}
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("pfctl prints the entry %q of a table", sanitize.Text(text, 60))
		}
		if !strings.HasSuffix(line, "\n") {
			return nil, errors.New("pfctl printed a table that is cut off")
		}
		list = append(list, a)
	}
	return list, nil
}

// aboutALTQ recognises the two notices about queues that macOS does not have,
// which belong on stderr.
func aboutALTQ(line string) bool {
	return line == "No ALTQ support in kernel" || line == "ALTQ related functions disabled"
}

// ParseToken reads the token in what -E prints on stderr. It takes all of 64
// bits, unsigned.
func ParseToken(said []byte) (uint64, error) {
	for line := range strings.Lines(string(said)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.TrimSpace(key) != "Token" || !strings.HasSuffix(line, "\n") {
			continue
		}
		token, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("pfctl prints the token %q", sanitize.Text(value, 40))
		}
		return token, nil
	}
	return 0, errors.New("pfctl printed no token")
}

// ParseReferences reads what "-s References" prints: a table with the process
// that took each, which is a pfctl that has ended, the token and its age.
func ParseReferences(printed []byte) ([]uint64, error) {
	var tokens []uint64
	begun := false
	for line := range strings.Lines(string(printed)) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "No pf starter references held"):
			return nil, nil
		case len(words) > 0 && words[0] == "PID":
			begun = true
		case begun && len(words) > 0:
			token, err := reference(words)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, token)
		}
	}
	if !begun {
		return nil, errors.New("pfctl printed no list of references")
	}
	return tokens, nil
}

// reference reads "4063 pfctl 15053025338191571182 0 days 00:00:00". The name
// may hold blanks, so that the token is found from the end.
func reference(words []string) (uint64, error) {
	if n := len(words); n >= 6 && words[n-2] == "days" {
		if token, err := strconv.ParseUint(words[n-4], 10, 64); err == nil {
			return token, nil
		}
	}
	return 0, fmt.Errorf("pfctl prints the reference %q", sanitize.Text(strings.Join(words, " "), 80))
}

// ParseKilled reads the count in what -k prints on stderr: "killed 3 states
// from 1 sources and 0 destinations".
func ParseKilled(said []byte) (int, error) {
	for line := range strings.Lines(string(said)) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "killed" || words[2] != "states" {
			continue
		}
		if n, err := strconv.Atoi(words[1]); err == nil && n >= 0 {
			return n, nil
		}
	}
	return 0, errors.New("pfctl did not say how many states it killed")
}
