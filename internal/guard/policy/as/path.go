// SPDX-License-Identifier: Apache-2.0

package as

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
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
		absolute, err := p.absolute(s)
		if err != nil {
			return nil, err
		}
		// Some programs clean a path before they open it, the kernel follows links first:
		// "link/.." is another place for each of them.
		for _, start := range add([]string{absolute}, filepath.Clean(absolute)) {
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
// without, with backslashes for slashes, without the dots and blanks at the end of names that
// some systems drop.
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
		slashed := strings.ReplaceAll(s, `\`, "/")
		all = add(all, s, slashed, trimNames(s), trimNames(slashed))
	}
	return all, nil
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

// absolute expands "~" and puts a relative path below the directory. It cleans nothing.
func (p Paths) absolute(s string) (string, error) {
	base, rest := p.Dir, s
	switch {
	case strings.HasPrefix(s, "/"):
		return s, nil
	case s == "~" || strings.HasPrefix(s, "~/"):
		base, rest = p.Home, strings.TrimPrefix(s[1:], "/")
	case strings.HasPrefix(s, "~"):
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
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), err != nil && !errors.Is(err, fs.ErrPermission) && isFile(at):
			// What is not there leads nowhere else.
			return Place{filepath.Join(append([]string{next}, rest...)...), p.folding(at)}, nil
		case err != nil:
			return Place{}, errors.New("where it leads cannot be seen")
		case info.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		if links++; links > maxLinks {
			return Place{}, errors.New("it leads through too many symbolic links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return Place{}, errors.New("where it leads cannot be seen")
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(names(target), rest...)
	}
	return Place{at, p.folding(filepath.Dir(at))}, nil
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

// Below says whether the place is dir or in it.
func (at Place) Below(dir string) bool {
	path := at.Path
	if at.Fold {
		path, dir = Fold(path), Fold(dir)
	}
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

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
