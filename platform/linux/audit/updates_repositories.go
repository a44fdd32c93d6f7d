// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/platform/unix/hostfile"
)

// A repositoryDialect is how a package manager reads files of repositories.
type repositoryDialect struct {
	keys      []string // of the check of packages; the first that is set decides
	yes, no   []string // other words set nothing
	byDefault bool     // whether packages are checked where nothing is set
	// indented says that a line may begin with blanks, which elsewhere make it a part of the one before.
	indented bool
	quotes   string // that may be around a value
}

// ofDNF is that of libdnf (IniParser.cpp, OptionBool.cpp, ConfigMain.cpp); dnf5 has another name for the key.
func ofDNF(five bool) repositoryDialect {
	d := repositoryDialect{keys: []string{"gpgcheck"}, yes: []string{"1", "yes", "true", "on"}, no: []string{"0", "no", "false", "off"}, quotes: `"'`}
	if five {
		d.keys = []string{"pkg_gpgcheck", "gpgcheck"}
	}
	return d
}

// ofZypp is that of libzypp (zypp.conf, gpgcheck; str::strToBool).
var ofZypp = repositoryDialect{
	keys: []string{"pkg_gpgcheck", "gpgcheck"}, yes: []string{"1", "yes", "true", "on", "always"}, no: []string{"0", "no", "false", "off", "never", "-"}, byDefault: true, indented: true,
}

// A repositorySection is a section of such a file: a repository, or "main".
type repositorySection struct {
	name, file string
	line       int
	settings   map[string]sourceLine
}

// sections reads the sections of a file.
func (d repositoryDialect) sections(file, text string) []repositorySection {
	var list []repositorySection
	last, number := "", 0
	for line := range strings.Lines(text) {
		number++
		trimmed := strings.TrimSpace(line)
		name, section := strings.CutPrefix(trimmed, "[")
		key, value, isSetting := strings.Cut(trimmed, "=")
		switch {
		case trimmed == "" || strings.ContainsAny(trimmed[:1], "#;"):
		case section:
			list, last = append(list, repositorySection{strings.TrimSuffix(name, "]"), file, number, map[string]sourceLine{}}), ""
		case len(list) == 0:
		case !d.indented && last != "" && strings.ContainsAny(line[:1], " \t"):
			continued := list[len(list)-1].settings[last]
			continued.text += "\n" + trimmed
			list[len(list)-1].settings[last] = continued
		case isSetting:
			last = strings.TrimSpace(key)
			list[len(list)-1].settings[last] = sourceLine{file, number, strings.Trim(strings.TrimSpace(value), d.quotes)}
		}
	}
	return list
}

// word reads a setting; known is false where it says nothing.
func (d repositoryDialect) word(s repositorySection, key string) (yes, known bool) {
	value := strings.ToLower(s.settings[key].text)
	yes = slices.Contains(d.yes, value)
	return yes, yes || slices.Contains(d.no, value)
}

// checks says whether a section has packages checked, and by which key; "" where it does not say.
func (d repositoryDialect) checks(s repositorySection) (yes bool, by string) {
	for _, key := range d.keys {
		if yes, known := d.word(s, key); known {
			return yes, key
		}
	}
	return false, ""
}

// unchecked returns what keeps packages from being checked: in the main section, in a repository that is on, or in
// one that says nothing where nothing else does.
func (d repositoryDialect) unchecked(main repositorySection, repositories []repositorySection) []string {
	var wrong []string
	checked, byMain := d.checks(main)
	if byMain != "" && !checked {
		wrong = append(wrong, main.evidence(byMain))
	}
	for _, r := range repositories {
		enabled, known := d.word(r, "enabled")
		yes, by := d.checks(r)
		switch {
		case known && !enabled:
		case by != "" && !yes:
			wrong = append(wrong, r.evidence(by))
		case by == "" && byMain == "" && !d.byDefault:
			wrong = append(wrong, audit.At(r.file, r.line, "["+r.name+"] has no gpgcheck, nor has [main]: the default is off"))
		}
	}
	return wrong
}

func (s repositorySection) evidence(key string) string {
	at := s.settings[key]
	return audit.At(at.file, at.line, key+"="+at.text)
}

// override has settings count that another section has: those of main in a later file, and those of an override,
// whose name is a pattern (dnf5.conf(5)).
func (s repositorySection) override(by repositorySection) {
	if hostfile.Fnmatch(by.name, s.name) {
		maps.Copy(s.settings, by.settings)
	}
}

// A repositoryTree is where a package manager has its files.
type repositoryTree struct {
	dialect                       repositoryDialect
	main, repositories, overrides []string // the last counts
}

// uncheckedIn returns what keeps packages from being checked in the files of a package manager. The main file may
// have repositories, those of repositories have no main section.
func (m *machine) uncheckedIn(t repositoryTree) ([]string, error) {
	main := repositorySection{name: "main", settings: map[string]sourceLine{}}
	var list []repositorySection
	var first error
	each := func(files []string, use func(repositorySection)) {
		for _, file := range files {
			text, err := m.optionalText(file)
			first = errors.Join(first, err)
			for _, s := range t.dialect.sections(file, text) {
				use(s)
			}
		}
	}
	add := func(s repositorySection) {
		if s.name != main.name {
			list = append(list, s)
		}
	}
	each(t.main, func(s repositorySection) { main.override(s); add(s) })
	each(t.repositories, add)
	each(t.overrides, func(by repositorySection) {
		for _, s := range list {
			s.override(by)
		}
	})
	return t.dialect.unchecked(main, list), first
}

// unsignedDNF reads the files of dnf 4 and of dnf5 (dnf.conf(5), dnf5.conf(5)), which reads more.
func (m *machine) unsignedDNF() ([]string, error) {
	five := m.exists("/usr/bin/dnf5")
	t := repositoryTree{dialect: ofDNF(five)}
	var errs [3]error
	if five {
		t.main, errs[0] = m.dropIns(".conf", "/etc/dnf/libdnf5.conf.d", "/usr/share/dnf5/libdnf.conf.d")
		t.overrides, errs[1] = m.dropIns(".repo", "/etc/dnf/repos.override.d", "/usr/share/dnf5/repos.override.d")
	}
	t.main = append(t.main, "/etc/dnf/dnf.conf")
	t.repositories, errs[2] = m.filesInAll(".repo", "/etc/yum.repos.d", "/etc/yum/repos.d", "/etc/distro.repos.d", "/usr/share/dnf5/repos.d")
	wrong, err := m.uncheckedIn(t)
	return wrong, errors.Join(append(errs[:], err)...)
}

func (m *machine) unsignedZypper() ([]string, error) {
	files, failed := m.filesInAll(".repo", "/etc/zypp/repos.d")
	wrong, err := m.uncheckedIn(repositoryTree{ofZypp, []string{"/etc/zypp/zypp.conf"}, files, nil})
	return wrong, errors.Join(err, failed)
}

// filesInAll returns the files in directories whose names have an ending.
func (m *machine) filesInAll(ending string, directories ...string) ([]string, error) {
	var files []string
	for _, directory := range directories {
		more, err := m.filesIn("", directory, ending)
		if err != nil {
			return files, err
		}
		files = append(files, more...)
	}
	return files, nil
}
