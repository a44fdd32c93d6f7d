// SPDX-License-Identifier: Apache-2.0

package aptconf

import (
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

// Sources reads a file of sources.list(5): stanzas where its name ends in ".sources", else one a line.
// It leaves out what is disabled, and archives of source code.
func Sources(name string, raw []byte) []Source {
	var list []Source
	if !strings.HasSuffix(name, ".sources") {
		for line := range strings.Lines(string(raw)) {
			if s, ok := sourceLine(line); ok && len(list) < maxSources {
				list = append(list, s)
			}
		}
		return list
	}
	stanza, key := map[string][]string{}, ""
	for line := range strings.Lines(string(raw) + "\n\n") {
		text := strings.TrimSpace(line)
		field, value, ok := strings.Cut(text, ":")
		switch {
		case strings.HasPrefix(line, "#"):
		case text == "":
			list = append(list, sourcesOf(stanza, maxSources-len(list))...)
			stanza = map[string][]string{}
		case line[0] == ' ' || line[0] == '\t':
			stanza[key] = append(stanza[key], strings.Fields(text)...)
		case ok:
			key = strings.ToLower(field)
			stanza[key] = strings.Fields(value)
		}
	}
	return list
}

// sourceLine reads "deb [options] uri suite components".
func sourceLine(line string) (Source, bool) {
	line, _, _ = strings.Cut(line, "#")
	f := strings.Fields(line)
	if len(f) == 0 || f[0] != "deb" {
		return Source{}, false
	}
	f = f[1:]
	if len(f) > 0 && strings.HasPrefix(f[0], "[") {
		end := slices.IndexFunc(f, func(word string) bool { return strings.HasSuffix(word, "]") })
		f = f[end+1:]
	}
	if len(f) < 2 || strings.HasPrefix(f[0], "[") {
		return Source{}, false
	}
	return Source{f[0], f[1]}, true
}

func sourcesOf(stanza map[string][]string, most int) []Source {
	off := Options{"enabled": strings.Join(stanza["enabled"], " ")}
	if len(stanza["enabled"]) > 0 && !off.On("enabled") || !slices.Contains(stanza["types"], "deb") {
		return nil
	}
	var list []Source
	for _, uri := range stanza["uris"] {
		for _, suite := range stanza["suites"] {
			if len(list) < most {
				list = append(list, Source{uri, suite})
			}
		}
	}
	return list
}
