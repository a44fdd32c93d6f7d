// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"errors"
	"path"
	"slices"
	"strings"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/startup"
	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/shellscript"
)

// loader finds libraries that the dynamic linker loads into every program, and directories where it
// looks for libraries (ld.so(8), ldconfig(8)).
func (s *survey) loader() {
	if f, ok := s.open("/etc/ld.so.preload"); ok {
		for library := range strings.FieldsFuncSeq(withoutComments(s.text(f)), func(r rune) bool { return strings.ContainsRune(" \t\n:", r) }) {
			s.add(f, startup.Entry{Kind: startup.Preload, Name: path.Base(library), Identity: library, When: "every program", Enabled: new(true)}, library)
		}
	}
	seen := map[string]bool{}
	s.linkerPaths("/etc/ld.so.conf", true, seen)
	for _, name := range s.names("/etc/ld.so.conf.d") {
		s.linkerPaths("/etc/ld.so.conf.d/"+name, strings.HasSuffix(name, ".conf"), seen)
	}
}

func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		before, _, _ := strings.Cut(line, "#")
		b.WriteString(strings.TrimSpace(before) + "\n")
	}
	return b.String()
}

// linkerPaths finds the directories that a file names, and those of files that it includes.
func (s *survey) linkerPaths(name string, read bool, seen map[string]bool) {
	f, ok := s.open(name)
	if !ok || seen[f.name] {
		return
	}
	if len(seen) > maxNames {
		s.miss(name, startup.ErrTooMany)
		return
	}
	seen[f.name] = true
	for line := range strings.Lines(withoutComments(s.text(f))) {
		directory := strings.TrimSpace(line)
		if strings.HasPrefix(directory, "/") {
			s.add(f, startup.Entry{Kind: startup.LibraryPath, Name: directory, Identity: directory, When: "every program", Enabled: new(read)}, directory)
		}
		if words := strings.Fields(line); len(words) > 1 && words[0] == "include" {
			s.linkerIncludes(path.Dir(name), words[1:], seen)
		}
	}
}

// linkerIncludes reads the files that patterns name; one of directories is said to be unread.
func (s *survey) linkerIncludes(from string, patterns []string, seen map[string]bool) {
	for _, pattern := range patterns {
		if !path.IsAbs(pattern) {
			pattern = path.Join(from, pattern)
		}
		names, err := s.matches(path.Clean(pattern))
		if err != nil {
			s.miss(pattern, err)
		}
		for _, name := range names {
			s.linkerPaths(name, true, seen)
		}
	}
}

var errPattern = errors.New("it names files by a pattern of folders, or by a variable, which is not followed")

// udevValue is behind a key of a rule. One that begins with an e has the escapes of C in it (udev(7)).
const udevValue = `\s*[+:!=]?=\s*(?:e"((?:[^"\\]|\\.)*)"|"((?:[^"\\]|\\"|\\)*)")`

// udevWords splits a value of a rule. In one without an e, a backslash stands before a quote, or for itself.
func udevWords(match []string) []string {
	if match[1] != "" {
		return unitfile.Words(match[1])
	}
	return unitfile.Words(strings.ReplaceAll(strings.ReplaceAll(match[2], `\"`, `"`), `\`, `\\`))
}

// udevRun finds the programs of a rule.
var udevRun = lazyregexp.New(`(?:RUN(?:\{program\})?|PROGRAM|IMPORT\{program\})` + udevValue)

// The properties of a device that name units, for the service manager of the system and for those of users
// (systemd.device(5)).
const (
	udevWanted     = "SYSTEMD_WANTS"
	udevUserWanted = "SYSTEMD_USER_WANTS"
)

// udevUnits finds the units that a rule has started, and udevFiles the files that properties are taken from (udev(7)).
var (
	udevUnits = lazyregexp.New(`(` + udevWanted + `|` + udevUserWanted + `)\}` + udevValue)
	udevFiles = lazyregexp.New(`IMPORT\{file\}` + udevValue)
)

var errUdevWants = errors.New("a rule has units started whose names, or the file that they are in, are made up as it is applied")

// joinedLines are the rules of a file of udev: a backslash at the end of a line joins the next, but for that of a comment.
func joinedLines(text string) (list []string) {
	var joined strings.Builder
	for line := range unitfile.Lines(text) {
		line = strings.TrimLeft(line, " \t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if before, goesOn := strings.CutSuffix(line, `\`); goesOn {
			joined.WriteString(before)
			continue
		}
		list = append(list, joined.String()+line)
		joined.Reset()
	}
	return list
}

// udevUnit is the unit that a rule names. Of an instance whose name is made up as the rule is applied it is the template,
// which says what is run; known is false where that is made up, too.
func udevUnit(name string) (unit string, known bool) {
	template, instance, _ := strings.Cut(name, "@")
	kind := path.Ext(instance)
	switch {
	case strings.ContainsAny(template, "$%"):
		return name, false
	case !strings.ContainsAny(instance, "$%"):
		return name, true
	default:
		return template + "@" + kind, unitKinds[kind] != "" || isGroup(kind)
	}
}

// udevWants are the units that rules have started, by property.
func (s *survey) udevWants() map[string][]string {
	units := map[string][]string{}
	want := func(f file, property string, names []string) {
		for _, name := range names {
			unit, known := udevUnit(name)
			if !known {
				s.overlook(f.name, errUdevWants)
			}
			units[property] = append(units[property], unit)
		}
	}
	s.udevRules(func(f file, _ string) {
		text := strings.Join(joinedLines(s.text(f)), "\n")
		for _, match := range udevUnits.Get().FindAllStringSubmatch(text, -1) {
			want(f, match[1], udevWords(match[1:]))
		}
		for _, match := range udevFiles.Get().FindAllStringSubmatch(text, -1) {
			s.udevProperties(f, strings.Join(udevWords(match), " "), want)
		}
	})
	return units
}

// udevProperties calls want for the units in a file that a rule takes properties from.
func (s *survey) udevProperties(rules file, name string, want func(f file, property string, units []string)) {
	if strings.ContainsAny(name, "$%") {
		s.overlook(rules.name, errUdevWants)
		return
	}
	f, ok := s.open(name)
	if !ok {
		return
	}
	unitfile.Variables(s.text(f), func(property, value string) {
		if property == udevWanted || property == udevUserWanted {
			want(f, property, strings.Fields(value))
		}
	})
}

// udev finds rules that run programs.
func (s *survey) udev() {
	s.udevRules(func(f file, name string) {
		if programs := udevPrograms(s.text(f), s.shell(f)); len(programs) > 0 {
			s.add(f, startup.Entry{Kind: startup.UdevRule, Name: name, When: "device", User: "root", Enabled: new(true)}, programs...)
		}
	})
}

// udevRules calls use for each file of rules.
func (s *survey) udevRules(use func(f file, name string)) {
	seen := map[string]bool{}
	for _, directory := range []string{"/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d"} {
		real, names := s.once(seen, directory)
		for _, name := range names {
			if !strings.HasSuffix(name, ".rules") {
				continue
			}
			if f, ok := s.open(path.Join(real, name)); ok {
				use(f, name)
			}
		}
	}
}

// udevPrograms returns the programs of a file. One without a directory is in that of udev.
func udevPrograms(text string, sh *shellscript.Reader) []string {
	var list []string
	for _, line := range joinedLines(text) {
		for _, match := range udevRun.Get().FindAllStringSubmatch(line, -1) {
			for i, name := range sh.Command(udevWords(match)) {
				if i == 0 && !strings.Contains(name, "/") {
					name = "/usr/lib/udev/" + name
				}
				list = append(list, name)
			}
		}
	}
	return shellscript.Once(list)
}

// modules finds kernel modules that are loaded at boot, and commands that are run in place of
// loading or removing one (modules-load.d(5), modprobe.d(5)).
func (s *survey) modules() {
	seen := map[string]bool{}
	s.eachConf(seen, []string{"/etc/modules-load.d", "/run/modules-load.d", "/usr/local/lib/modules-load.d", "/usr/lib/modules-load.d", "/lib/modules-load.d"}, s.loadedModules)
	s.eachConf(seen, []string{"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d"}, s.moduleCommands)
	if f, ok := s.open("/etc/modules"); ok && !slices.ContainsFunc(s.entries, func(e *entry) bool { return e.File == f.name }) {
		s.loadedModules(f)
	}
}

// eachConf opens each file NAME.conf of the directories.
func (s *survey) eachConf(seen map[string]bool, dirs []string, use func(file)) {
	for _, directory := range dirs {
		real, names := s.once(seen, directory)
		for _, name := range names {
			if !strings.HasSuffix(name, ".conf") {
				continue
			}
			if f, ok := s.open(path.Join(real, name)); ok {
				use(f)
			}
		}
	}
}

func (s *survey) loadedModules(f file) {
	for line := range strings.Lines(s.text(f)) {
		words := strings.Fields(line)
		if len(words) > 0 && !strings.HasPrefix(words[0], "#") && !strings.HasPrefix(words[0], ";") {
			s.add(f, startup.Entry{Kind: startup.KernelModule, Name: words[0], Identity: words[0], Content: line, When: "boot", Enabled: new(true)})
		}
	}
}

// joinedLine stands for where two lines of modprobe.d(5) are joined; no file of it has a NUL.
const joinedLine = "\x00"

// modprobeEscape is a backslash with what it stands before, which alone counts (freadline_wrapped() of kmod).
var modprobeEscape = lazyregexp.New(`(?s)\\.`)

func unescapedLine(text string) string { return strings.Replace(text[1:], "\n", joinedLine, 1) }

func (s *survey) moduleCommands(f file) {
	number := 1
	for line := range strings.SplitSeq(modprobeEscape.Get().ReplaceAllStringFunc(s.text(f), unescapedLine), "\n") {
		at := number
		number += 1 + strings.Count(line, joinedLine)
		line = strings.ReplaceAll(line, joinedLine, "")
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "install" && words[0] != "remove" {
			continue
		}
		e := startup.Entry{Kind: startup.ModuleCommand, Name: words[0] + " " + words[1], Line: at, Identity: words[0] + words[1], Content: line, When: "module", User: "root", Enabled: new(true)}
		s.add(f, e, s.shell(f).Programs(strings.Join(words[2:], " "))...)
	}
}

// kernelParameters start a program, or a unit, in place of the usual ones (kernel-command-line(7)).
var kernelParameters = []string{"init=", "rdinit=", "systemd.unit=", "systemd.wants=", "systemd.run=", "rd.systemd.unit=", "systemd.debug_shell", "systemd.debug-shell", "rd.break"}

// commandLine is that of the running kernel.
const commandLine = "/proc/cmdline"

// commandLineWords are the parameters that the running kernel was given.
func (s *survey) commandLineWords() []string {
	raw, err := hostfile.Head(s.path(commandLine), 1<<16)
	if err != nil && !hostfile.Missing(err) {
		s.miss(commandLine, err)
	}
	return unitfile.Words(strings.TrimSpace(string(raw)))
}

// kernelWants are the units that those have the service manager of the system start.
func (s *survey) kernelWants() (units []string) {
	for _, word := range s.commandLineWords() {
		if name, unit, _ := strings.Cut(word, "="); name == "systemd.unit" || name == "systemd.wants" {
			units = append(units, unit)
		}
	}
	return units
}

// kernel finds such parameters in the command line of the running kernel.
func (s *survey) kernel() {
	words := s.commandLineWords()
	sh := shellscript.NewReader(len(strings.Join(words, " ")))
	for _, word := range words {
		at := slices.IndexFunc(kernelParameters, func(p string) bool { return strings.HasPrefix(word, p) })
		if at < 0 {
			continue
		}
		_, value, _ := strings.Cut(word, "=")
		e := &entry{Entry: startup.Entry{Kind: startup.KernelParameter, Name: word, File: commandLine, Identity: word, When: "boot", User: "root", Enabled: new(true), Origin: startup.NoPackage}}
		if strings.HasPrefix(word, "init=") || strings.HasPrefix(word, "rdinit=") || strings.HasPrefix(word, "systemd.run=") {
			for _, program := range sh.Command(unitfile.Words(value)) {
				e.Programs = append(e.Programs, startup.Program{Path: program})
			}
		}
		s.entries = append(s.entries, e)
	}
	s.overlook(commandLine, sh.Err())
}

// desktop finds what graphical sessions start (Desktop Application Autostart Specification).
func (s *survey) desktop() {
	for _, name := range s.names("/etc/xdg/autostart") {
		if f, ok := s.open("/etc/xdg/autostart/" + name); ok && strings.HasSuffix(name, ".desktop") {
			e, programs := autostart(name, s.text(f), s.shell(f))
			s.add(f, e, programs...)
		}
	}
}

// autostart reads a desktop entry. Of a key that is there twice some desktops take the first value, others the last:
// all programs are named, and whether it starts is not known. Nor is it where only GNOME is told that it does not.
func autostart(name, text string, sh *shellscript.Reader) (startup.Entry, []string) {
	e := startup.Entry{Kind: startup.Autostart, Name: name, When: "graphical login", Enabled: new(true)}
	hidden := map[bool]bool{}
	var programs []string
	unitfile.DesktopSettings(text, "Desktop Entry", func(key, value string) {
		switch key {
		case "Exec":
			programs = append(programs, sh.Command(unitfile.Words(value))...)
		case "Hidden":
			hidden[value == "true"] = true
		case "X-GNOME-Autostart-enabled":
			if value == "false" {
				e.Enabled = nil
			}
		}
	})
	switch {
	case hidden[true] && hidden[false]:
		e.Enabled = nil
	case hidden[true]:
		e.Enabled = new(false)
	}
	return e, shellscript.Once(programs)
}
