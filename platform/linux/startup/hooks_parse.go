// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"errors"
	"iter"
	"path"
	"slices"
	"strings"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/startup"
	"sentinel/platform/linux/aptconf"
	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/shellscript"
)

// wholeScript takes a file for one hook: what a shell reads, or assignments to the environment.
func wholeScript(text string, sh *shellscript.Reader) []hook {
	return []hook{{programs: sourcedPrograms([]byte(text), sh)}}
}

// variables takes a file for one hook: assignments to the environment, as systemd reads them.
func variables(text string, sh *shellscript.Reader) []hook {
	return []hook{{programs: loadedBy(text, sh)}}
}

// eachLine calls use for the words of each line that is no comment.
func eachLine(text string, use func(number int, line string, words []string)) {
	eachOf(strings.Lines(text), use)
}

func eachOf(lines iter.Seq[string], use func(number int, line string, words []string)) {
	number := 0
	for line := range lines {
		number++
		line = strings.TrimSpace(line)
		if words := strings.Fields(line); len(words) > 0 && !strings.ContainsAny(line[:1], "#;") {
			use(number, line, words)
		}
	}
}

// aptMain is the main file of apt's settings, where no others say that it is elsewhere (apt.conf(5)).
const aptMain = "/etc/apt/apt.conf"

// aptPlaces are the values of the options that say where the main file is, at first those of apt.
func aptPlaces() map[string][]string {
	return map[string][]string{"dir": {"/"}, "dir::etc": {"etc/apt"}, "dir::etc::main": {"apt.conf"}}
}

var errRelativeMain = errors.New("it gives the main file of apt a relative name: which one that is depends on where apt is started")

// startsHere reports whether apt takes a value for a path from where it is started, which it puts into no directory
// (Configuration::FindFile in apt-pkg/contrib/configuration.cc).
func startsHere(option, value string) bool {
	first, _, _ := strings.Cut(value, "/")
	return slices.Contains([]string{".", "..", "~"}, first) || option == "dir" && !path.IsAbs(value)
}

// mainsOfApt are the files that may be the main one: each name is in the directory that the next option has, unless it is
// a whole path. All values are taken, as which is the last one depends on what files are read, and how often.
func mainsOfApt(places map[string][]string) (names []string, err error) {
	names = []string{""}
	for _, option := range []string{"dir::etc::main", "dir::etc", "dir"} {
		var below []string
		for _, name := range names {
			if path.IsAbs(name) {
				below = append(below, name)
				continue
			}
			for _, directory := range places[option] {
				below = append(below, path.Join(directory, name))
			}
			if len(below) > maxNames {
				return nil, startup.ErrTooMany
			}
		}
		slices.Sort(below)
		names = slices.Compact(below)
	}
	return names, nil
}

// aptCommand are the options of apt whose value is run, in lower case: hooks by the shell, programs
// of its own that can be replaced, and what finds a proxy.
var aptCommand = lazyregexp.New(`::(?:pre|post)-invoke(?:-success|-stats)?(?:::.*)?$|^dpkg::pre-install-pkgs(?:::.*)?$|^aptcli::hooks::|^dir::bin::|::proxy-?auto-?detect$|^apt::compressor::.*::binary$|^apt::key::gpgv?command$`)

// aptBinary stands before options that hold for one program of apt alone (apt.conf(5)).
var aptBinary = lazyregexp.New(`^(?:binary::[^:]+::)+`)

// aptOption is the name of an option in lower case.
func aptOption(name string) string {
	return aptBinary.Get().ReplaceAllString(strings.ToLower(name), "")
}

func aptHooks(text string, sh *shellscript.Reader) []hook {
	var list []hook
	var dpkg []string
	aptconf.Each([]byte(text), func(name, value string) error { //nolint:errcheck // what comes before an error counts for apt, too
		one := hook{name: strings.TrimRight(name, ":"), content: name + "\x00" + value}
		switch option := aptOption(name); {
		case value == "":
			return nil
		case strings.TrimRight(option, ":") == "dpkg::options":
			dpkg = append(dpkg, value)
			return nil
		case option == "dpkg::path": // of the scripts of packages
			one.programs = strings.Split(value, ":")
		case aptCommand.Get().MatchString(option):
			one.programs = sh.Programs(value)
		default:
			return nil
		}
		list = append(list, one)
		return nil
	})
	for _, option := range dpkgCommands {
		for _, command := range unitfile.Options(dpkg, "", "", option) {
			list = append(list, hook{name: "DPkg::Options: " + option, content: option + "\x00" + command, programs: sh.Programs(command)})
		}
	}
	return list
}

// aptIncluded are the files and directories that settings of apt have read. Where they say that the main file is, is added
// to places.
func aptIncluded(text string, places map[string][]string) (names []string, err error) {
	aptconf.Each([]byte(text), func(name, value string) error { //nolint:errcheck // what comes before an error counts for apt, too
		option := strings.ToLower(name)
		_, isPlace := places[option]
		switch {
		case isPlace && startsHere(option, value):
			err = errRelativeMain
		case isPlace && len(places[option]) <= maxNames:
			places[option] = append(places[option], value)
		case option == aptconf.IncludeDirective && !path.IsAbs(value):
			err = aptconf.ErrRelative
		case option == aptconf.IncludeDirective:
			names = append(names, value)
		}
		return nil
	})
	return names, err
}

// dpkgCommands are the options of dpkg whose value is run (dpkg(1)).
var dpkgCommands = []string{"pre-invoke", "post-invoke", "status-logger"}

// dpkgHooks reads options of dpkg, "NAME=VALUE" or "NAME VALUE".
func dpkgHooks(text string, sh *shellscript.Reader) []hook {
	var list []hook
	eachLine(text, func(number int, line string, _ []string) {
		at := strings.IndexAny(line, "= \t")
		if at > 0 && slices.Contains(dpkgCommands, line[:at]) {
			list = append(list, hook{line[:at], number, line, sh.Programs(strings.Trim(strings.TrimSpace(line[at+1:]), `"`))})
		}
	})
	return list
}

// networkInterfaces is where ifup(8) begins to read (interfaces(5)).
const networkInterfaces = "/etc/network/interfaces"

// interfaceOptions are those whose value a shell runs.
var interfaceOptions = []string{"pre-up", "up", "post-up", "pre-down", "down", "post-down"}

// interfaceLines are joined as rules of udev are, also the last one with nothing.
func interfaceLines(text string) []string { return joinedLines(text + "\n\n") }

// interfaceCommands reads lines "OPTION COMMAND" and, of a mapping, "script PROGRAM".
func interfaceCommands(text string, sh *shellscript.Reader) []hook {
	var list []hook
	for _, line := range interfaceLines(text) {
		line = strings.TrimSpace(line)
		name, command, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
		switch {
		case slices.Contains(interfaceOptions, name):
			list = append(list, hook{name: name, content: line, programs: sh.Programs(command)})
		case name == "script":
			list = append(list, hook{name: name, content: line, programs: sh.Command([]string{strings.TrimSpace(command)})})
		}
	}
	return list
}

// interfacesIncluded are the patterns of files that are read, of which wordexp(3) may make others.
func interfacesIncluded(beside, text string) (patterns []string, err error) {
	for _, line := range interfaceLines(text) {
		words := unitfile.Words(line)
		if len(words) == 0 || words[0] != "source" && words[0] != "source-directory" {
			continue
		}
		for _, pattern := range words[1:] {
			if strings.ContainsAny(pattern, "$`~{") {
				err = errPattern
				continue
			}
			if !path.IsAbs(pattern) {
				pattern = path.Join(beside, pattern)
			}
			patterns = append(patterns, pattern)
		}
	}
	return patterns, err
}

// execHook reads the one command of a file with sections.
func execHook(text string, sh *shellscript.Reader) []hook {
	var one hook
	unitfile.Settings(text, func(_, name, value string) {
		if name == "Exec" {
			one.programs = sh.Command(unitfile.Words(value))
		}
	})
	return []hook{one}
}

// actionHooks reads lines "CALLBACK:FILTER:DIRECTION:OPTIONS:COMMAND".
func actionHooks(text string, sh *shellscript.Reader) []hook {
	var list []hook
	eachLine(text, func(number int, line string, _ []string) {
		if words := strings.SplitN(line, ":", 5); len(words) == 5 {
			list = append(list, hook{words[0], number, line, sh.Command(unitfile.Words(words[4]))})
		}
	})
	return list
}

// logrotateBlocks are directives that a script follows, up to the line endscript.
var logrotateBlocks = []string{"prerotate", "postrotate", "firstaction", "lastaction", "preremove"}

// logrotateWords are a directive with its values, between which an equals sign may stand, also behind the brace of a block.
func logrotateWords(line string) []string {
	if before, after, ok := strings.Cut(line, "{"); ok && !strings.Contains(before, "#") {
		line = after
	}
	return strings.Fields(strings.Replace(line, "=", " ", 1))
}

// isEndOfScript reports whether the line is that behind a script, in which braces are the shell's.
func isEndOfScript(line string) bool {
	words := strings.Fields(line)
	return len(words) > 0 && words[0] == "endscript"
}

func logrotateScripts(text string, sh *shellscript.Reader) []hook {
	var list []hook
	var open *hook
	var script strings.Builder
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := logrotateWords(line)
		switch {
		case open != nil && isEndOfScript(line):
			open.content, open.programs = open.name+"\n"+script.String(), sh.Programs(script.String())
			list, open = append(list, *open), nil
		case open != nil:
			script.WriteString(line)
		case len(words) > 0 && slices.Contains(logrotateBlocks, words[0]):
			open = &hook{name: words[0], line: number}
			script.Reset()
		case len(words) > 1 && (words[0] == "compresscmd" || words[0] == "uncompresscmd"):
			list = append(list, hook{words[0], number, line, sh.Command(words[1:])})
		}
	}
	return list
}

// kernelPrograms are the settings of the kernel that hold a program for it to run.
var kernelPrograms = []string{"kernel.core_pattern", "kernel.modprobe", "kernel.poweroff_cmd", "kernel.hotplug"}

// characterClass is a bracket with classes of glob(7) by their names, which path.Match does not have.
var characterClass = lazyregexp.New(`\[[^][]*(?:\[:[a-z]+:\][^][]*)+\]`)

func sysctlHandlers(text string, sh *shellscript.Reader) []hook {
	var list []hook
	eachOf(unitfile.Lines(text), func(number int, line string, _ []string) {
		pattern, value, _ := strings.Cut(line, "=")
		pattern = path.Clean(strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(pattern, "-")), ".", "/"))
		pattern = characterClass.Get().ReplaceAllString(strings.ReplaceAll(pattern, "[!", "[^"), "?")
		for _, name := range kernelPrograms {
			is, _ := path.Match(pattern, strings.ReplaceAll(name, ".", "/")) //nolint:errcheck // what is no pattern names nothing
			if programs := handlerPrograms(name, value, sh); is && len(programs) > 0 {
				list = append(list, hook{name, number, line, programs})
			}
		}
	})
	return list
}

// handlerPrograms returns what a setting of the kernel has it run. Dumps go to a program behind a bar
// only (core(5)).
func handlerPrograms(name, value string, sh *shellscript.Reader) []string {
	value, piped := strings.CutPrefix(strings.TrimSpace(value), "|")
	if !slices.Contains(kernelPrograms, name) || name == "kernel.core_pattern" && !piped {
		return nil
	}
	return sh.Command(strings.Fields(value))
}

// binfmtRules reads lines ":NAME:TYPE:OFFSET:MAGIC:MASK:INTERPRETER:FLAGS", of which the first
// character is what stands between the fields.
func binfmtRules(text string, sh *shellscript.Reader) []hook {
	var list []hook
	eachOf(unitfile.Lines(text), func(number int, line string, _ []string) {
		fields := strings.Split(line[1:], line[:1])
		if len(fields) >= 6 {
			list = append(list, hook{fields[0], number, line, sh.Command(fields[5:6])})
		}
	})
	return list
}

// keyHandlers reads lines "OPERATION TYPE DESCRIPTION CALLOUT PROGRAM ARGUMENTS".
func keyHandlers(text string, sh *shellscript.Reader) []hook {
	var list []hook
	eachLine(text, func(number int, line string, words []string) {
		if len(words) > 4 {
			words[4] = strings.TrimPrefix(words[4], "|")
			list = append(list, hook{words[0] + " " + words[1], number, line, sh.Command(words[4:])})
		}
	})
	return list
}

// fileRules takes a file for one hook.
func fileRules(specifiers func() *strings.Replacer) func(string, *shellscript.Reader) []hook {
	return func(text string, sh *shellscript.Reader) []hook {
		return []hook{{programs: placedBy(text, specifiers(), sh)}}
	}
}

// placedBy returns what the rules of a file of tmpfiles.d(5) link to or copy, which is what they make run.
func placedBy(text string, specifiers *strings.Replacer, sh *shellscript.Reader) (list []string) {
	for line := range unitfile.Lines(text) {
		words := expand(unitfile.Words(line), specifiers)
		if len(words) > 6 && strings.ContainsAny(words[0][:min(len(words[0]), 1)], "LC") && path.IsAbs(words[6]) && sh.Command(words[6:7]) != nil {
			list = append(list, words[6])
		}
	}
	return list
}

// pluginDir is where sudo looks for a plugin without a directory.
const pluginDir = "/usr/libexec/sudo/"

// sudoPlugins reads lines "Plugin SYMBOL FILE OPTIONS" and "Path NAME FILE".
func sudoPlugins(text string, sh *shellscript.Reader) []hook {
	var list []hook
	eachLine(text, func(number int, line string, words []string) {
		if len(words) < 3 || words[0] != "Plugin" && words[0] != "Path" || words[1] == "devsearch" {
			return
		}
		file := strings.Trim(words[2], `"`)
		if !path.IsAbs(file) {
			file = pluginDir + file
		}
		list = append(list, hook{words[0] + " " + words[1], number, line, sh.Command([]string{file})})
	})
	return list
}

func acpiActions(text string, sh *shellscript.Reader) []hook {
	var list []hook
	eachLine(text, func(number int, line string, _ []string) {
		if name, value, _ := strings.Cut(line, "="); strings.TrimSpace(name) == "action" {
			list = append(list, hook{"", number, line, sh.Programs(value)})
		}
	})
	return list
}

// managerEnvironment finds libraries that the service manager makes every service, or itself, load.
func managerEnvironment(text string, sh *shellscript.Reader) []hook {
	var list []hook
	unitfile.Settings(text, func(_, name, value string) {
		if name == "DefaultEnvironment" || name == "ManagerEnvironment" {
			list = append(list, hook{name: name, content: name + value, programs: sh.Environment(unitfile.Words(value))})
		}
	})
	return list
}

// inetdServices reads lines "SERVICE SOCKET PROTOCOL WAIT USER PROGRAM ARGUMENTS".
func inetdServices(text string, sh *shellscript.Reader) []hook {
	var list []hook
	eachLine(text, func(number int, line string, words []string) {
		if len(words) > 5 && words[5] != "internal" {
			list = append(list, hook{words[0], number, line, sh.Command(words[5:])})
		}
	})
	return list
}

// xinetdServices reads blocks "service NAME", "{", "ATTRIBUTE = VALUE", "}", but for those that are off.
func xinetdServices(text string, sh *shellscript.Reader) []hook {
	var list []hook
	var one hook
	var lines []string // that tell it from others
	off := false
	end := func() {
		if !off && one.programs != nil {
			one.content = strings.Join(lines, "\n")
			list = append(list, one)
		}
		one, lines, off = hook{}, nil, false
	}
	eachLine(text, func(number int, line string, words []string) {
		name, value, set := strings.Cut(line, "=")
		switch value = strings.TrimSpace(value); {
		case !set && words[0] == "service" && len(words) > 1:
			end()
			one, lines = hook{name: words[1], line: number}, []string{line}
		case !set:
		case strings.TrimSpace(name) == "disable":
			off = value == "yes"
		case strings.TrimSpace(name) == "server":
			lines = append(lines, line)
			one.programs = append(one.programs, sh.Command(unitfile.Words(value))...)
		}
	})
	end()
	return list
}
