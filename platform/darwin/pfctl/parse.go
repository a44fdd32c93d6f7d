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

// ParseEnabled parses the status in the output of "-s info": "Status: Enabled for ..." or "Status:
// Disabled", with or without a time.
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

// ParseRules parses the output of "-s rules": one rule per line. Lines that are not rules, such as
// notices, are skipped.
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

// ruleWords are the first words of filter rules as pfctl prints them (print_rule in
// pfctl_parser.c). Translation and dummynet rules are listed by other commands.
var ruleWords = map[string]bool{
	"pass": true, "block": true, "scrub": true, "no": true, "anchor": true, "scrub-anchor": true,
}

// ParseAnchors parses the output of "-v -s Anchors": one indented path per line.
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

// ParseTable parses the output of "-T show", with or without counters (-v): one address per line,
// indented by three blanks and a column for a mark. Anything else is an error, because a truncated
// table must not pass for a complete one. So are networks, which this program never adds to a
// table.
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

// aboutALTQ recognizes the two notices about queues that macOS lacks. They should be on stderr.
func aboutALTQ(line string) bool {
	return line == "No ALTQ support in kernel" || line == "ALTQ related functions disabled"
}

// ParseToken parses the token that -E prints on stderr, an unsigned 64-bit number.
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

// ParseReferences parses the output of "-s References": a table with the process that took each
// reference (usually a pfctl that has ended), its token and its age.
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

// reference parses "4063 pfctl 15053025338191571182 0 days 00:00:00". The name may contain blanks,
// so the token is found from the end.
func reference(words []string) (uint64, error) {
	if n := len(words); n >= 6 && words[n-2] == "days" {
		if token, err := strconv.ParseUint(words[n-4], 10, 64); err == nil {
			return token, nil
		}
	}
	return 0, fmt.Errorf("pfctl prints the reference %q", sanitize.Text(strings.Join(words, " "), 80))
}

// ParseKilled parses the count that -k prints on stderr: "killed 3 states from 1 sources and 0
// destinations".
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
