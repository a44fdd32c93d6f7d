// SPDX-License-Identifier: Apache-2.0

package shellscript

import "strings"

// A document is a here-document that begins after the line.
type document struct {
	end            string
	plain          string // the same for shells to which "$'…'" is a dollar and a quote
	tabs, verbatim bool
	reader         *simple
}

// Kinds of the word that follows a redirection.
const (
	toFile         = '>'
	fromFile       = '<'
	hereString     = 's'
	hereDocument   = 'd'
	tabbedDocument = 't'
)

// redirect passes over the operator of a redirection; the next word is its file. A number or {NAME}
// before it is no word.
func (s *scanner) redirect() {
	if word := string(s.word); !s.quoted && (strings.Trim(word, "0123456789") == "" || word[0] == '{' && strings.HasSuffix(word, "}")) {
		s.word, s.has = nil, false
	}
	s.endWord()
	if s.peek(1) == '(' { // a process
		s.at += 2
		s.nested()
		s.add('$')
		return
	}
	switch rest := s.text[s.at:]; {
	case strings.HasPrefix(rest, "<<<"):
		s.target = hereString
		s.at += 2
	case strings.HasPrefix(rest, "<<-"):
		s.target = tabbedDocument
		s.at += 2
	case strings.HasPrefix(rest, "<<"):
		s.target = hereDocument
		s.at++
	default:
		s.target = toFile
		if rest[0] == '<' && strings.IndexByte("<>&", s.peek(1)) < 0 {
			s.target = fromFile
		}
		for s.at+1 < len(s.text) && strings.IndexByte("<>&|", s.text[s.at+1]) >= 0 {
			s.at++
		}
	}
	s.behind = s.at + 1
}

// documents passes over the here-documents that begin after a newline, but for their substitutions. One without an
// end is read on as commands, too: shells differ in what begins one.
func (s *scanner) documents() {
	for _, doc := range s.here {
		before := s.at
		start := min(s.at+1, len(s.text))
		end, other, found, joined := start, 0, false, ""
		for s.at+1 < len(s.text) {
			line, _, _ := strings.Cut(s.text[s.at+1:], "\n")
			s.at += len(line) + 1
			if !doc.verbatim && IsContinued(line) {
				joined = joined[:min(len(joined), len(doc.end))] + line[:len(line)-1]
				end = min(s.at+1, len(s.text))
				continue
			}
			line = joined + strings.TrimSuffix(line, "\r")
			joined = ""
			if doc.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if found = line == doc.end; found {
				break
			}
			if line == doc.plain && other == 0 {
				other = min(s.at+1, len(s.text))
			}
			end = min(s.at+1, len(s.text))
		}
		doc.reader.input = s.text[start:end]
		if !doc.verbatim {
			s.inner(s.text[start:end])
		}
		if other > 0 {
			s.apart(s.text[other:max(other, end)])
		}
		if found {
			continue
		}
		if s.reader.spend(end - start); !s.reader.cut {
			s.at = before
		}
	}
	s.here = nil
}

// IsContinued reports whether the next line belongs to one: the backslash at its end is not itself escaped.
func IsContinued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// apart reads a text that is commands for some shells, apart from what stands around it.
func (s *scanner) apart(text string) {
	sub := s.within(text)
	sub.all()
	s.list = append(s.list, sub.list...)
}

// take returns what the commands of a pipeline hand on to the last of them, once.
func (c *simple) take() string {
	for range maxPipe {
		switch {
		case c == nil:
			return ""
		case c.input != "":
			input := c.input
			c.input = ""
			return input
		}
		c = c.from
	}
	return ""
}

// printed is what echo, printf and cat write, near enough.
func printed(words []string) string {
	rest := words[1:]
	for len(rest) > 0 && (strings.HasPrefix(rest[0], "-") || words[0] == "printf" && strings.HasPrefix(rest[0], "%")) {
		rest = rest[1:]
	}
	switch words[0] {
	case "echo", "printf":
		return strings.ReplaceAll(strings.Join(rest, " "), `\n`, "\n")
	case "cat":
		var b strings.Builder
		for _, file := range rest {
			b.WriteString(sourced(file))
		}
		return b.String()
	}
	return ""
}

// sourced is what a shell does that reads commands from a file.
func sourced(file string) string { return ". '" + strings.ReplaceAll(file, "'", `'\''`) + "'\n" }
