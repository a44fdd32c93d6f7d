// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"cmp"
	"strings"

	"sentinel/internal/lazyregexp"
	"sentinel/platform/unix/shellscript"
)

// mailPrograms finds the programs that mail is given to: each "|PROGRAM" of a line, behind a name or not.
// A file whose first line says so is a filter, and one hook.
func mailPrograms(text string, sh *shellscript.Reader) []hook {
	if mailFilter.Get().MatchString(text) {
		return []hook{{programs: filterPrograms(text, sh)}}
	}
	var list []hook
	eachLine(text, func(number int, line string, _ []string) {
		names, _, piped := strings.Cut(line, "|")
		if !piped {
			return
		}
		name, _, _ := strings.Cut(names, ":")
		one := hook{name: strings.Trim(name, `" `), line: number, content: line}
		for _, command := range mailCommands(line) {
			one.programs = append(one.programs, sh.Programs(command)...)
		}
		one.programs = shellscript.Once(one.programs)
		list = append(list, one)
	})
	return list
}

// mailFilter is the first line of a filter, as Exim takes it.
var mailFilter = lazyregexp.New(`^(?i)\s*#\s*(?:exim|sieve)\s+filter`)

// filterCommand is what runs a program in a filter of Exim: a pipe, in quotes or not, and an expansion.
var filterCommand = lazyregexp.New(`(?i)\bpipe\s+(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))|\$\{run\s*(?:,[^{]*)?\{([^}]*)\}`)

func filterPrograms(text string, sh *shellscript.Reader) []string {
	var list []string
	for _, match := range filterCommand.Get().FindAllStringSubmatch(text, maxPrograms) {
		list = append(list, sh.Programs(cmp.Or(mailQuotes.Replace(match[1]), match[2], match[3]))...)
	}
	return shellscript.Once(list)
}

var mailQuotes = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// mailCommands are the addresses of a line that are programs, in quotes before the bar or behind it, or in
// none.
func mailCommands(line string) []string {
	var list []string
	ends := quoteEnds(line)
	for at := 0; at < len(line); at++ {
		rest := line[at:]
		opened := strings.HasPrefix(rest, `"|`) || strings.HasPrefix(rest, `|"`)
		switch {
		case opened && ends[at+2] >= 0:
			list = append(list, mailQuotes.Replace(line[at+2:ends[at+2]]))
			at = ends[at+2]
		case rest[0] == '|':
			end := bareEnd(line, at+1, ends)
			list = append(list, line[at+1:end])
			at = end - 1
		}
	}
	return list
}

// bareEnd is where a command ends that begins in no quotes: before a comma, or a quote that is not closed.
func bareEnd(line string, at int, ends []int) int {
	for ; at < len(line) && line[at] != ','; at++ {
		if line[at] == '"' {
			if ends[at+1] < 0 {
				return at
			}
			at = ends[at+1]
		}
	}
	return at
}

// quoteEnds are, for each place in a line, where a quote ends that goes on there; -1 if nowhere. They are
// found all at once: to look from each quote would take the square of the time.
func quoteEnds(line string) []int {
	ends := make([]int, len(line)+2)
	ends[len(line)], ends[len(line)+1] = -1, -1
	for at := len(line) - 1; at >= 0; at-- {
		switch line[at] {
		case '"':
			ends[at] = at
		case '\\':
			ends[at] = ends[at+2]
		default:
			ends[at] = ends[at+1]
		}
	}
	return ends
}
