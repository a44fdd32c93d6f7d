// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/lazyregexp"
	"sentinel/internal/sanitize"
	"sentinel/internal/timespec"
)

func itoa(n int) string { return strconv.Itoa(n) }

// item cleans an entry of what its authors may have put into it.
func item(e Entry, c comparison) Item {
	i := Item{
		Status: status(e, c), Kind: e.Kind, Name: sanitize.Reason(e.Name, maxName), File: sanitize.Text(e.File, maxPath), Line: e.Line,
		When: sanitize.Text(e.When, maxName), User: sanitize.Text(e.User, 40), Owner: sanitize.Text(e.Owner, 40), Enabled: e.Enabled,
		Programs: names(e), Detail: sanitize.Reason(e.Detail, maxPath), Package: sanitize.Text(e.Package, 80), Warnings: concerns(e), changed: e.Changed, by: e.By,
	}
	if e.Owner == "root" {
		i.Owner = ""
	}
	i.FileChanged = timespec.Format(e.Changed)
	if e.Kind == ShellStart {
		i.Size = e.Size
	}
	return i
}

// plainPath are paths that can be told from what is said about them.
var plainPath = lazyregexp.New(`^[A-Za-z0-9/._@:+-]{1,200}$`)

// place is a path beside others, or in a sentence. One that its user made up is quoted, and has no comma,
// which stands between places.
func place(file string) string {
	if plainPath.Get().MatchString(file) {
		return file
	}
	return strings.ReplaceAll(sanitize.Quoted(file, maxPlace), ",", ";")
}

// shorten gives the item a row that is no longer than others: its user chose the texts.
func (i *Item) shorten() {
	texts := []*string{&i.Name, &i.File, &i.When, &i.Detail, &i.Package}
	for n := range i.Programs {
		texts = append(texts, &i.Programs[n])
	}
	answer.Shorten(i, maxRow, texts...)
}

// names are the programs, those with a warning first.
func names(e Entry) []string {
	list := slices.Clone(e.Programs)
	slices.SortStableFunc(list, func(a, b Program) int { return len(faults(e, b)) - len(faults(e, a)) })
	var shown []string
	for _, p := range list[:min(len(list), maxShown)] {
		shown = append(shown, sanitize.Text(p.Path, maxPath))
	}
	return shown
}

func status(e Entry, c comparison) Status {
	switch s := c.status(e); {
	case s != "":
		return s
	case e.Origin == NoPackage:
		return Unpackaged
	case e.Origin == Modified:
		return Altered
	case e.Origin == UnknownOrigin:
		return Unknown
	default:
		return Shipped
	}
}

// concerns are the warnings of an entry and its programs, each once, the worst first.
func concerns(e Entry) []Warning {
	list := slices.Clone(e.Warnings)
	if e.Writable {
		list = append(list, FileWritable)
	}
	for _, p := range e.Programs {
		list = append(list, faults(e, p)...)
	}
	slices.SortFunc(list, func(a, b Warning) int { return slices.Index(warnings, a) - slices.Index(warnings, b) })
	return slices.Compact(list)
}

// faults are the warnings about a program of an entry. A directory of libraries and the words of
// shell scripts that are no path may be missing on a machine in good order. What a rule for files links
// to or copies may be made while the system runs, and have any name.
func faults(e Entry, p Program) []Warning {
	var list []Warning
	if inTmp(p.Path) || inTmp(p.Real) {
		list = append(list, ProgramInTmp)
	}
	if p.Writable {
		list = append(list, ProgramWritable)
	}
	if e.Kind == FileRule {
		return list
	}
	if hidden(p.Path) || hidden(p.Real) {
		list = append(list, ProgramHidden)
	}
	if p.Origin == NoPackage && e.Origin == Packaged {
		list = append(list, ProgramUnpackaged)
	}
	if p.Missing && e.Kind != LibraryPath && strings.HasPrefix(p.Path, "/") && !strings.HasSuffix(p.Path, "/") { // a folder of a PATH may be missing
		list = append(list, ProgramMissing)
	}
	return list
}

// tmpDirs are where everyone can put files; those of systems with other names of the same among
// them.
var tmpDirs = []string{"/tmp/", "/var/tmp/", "/dev/shm/", "/run/shm/", "/run/user/", "/var/run/user/", "/private/tmp/", "/private/var/tmp/", "/dev/mqueue/"}

func inTmp(name string) bool {
	name = path.Clean(name)
	return slices.ContainsFunc(tmpDirs, func(dir string) bool { return strings.HasPrefix(name, dir) })
}

// homes are where names that begin with a dot are usual.
var homes = []string{"/home/", "/root/", "/Users/", "/var/home/"}

func hidden(name string) bool {
	return strings.HasPrefix(name, "/") && strings.Contains(path.Clean(name), "/.") && !slices.ContainsFunc(homes, func(dir string) bool { return strings.HasPrefix(name, dir) })
}
