// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"path"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/platform/unix/hostfile"
)

// A sigLevel is what pacman asks of the signatures of packages (pacman.conf(5)), and the line that sets it last.
type sigLevel struct {
	required, trustAll bool
	set                sourceLine
}

// with returns the level that the words of one more line make of it.
func (l sigLevel) with(at sourceLine, words []string) sigLevel {
	l.set = at
	for _, word := range words {
		switch strings.TrimPrefix(word, "Package") {
		case "Never", "Optional":
			l.required = false
		case "Required":
			l.required = true
		case "TrustAll":
			l.trustAll = true
		case "TrustedOnly":
			l.trustAll = false
		}
	}
	return l
}

// secure says whether no package gets in without a signature of a known key.
func (l sigLevel) secure() bool { return l.required && !l.trustAll }

// evidence names the line, or that there is none: then signatures are optional.
func (l sigLevel) evidence() string {
	if l.set.file == "" {
		return audit.At(pacmanConfig, 0, "SigLevel is not set: a package without a signature is taken")
	}
	return audit.At(l.set.file, l.set.line, l.set.text)
}

const (
	pacmanConfig = "/etc/pacman.conf"
	// maxPacmanFiles bounds the files that are included, and how deep (pacman has 10).
	maxPacmanFiles = 256
	maxPacmanDepth = 10
)

// A pacmanReader reads the configuration of pacman. The section goes on after an included file that begins one, as
// it does for pacman.
type pacmanReader struct {
	m       *machine
	section string
	names   []string // of the repositories
	lines   map[string][]sourceLine
	files   int
}

// unsignedPacman returns the settings by which pacman takes packages that nobody signed.
func (m *machine) unsignedPacman() ([]string, error) {
	r := pacmanReader{m: m, lines: map[string][]sourceLine{}}
	err := r.file(pacmanConfig, 0)
	common := r.level("options", sigLevel{})
	var wrong []string
	note := func(l sigLevel) {
		if e := l.evidence(); !l.secure() && !slices.Contains(wrong, e) {
			wrong = append(wrong, e)
		}
	}
	if common.set.file != "" {
		note(common)
	}
	for _, name := range r.names {
		note(r.level(name, common))
	}
	return wrong, err
}

// level is that of a section which begins with another.
func (r *pacmanReader) level(section string, l sigLevel) sigLevel {
	for _, line := range r.lines[section] {
		_, value, _ := strings.Cut(line.text, "=")
		l = l.with(line, strings.Fields(value))
	}
	return l
}

func (r *pacmanReader) file(name string, depth int) error {
	if r.files++; r.files > maxPacmanFiles || depth > maxPacmanDepth {
		return errManyPacmanFiles
	}
	raw, err := r.m.read(name)
	if err != nil {
		return err
	}
	number := 0
	var first error
	for line := range strings.Lines(string(raw)) {
		number++
		first = errors.Join(first, r.line(sourceLine{name, number, strings.TrimSpace(line)}, depth))
	}
	return first
}

var errManyPacmanFiles = errors.New("includes more files than expected")

func (r *pacmanReader) line(at sourceLine, depth int) error {
	key, value, _ := strings.Cut(at.text, "=")
	section, begins := strings.CutPrefix(at.text, "[")
	switch strings.TrimSpace(key) {
	case "SigLevel":
		r.lines[r.section] = append(r.lines[r.section], at)
	case "Include":
		return r.include(strings.TrimSpace(value), depth+1)
	}
	if begins {
		r.section = strings.TrimSuffix(section, "]")
		if r.section != "options" {
			r.names = append(r.names, r.section)
		}
	}
	return nil
}

// include reads the files that a pattern of glob(7) names. None is an error for pacman, too.
func (r *pacmanReader) include(pattern string, depth int) error {
	directory, last := path.Split(pattern)
	if !path.IsAbs(pattern) || strings.ContainsAny(directory, `*?[\`) {
		return errors.New("an Include that is relative, or has a wildcard in the name of a folder, is not followed")
	}
	if !strings.ContainsAny(last, `*?[\`) {
		return r.file(pattern, depth)
	}
	names, err := r.m.names(path.Clean(directory), maxIncluded)
	for _, name := range names {
		if hostfile.Glob(last, name) {
			err = errors.Join(err, r.file(path.Join(directory, name), depth))
		}
	}
	return err
}
