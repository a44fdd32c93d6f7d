// SPDX-License-Identifier: Apache-2.0

package as

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	maxPath  = 64 << 10 // bytes; sixteen times PATH_MAX
	maxLinks = 40       // symbolic links of one path, as in the kernel (path_resolution(7))
)

// Paths understands paths as the server of a call does.
type Paths struct {
	Home string // what "~" stands for; "" when nobody knows
	Dir  string // where relative paths begin; "" when nobody knows

	// folds says whether the volume of dir takes names that differ by case for one; nil
	// asks the system.
	folds func(dir string) bool
}

// A Place is one reading of a path: absolute, clean, with symbolic links followed as far as it
// exists.
type Place struct {
	Path string
	Fold bool // names there differ by more than case

	files []fs.FileInfo // of the names of Path, as far as they exist
	self  fs.FileInfo   // the last of them where all exist
}

// Read returns where text may lead.
func (p Paths) Read(text string) ([]Place, error) {
	written, err := spellings(text)
	if err != nil {
		return nil, err
	}
	var places []Place
	var found []string
	for _, s := range written {
		starts, err := p.starts(s)
		if err != nil {
			return nil, err
		}
		// Some programs clean a path before they open it, the kernel follows links first:
		// "link/.." is another place for each of them.
		for _, start := range starts {
			starts = add(starts, filepath.Clean(start))
		}
		for _, start := range starts {
			place, err := p.resolve(start)
			if err != nil {
				return nil, err
			}
			if n := len(found); len(add(found, place.Path)) > n {
				found = add(found, place.Path)
				places = append(places, place)
			}
		}
	}
	return places, nil
}

// Literal returns where text leads when it means what it says; a rule names places so.
func (p Paths) Literal(text string) (Place, error) {
	absolute, err := p.absolute(text)
	if err != nil {
		return Place{}, err
	}
	return p.resolve(absolute)
}

// spellings returns the ways in which a path may have been meant: with its percent-encoding and
// without, with the quotes and blanks around it and without, with backslashes for slashes, without
// the dots and blanks at the end of names that some systems drop.
func spellings(text string) ([]string, error) {
	switch {
	case text == "":
		return nil, errors.New("it is empty")
	case len(text) > maxPath:
		return nil, errors.New("it is longer than any path")
	}
	decoded, err := decodings(text)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, s := range decoded {
		if strings.ContainsRune(s, 0) {
			return nil, errZero
		}
		s, err := withoutScheme(s)
		if err != nil {
			return nil, err
		}
		for _, s := range add([]string{s}, unquoted(s)) {
			slashed := strings.ReplaceAll(s, `\`, "/")
			all = add(all, s, slashed, trimNames(s), trimNames(slashed))
		}
	}
	return all, nil
}

// unquoted takes away what some servers trim from a path; one that is nothing else stays.
func unquoted(s string) string {
	if bare := strings.TrimSpace(strings.Trim(strings.TrimSpace(s), `"'`)); bare != "" {
		return bare
	}
	return s
}

// withoutScheme takes "file:" away, and the host that may stand behind it.
func withoutScheme(s string) (string, error) {
	const scheme = "file:"
	if len(s) < len(scheme) || !strings.EqualFold(s[:len(scheme)], scheme) {
		return s, nil
	}
	rest := s[len(scheme):]
	if !strings.HasPrefix(rest, "//") {
		return rest, nil
	}
	host, path, _ := strings.Cut(rest[2:], "/")
	if host != "" && !strings.EqualFold(host, "localhost") {
		return "", errors.New("it is a file of another host")
	}
	return "/" + path, nil
}

// trimNames takes dots and blanks from the ends of names.
func trimNames(s string) string {
	names := strings.Split(s, "/")
	for i, name := range names {
		switch trimmed := strings.TrimRight(name, " "); {
		case trimmed == "." || trimmed == "..":
			names[i] = trimmed
		case strings.Trim(name, ". ") != "":
			names[i] = strings.TrimRight(name, ". ")
		}
	}
	return strings.Join(names, "/")
}

// variables are those that a path may hold, ${NAME} or, in capitals, $NAME.
var variables = regexp.MustCompile(`\$(?:\{(\w+)\}|([A-Z_][A-Z0-9_]*)\b)`)

// starts returns the absolute paths that s may stand for: as it is written, and with its variables,
// which some servers expand. One that nothing is known of is empty, as it is to a server that has
// none of that name, unless the path begins with it.
func (p Paths) starts(s string) ([]string, error) {
	written, err := p.absolute(s)
	at := variables.FindStringSubmatchIndex(s)
	if err != nil || at == nil {
		return []string{written}, err
	}
	known := map[string]string{"HOME": p.Home, "PWD": p.Dir}
	first := variables.FindStringSubmatch(s)
	if at[0] == 0 && !filepath.IsAbs(known[first[1]+first[2]]) {
		return nil, errors.New("it begins with a variable that nobody knows here")
	}
	expanded, err := p.absolute(variables.ReplaceAllStringFunc(s, func(v string) string { return known[strings.Trim(v, "${}")] }))
	return add([]string{written}, expanded), err
}

// users is how the homes of other users are written.
var users = regexp.MustCompile(`^~[\w.-]+(/|$)`)

// absolute expands "~" and puts a relative path below the directory. It cleans nothing.
func (p Paths) absolute(s string) (string, error) {
	base, rest := p.Dir, s
	switch {
	case strings.HasPrefix(s, "/"):
		return s, nil
	case s == "~" || strings.HasPrefix(s, "~/"):
		base, rest = p.Home, strings.TrimPrefix(s[1:], "/")
	case users.MatchString(s):
		return "", errors.New("it begins in the home of another user")
	case s == "":
		return "", errors.New("it is empty")
	}
	if !filepath.IsAbs(base) {
		return "", errors.New("nobody knows where it begins")
	}
	return base + "/" + rest, nil
}

// resolve follows the symbolic links of path one by one, as the kernel does, as far as it
// exists.
func (p Paths) resolve(path string) (Place, error) {
	at, rest, links := "/", names(path), 0
	var files []fs.FileInfo // of the names of at
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at, files = filepath.Dir(at), files[:max(0, len(files)-1)]
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), err != nil && !errors.Is(err, fs.ErrPermission) && isFile(at):
			// What is not there leads nowhere else.
			place := Place{Path: filepath.Join(append([]string{next}, rest...)...), Fold: p.folding(at)}
			place.files = files[:common(names(at), names(place.Path))]
			return place, nil
		case err != nil:
			return Place{}, errors.New("where it leads cannot be seen")
		case info.Mode()&fs.ModeSymlink == 0:
			at, files = next, append(files, info)
			continue
		case strings.HasPrefix(at, "/proc/"): // such as /proc/self/root, and its fd/3 (proc_pid_root(5))
			return Place{}, errors.New("it leads where the server's own process does")
		}
		if links++; links > maxLinks {
			return Place{}, errors.New("it leads through too many symbolic links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return Place{}, errors.New("where it leads cannot be seen")
		}
		if filepath.IsAbs(target) {
			at, files = "/", nil
		}
		rest = append(names(target), rest...)
	}
	place := Place{Path: at, Fold: p.folding(filepath.Dir(at)), files: files}
	if len(files) > 0 {
		place.self = files[len(files)-1]
	}
	return place, nil
}

// common returns how many names two paths begin with alike.
func common(a, b []string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && !info.IsDir()
}

// names splits a path. It keeps "..", which counts after links are followed.
func names(path string) []string {
	all := strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
	kept := all[:0]
	for _, name := range all {
		if name != "." {
			kept = append(kept, name)
		}
	}
	return kept
}

func (p Paths) folding(dir string) bool {
	if p.folds != nil {
		return p.folds(dir)
	}
	return foldsCase(dir)
}

// foldsCase says whether the volume of dir, which exists, takes names that differ by case for
// one: whether dir is the same file when its name is written in the other case.
func foldsCase(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if dir == "/" {
			dir = "/usr" // is on every system
		}
		name := filepath.Base(dir)
		if other := swapCase(name); other != name {
			return sameFile(dir, filepath.Join(filepath.Dir(dir), other))
		}
	}
}

func sameFile(a, b string) bool {
	first, err := os.Lstat(a)
	if err != nil {
		return false
	}
	second, err := os.Lstat(b)
	return err == nil && os.SameFile(first, second)
}

func swapCase(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsUpper(c) {
			return unicode.ToLower(c)
		}
		return unicode.ToUpper(c)
	}, name)
}

// Is says whether two places are one: by their names, or because both are one file, which has other
// names by a hard link, a bind mount, and on macOS by firmlinks and /.vol.
func (at Place) Is(other Place) bool {
	path, name := at.spelt(other)
	return path == name || at.self != nil && other.file(at.self)
}

// Below says whether the place is dir or in it, by names or by files.
func (at Place) Below(dir Place) bool {
	path, name := at.spelt(dir)
	return path == name || strings.HasPrefix(path, strings.TrimSuffix(name, "/")+"/") || slices.ContainsFunc(at.files, dir.file)
}

// spelt returns the paths of two places as the volume of the first compares them.
func (at Place) spelt(other Place) (path, name string) {
	if !at.Fold {
		return at.Path, other.Path
	}
	return Fold(norm.NFC.String(at.Path)), Fold(norm.NFC.String(other.Path))
}

// file says whether the place is this file.
func (at Place) file(info fs.FileInfo) bool { return at.self != nil && os.SameFile(at.self, info) }

// Fold returns the same text for two that differ by case alone.
func Fold(text string) string {
	for i := range len(text) {
		if c := text[i]; c >= 0x80 || c >= 'A' && c <= 'Z' || c == 'k' || c == 's' { // these two have a third form
			return strings.Map(foldRune, text)
		}
	}
	return text
}

func foldRune(c rune) rune {
	least := c
	for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}
