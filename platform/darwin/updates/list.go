// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"errors"
	"strings"
)

// What softwareupdate printed is no list.
var (
	errCut     = errors.New("softwareupdate printed only a part of its list")
	errUnknown = errors.New("softwareupdate printed nothing that is known")
)

// maxUpdates bounds how many updates are read.
const maxUpdates = 4096

// A failure is the error that softwareupdate prints when it cannot look.
type failure struct{ text string }

// Error implements error.
func (f failure) Error() string { return "softwareupdate says: " + f.text }

// An entry is one update of the list.
type entry struct {
	label       string // names it to softwareupdate --install
	title       string
	version     string // empty where the list has none
	recommended bool
	restart     bool
	deferred    bool // by a management profile
}

// noUpdates is what softwareupdate prints when there is nothing to install; some
// releases print it on standard error.
const noUpdates = "No new software available."

// parseList reads what "softwareupdate --list" prints on standard output, with
// or without --no-scan. An entry has two lines. Since macOS 10.15 they are "* Label: L" and
// "Title: T, Version: V, Size: S, Recommended: YES, Action: restart,"; before, "* L" and
// "T (V), S [recommended] [restart]". Log lines of the tool may come anywhere in between. A
// list that ends within an entry is an error: what is missing is not known.
func parseList(printed string) ([]entry, error) {
	var list []entry
	var open opening
	announced := false
	for line := range strings.Lines(printed) {
		whole, text := strings.HasSuffix(line, "\n"), strings.TrimSpace(line)
		next := parseOpening(text)
		switch {
		case next.label != "" && open.label != "", len(list) == maxUpdates:
			return nil, errCut
		case next.label != "":
			open = next
		case open.label != "":
			e, ok, err := open.details(text, whole)
			if err != nil {
				return nil, err
			}
			if ok {
				list, open = append(list, e), opening{}
			}
		case text == noUpdates:
			return []entry{}, nil
		case strings.HasPrefix(text, "Software Update found the following"):
			announced = true
		case errorText(text) != "":
			return nil, failure{errorText(text)}
		}
	}
	switch {
	case open.label != "", announced && len(list) == 0:
		return nil, errCut
	case len(list) == 0:
		return nil, errUnknown
	}
	return list, nil
}

// parseNotices looks in what softwareupdate prints on standard error for what some releases print
// there: that nothing is new, or what went wrong.
func parseNotices(printed string) ([]entry, error) {
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		if line == noUpdates {
			return []entry{}, nil
		}
		if said := errorText(line); said != "" {
			return nil, failure{said}
		}
	}
	return nil, errUnknown
}

// An opening is the first line of an entry whose second line has not come yet.
type opening struct {
	label string
	old   bool // in the form before macOS 10.15
}

// parseOpening reads the first line of an entry; any other line is the zero opening.
// A star marks what is recommended.
func parseOpening(text string) opening {
	for _, mark := range []string{"* ", "- "} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			label, named := strings.CutPrefix(rest, "Label:")
			return opening{strings.TrimSpace(label), !named}
		}
	}
	return opening{}
}

// details reads the second line of an entry; ok is false for any other line.
func (o opening) details(text string, whole bool) (e entry, ok bool, err error) {
	if !o.old {
		if !strings.HasPrefix(text, "Title: ") {
			return entry{}, false, nil
		}
		e, err = newDetails(o.label, text, whole)
		return e, true, err
	}
	at := strings.LastIndex(text, "), ")
	if at <= 0 || !strings.Contains(text[:at], " (") {
		return entry{}, false, nil
	}
	return oldDetails(o.label, text, at), true, nil
}

// newDetails reads "Title: T, Version: V, Size: S, Recommended: YES, Action: restart,".
// A title may hold commas, so it ends where the version begins. A comma follows each value:
// without the last one, the line was cut.
func newDetails(label, text string, whole bool) (entry, error) {
	if !whole && !strings.HasSuffix(text, ",") {
		return entry{}, errCut
	}
	title, rest, ok := strings.Cut(strings.TrimPrefix(text, "Title: "), ", Version: ")
	if !ok {
		return entry{}, errCut
	}
	e := entry{label: label, title: strings.TrimSpace(title)}
	version, rest, ok := strings.Cut(rest, ", ")
	if !ok {
		return entry{}, errCut
	}
	e.version = strings.TrimSpace(version)
	for item := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(item), ": ")
		switch key {
		case "Recommended":
			e.recommended = value == "YES"
		case "Action":
			e.restart = value == "restart" || value == "shut down"
		case "Deferred":
			e.deferred = value == "YES"
		}
	}
	return e, nil
}

// oldDetails reads "T (V), 1581834K [recommended] [restart]".
func oldDetails(label, text string, at int) entry {
	head, marks := text[:at], text[at:]
	open := strings.LastIndex(head, " (")
	return entry{
		label: label, title: strings.TrimSpace(head[:open]), version: strings.TrimSpace(head[open+2:]),
		recommended: strings.Contains(marks, "[recommended]"),
		restart:     strings.Contains(marks, "[restart]") || strings.Contains(marks, "[shut down]"),
	}
}

// errorText returns what a line says went wrong, "" when it is no error.
func errorText(text string) string {
	if strings.Contains(text, "Can't connect to the Apple Software Update server") {
		return "the update server of Apple cannot be reached"
	}
	rest, ok := strings.CutPrefix(text, "Scan finished with error: ")
	if !ok {
		return ""
	}
	if _, quoted, ok := strings.Cut(rest, `"`); ok {
		text, _, _ := strings.Cut(quoted, `"`)
		return text
	}
	return rest
}
