// SPDX-License-Identifier: Apache-2.0

package aptconf

import (
	"net/url"
	"slices"
	"strings"
)

// maxSources bounds the sources of a file.
const maxSources = 10_000

// A Source is an archive that packages are installed from, one suite of it.
type Source struct{ URI, Suite string }

// Security says whether it is an archive of security updates, by its suite, or as Debian's own server.
func (s Source) Security() bool {
	_, host, _ := strings.Cut(s.URI, "://")
	host, _, _ = strings.Cut(host, "/")
	suite := strings.TrimSuffix(s.Suite, "/")
	return host == "security.debian.org" || strings.HasSuffix(suite, "-security") || strings.HasSuffix(suite, "/updates")
}

// suiteNames are what an archive calls its releases beside their codenames: which one that is changes.
var suiteNames = []string{"stable", "oldstable", "oldoldstable", "testing"}

// Of says whether it may be for a release, by its codename, "" for one that is not known.
func (s Source) Of(codename string) bool {
	release, _, _ := strings.Cut(strings.ReplaceAll(s.Suite, "/", "-"), "-")
	return codename == "" || release == codename || slices.Contains(suiteNames, release)
}

// Sources reads a file of sources.list(5): stanzas where its name ends in ".sources", else one a line.
// It leaves out what is disabled, and archives of source code.
func Sources(name string, raw []byte) []Source {
	var list []Source
	for _, e := range entries(name, raw) {
		if !slices.Contains(e.types, "deb") {
			continue
		}
		for _, uri := range e.uris {
			for _, suite := range e.suites {
				if len(list) < maxSources {
					list = append(list, Source{uri, suite})
				}
			}
		}
	}
	return list
}

// An Option of a source, where it stands.
type Option struct {
	Line int
	Text string
}

// unchecked are the options that let apt take packages whose signature nobody checked, or could.
var unchecked = []string{"trusted", "allow-insecure", "allow-weak", "allow-downgrade-to-insecure"}

// Unchecked returns the options in a file of sources that keep apt from checking signatures.
func Unchecked(name string, raw []byte) []Option {
	var list []Option
	for _, e := range entries(name, raw) {
		for _, key := range unchecked {
			o := e.options[key]
			if yes, _ := truth(o.value); yes && !slices.Contains(list, o.Option) {
				list = append(list, o.Option)
			}
		}
	}
	return list
}

// An entry is one line or stanza that is switched on.
type entry struct {
	types, uris, suites []string
	options             map[string]option // by their names in lower case
}

type option struct {
	Option
	value string
}

func entries(name string, raw []byte) []entry {
	if strings.HasSuffix(name, ".sources") {
		return stanzas(string(raw))
	}
	var list []entry
	number := 0
	for line := range strings.Lines(string(raw)) {
		number++
		if e, ok := lineEntry(strings.TrimSpace(line), number); ok && len(list) < maxSources {
			list = append(list, e)
		}
	}
	return list
}

// stanzas reads the other form. A line of blanks ends no stanza, and of two fields with one name the last
// one counts (apt-pkg/tagfile.cc).
func stanzas(text string) []entry {
	var list []entry
	stanza, key, number := map[string]option{}, "", 0
	for line := range strings.Lines(text + "\n\n") {
		number++
		field, value, ok := strings.Cut(line, ":")
		field, value = strings.TrimSpace(field), strings.TrimSpace(value)
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimRight(line, "\r\n") == "":
			if e, on := stanzaEntry(stanza); on && len(list) < maxSources {
				list = append(list, e)
			}
			stanza = map[string]option{}
		case line[0] == ' ' || line[0] == '\t':
			o := stanza[key]
			o.value = strings.TrimSpace(o.value + " " + strings.TrimSpace(line))
			o.Text = o.Text[:strings.Index(o.Text+":", ":")] + ": " + o.value
			stanza[key] = o
		case ok:
			key = strings.ToLower(field)
			stanza[key] = option{Option{number, field + ": " + value}, value}
		}
	}
	return list
}

// stanzaEntry returns what a stanza is for, unless it is disabled.
func stanzaEntry(stanza map[string]option) (entry, bool) {
	words := func(key string) []string { return strings.Fields(stanza[key].value) }
	enabled := stanza["enabled"].value
	yes, known := truth(enabled)
	e := entry{types: words("types"), uris: words("uris"), suites: words("suites"), options: stanza}
	return e, enabled == "" || yes || !known
}

// lineEntry reads "deb [options] uri suite components".
func lineEntry(line string, number int) (entry, bool) {
	kind, rest, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	e := entry{types: []string{kind}}
	if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "[") {
		inside, after, closed := strings.Cut(rest[1:], "]")
		if !closed {
			return e, false
		}
		e.options, rest = lineOptions(inside, Option{number, line}), after
	}
	rest, _, _ = strings.Cut(rest, "#")
	f := strings.Fields(rest)
	if kind != "deb" && kind != "deb-src" || len(f) < 2 {
		return e, false
	}
	e.uris, e.suites = f[:1], f[1:2]
	return e, true
}

// lineOptions reads "name=value name=value". Words may be in quotes and have bytes as %XX (ParseQuoteWord in
// apt-pkg/contrib/strutl.cc), and of two with one name the last one counts.
func lineOptions(text string, at Option) map[string]option {
	options := map[string]option{}
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, `"`, "")) {
		if plain, err := url.PathUnescape(word); err == nil {
			word = plain
		}
		if name, value, ok := strings.Cut(word, "="); ok {
			options[strings.ToLower(name)] = option{at, value}
		}
	}
	return options
}
