// SPDX-License-Identifier: Apache-2.0

// Package sshdconf reads the configuration of the OpenSSH server
// (sshd_config(5)): from its files, with Include and Match, or as sshd -T prints it.
package sshdconf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// Bounds of one configuration. The depth is that of sshd (SERVCONF_MAX_DEPTH).
const (
	maxDepth    = 16
	maxFiles    = 256
	maxSettings = 10_000
	maxLine     = 16 << 10
)

// Why part of a configuration was not read.
var (
	ErrTooMany = errors.New("the configuration has more files or lines than expected")
	ErrSyntax  = errors.New("the configuration has a line that sshd would refuse")
	ErrPattern = errors.New("an Include has a wildcard in the name of a folder, which is not followed")
)

// A Setting is one line.
type Setting struct {
	Keyword string // lower case
	Value   string // the arguments, separated by one blank
	File    string // "" when it comes from sshd -T, Default when nothing sets it
	Line    int    // 0 for an option of the program
	// Match is the condition of the block that it stands in, "" outside of one.
	Match string
}

// String names the place and the line, for evidence.
func (s Setting) String() string {
	text := s.Keyword + " " + s.Value
	switch s.File {
	case "":
		return "sshd -T: " + text
	case Default:
		return "default of sshd: " + text
	}
	if s.Match != "" {
		text += " (Match " + s.Match + ")"
	}
	if s.Line == 0 {
		return s.File + ": " + text
	}
	return fmt.Sprintf("%s:%d: %s", s.File, s.Line, text)
}

// A Config is what the files of a configuration set.
type Config struct {
	// Global are the settings outside of Match blocks, by keyword. sshd takes
	// the first one it meets, one under "Match all" included.
	Global map[string]Setting
	// Matched are the settings within Match blocks, in their order. They override the
	// global ones for the connections that they match; "all" is every one.
	Matched []Setting
	// Outside are all settings outside of Match blocks, also those after a Hole or after the first.
	Outside []Setting
	// Places are the files that were read and the folders in which an Include looks: whoever can change one sets
	// what is in force.
	Places []string
	// Hole is why a part of the configuration could not be read, nil when all was
	// read. Nothing after that part is in Global: what was missed would have come first.
	Hole error
	sure int // of Outside: those before the Hole
}

// Possible returns the settings of a keyword that some connection may meet: the first outside of Match
// blocks, all within them, and those after what was not read, which may have set it before them or not.
func (c Config) Possible(keyword string) (list []Setting) {
	met := map[string]bool{}
	for i, s := range c.Outside {
		name := s.settingOf()
		if s.Keyword == keyword && (!met[name] || i >= c.sure) {
			met[name] = true
			list = append(list, s)
		}
	}
	for _, s := range c.Matched {
		if s.Keyword == keyword && !s.outside() {
			list = append(list, s)
		}
	}
	return list
}

// settingOf is what is set once: of subsystems, each by its name.
func (s Setting) settingOf() string {
	if s.Keyword != "subsystem" {
		return ""
	}
	name, _, _ := strings.Cut(s.Value, " ")
	return name
}

// outside reports a setting for all connections.
func (s Setting) outside() bool { return s.Match == "" || strings.EqualFold(s.Match, "all") }

// A Tree is the files to read from, by absolute name.
type Tree interface {
	// Read returns a whole file.
	Read(name string) ([]byte, error)
	// Names returns the names in a directory, sorted; none where there is no directory.
	Names(dir string) ([]string, error)
}

// Read reads the configuration whose first file is at name. The error says that
// this file could not be read; a problem after that is a Hole.
func Read(tree Tree, name string) (Config, error) {
	raw, err := tree.Read(name)
	if err != nil {
		return Config{}, err
	}
	r := reader{tree: tree, files: 1}
	r.config.Global, r.config.Places = map[string]Setting{}, []string{name}
	r.file(name, raw, "", 0)
	return r.config, nil
}

// Option reads the value of -o of sshd(8), a line of its file without the end, which stands in where. ok is false
// for one that is no setting: sshd would refuse it, or read more than the option.
func Option(where, text string) (s Setting, ok bool) {
	words, err := split(text)
	if err != nil || len(words) < 2 || strings.ContainsAny(text, "\r\n") {
		return Setting{}, false
	}
	keyword := keywordOf(words[0])
	return Setting{Keyword: keyword, Value: strings.Join(words[1:], " "), File: where}, keyword != "match" && keyword != "include"
}

// Effective reads the output of sshd -T: one setting a line, all of them, in
// lower case.
func Effective(out []byte) (Config, error) {
	c := Config{Global: map[string]Setting{}}
	for line := range bytes.Lines(out) {
		words, err := split(string(line))
		if err != nil || len(c.Global) >= maxSettings {
			return Config{}, ErrSyntax
		}
		if len(words) == 0 {
			continue
		}
		s := Setting{Keyword: strings.ToLower(words[0]), Value: strings.Join(words[1:], " ")}
		if _, set := c.Global[s.Keyword]; !set {
			c.Global[s.Keyword] = s
		}
	}
	if len(c.Global) == 0 {
		return Config{}, ErrSyntax
	}
	return c, nil
}

type reader struct {
	tree     Tree
	config   Config
	files    int
	settings int
}

// file reads the lines of one file. match is the condition of the block that
// includes it. A Match block ends with its file.
func (r *reader) file(name string, raw []byte, match string, depth int) {
	number := 0
	for line := range bytes.Lines(raw) {
		number++
		words, err := split(string(line))
		if err != nil {
			r.skip(err)
			continue
		}
		switch {
		case len(words) == 0:
		case strings.EqualFold(words[0], "match"):
			match = strings.Join(words[1:], " ")
		case strings.EqualFold(words[0], "include"):
			for _, pattern := range words[1:] {
				r.include(pattern, match, depth)
			}
		default:
			r.take(Setting{keywordOf(words[0]), strings.Join(words[1:], " "), name, number, match})
		}
	}
}

// formerly are the names that keywords had in older versions and that sshd still takes (servconf.c of OpenSSH).
var formerly = map[string]string{
	"challengeresponseauthentication": "kbdinteractiveauthentication", "skeyauthentication": "kbdinteractiveauthentication",
	"dsaauthentication": "pubkeyauthentication", "pubkeyacceptedkeytypes": "pubkeyacceptedalgorithms",
	"hostbasedacceptedkeytypes": "hostbasedacceptedalgorithms", "hostdsakey": "hostkey", "keepalive": "tcpkeepalive",
}

// keywordOf returns the name of a setting in lower case, as it is today.
func keywordOf(word string) string {
	word = strings.ToLower(word)
	return cmp.Or(formerly[word], word)
}

func (r *reader) take(s Setting) {
	if r.settings++; r.settings > maxSettings {
		r.skip(ErrTooMany)
		return
	}
	if s.Match != "" {
		r.config.Matched = append(r.config.Matched, s)
	}
	if !s.outside() {
		return
	}
	r.config.Outside = append(r.config.Outside, s)
	if r.config.Hole == nil {
		r.config.sure = len(r.config.Outside)
	}
	if _, set := r.config.Global[s.Keyword]; !set && r.config.Hole == nil {
		r.config.Global[s.Keyword] = s
	}
}

// skip notes why a part was not read.
func (r *reader) skip(err error) {
	if r.config.Hole == nil {
		r.config.Hole = err
	}
}

// include reads the files that a pattern names, in the order of their names. A
// pattern that matches none is not an error.
func (r *reader) include(pattern, match string, depth int) {
	if !path.IsAbs(pattern) {
		pattern = path.Join("/etc/ssh", pattern)
	}
	names, err := r.matching(pattern)
	r.look(path.Dir(pattern))
	if err != nil {
		r.skip(err)
		return
	}
	for _, name := range names {
		if r.files++; r.files > maxFiles || depth+1 >= maxDepth {
			r.skip(ErrTooMany)
			return
		}
		r.look(name)
		raw, err := r.tree.Read(name)
		if err != nil {
			r.skip(fmt.Errorf("read %s: %w", name, err))
			continue
		}
		r.file(name, raw, match, depth+1)
	}
}

// look notes a place, once.
func (r *reader) look(place string) {
	if len(r.config.Places) < 2*maxFiles && !slices.Contains(r.config.Places, place) {
		r.config.Places = append(r.config.Places, place)
	}
}

func (r *reader) matching(pattern string) ([]string, error) {
	dir, last := path.Split(pattern)
	if strings.ContainsAny(dir, `*?[\`) {
		return nil, ErrPattern
	}
	names, err := r.tree.Names(path.Clean(dir))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	var list []string
	for _, name := range names {
		if hostfile.Glob(last, name) {
			list = append(list, path.Join(dir, name))
		}
	}
	slices.Sort(list)
	return list, nil
}

// split returns the words of a line: a keyword, blanks or one "=", and
// arguments, which may be quoted. A "#" that begins a word ends the line. These are not the
// words of a shell: sshd keeps a backslash that escapes nothing, joins no lines and refuses
// a quote without an end.
func split(line string) ([]string, error) {
	line = strings.TrimRight(line, " \t\r\n\f")
	if len(line) > maxLine || strings.ContainsRune(line, 0) {
		return nil, ErrSyntax
	}
	line = strings.TrimLeft(line, " \t\r")
	if line == "" || line[0] == '#' {
		return nil, nil
	}
	keyword, rest := line, ""
	if at := strings.IndexAny(line, " \t="); at >= 0 {
		keyword, rest = line[:at], strings.TrimLeft(line[at:], " \t")
	}
	keyword = strings.Trim(keyword, `"`)
	if keyword == "" || strings.ContainsFunc(keyword, unusual) {
		return nil, ErrSyntax
	}
	words, err := arguments(strings.TrimPrefix(rest, "="))
	return append([]string{keyword}, words...), err
}

// unusual says whether c is in no keyword.
func unusual(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
}

// arguments splits as argv_split of OpenSSH does: by blanks, with quotes around or
// within words, and a backslash before a quote, a blank or a backslash.
func arguments(s string) ([]string, error) {
	var words []string
	for i := 0; i < len(s); {
		if s[i] == ' ' || s[i] == '\t' {
			i++
			continue
		}
		if s[i] == '#' {
			break
		}
		word, next, err := word(s, i)
		if err != nil {
			return nil, err
		}
		words, i = append(words, word), next
	}
	return words, nil
}

func word(s string, i int) (string, int, error) {
	var b strings.Builder
	quote := byte(0)
	for ; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && strings.IndexByte("\"'\\ ", s[i+1]) >= 0:
			i++
			b.WriteByte(s[i])
		case quote == 0 && (c == ' ' || c == '\t'):
			return b.String(), i, nil
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", i, ErrSyntax
	}
	return b.String(), i, nil
}
