// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
)

// A page is one file of Markdown.
type page struct {
	prose  string   // without blocks of code
	blocks []string // of commands (sh), without comments of Markdown around them
}

// parse splits a page into prose and blocks. A line between fences never
// counts as prose.
func parse(raw string) page {
	var p page
	var prose, block strings.Builder
	fence, shell := "", false
	for line := range strings.Lines(raw) {
		text := strings.TrimSpace(line)
		switch {
		case fence == "" && strings.HasPrefix(text, "```"):
			fence, shell = "```", text == "```sh"
			block.Reset()
		case fence != "" && text == fence:
			fence = ""
			if shell {
				p.blocks = append(p.blocks, block.String())
			}
		case fence != "":
			block.WriteString(line)
		default:
			prose.WriteString(line)
		}
	}
	p.prose = prose.String()
	return p
}

// commands are the lines of all blocks that are no comment.
func (p page) commands() []string {
	var lines []string
	for _, b := range p.blocks {
		for line := range strings.Lines(b) {
			line = trailing.ReplaceAllString(strings.TrimSpace(line), "")
			if line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

var (
	trailing = regexp.MustCompile(`(^|\s+)# .*$`)
	inline   = regexp.MustCompile("`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^()\s]+(?:\([^()\s]*\))?)\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.+?)\s*$`)
	markup   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	dropped  = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_\- ]`)
)

// links are where a page leads to.
func (p page) links() []string {
	var all []string
	for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(p.prose, ""), -1) {
		all = append(all, m[1])
	}
	return all
}

// anchors are the names of the headings as GitHub makes them: small letters,
// no punctuation, hyphens for blanks, and a number where one comes again.
func (p page) anchors() map[string]bool {
	found := map[string]bool{}
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(p.prose, -1) {
		name := strings.ToLower(markup.ReplaceAllString(m[1], "$1"))
		name = strings.ReplaceAll(dropped.ReplaceAllString(name, ""), " ", "-")
		n := seen[name]
		seen[name]++
		if n > 0 {
			name += "-" + string(rune('0'+n))
		}
		found[name] = true
	}
	return found
}
