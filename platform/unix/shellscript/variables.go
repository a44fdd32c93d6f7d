// SPDX-License-Identifier: Apache-2.0

package shellscript

import (
	"slices"
	"strings"
	"sync"

	"sentinel/internal/lazyregexp"
)

// takes is what a variable is taken for by those who read it.
type takes int

const (
	plain       takes = iota
	files             // that are loaded or run
	directories       // of files that are loaded
	searched          // directories of programs
	options           // of the runner that is named after it
	commands          // of a shell
	prompt            // of which a shell runs the substitutions
	code              // of another language
)

// A variable is one of the environment that has programs load, or run, what its value names.
type variable struct {
	names  string // in a list
	takes  takes
	runner string
}

// variables are those of loaders, shells and interpreters, as their manual pages have them. Who reads one anyhow
// to start a program that people choose (EDITOR, PAGER) is not among them.
var variables = []variable{
	{names: "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES", takes: files},                                       // ld.so(8), dyld(1)
	{names: "BASH_ENV ENV PYTHONSTARTUP OPENSSL_CONF R_PROFILE R_PROFILE_USER BUNDLE_GEMFILE", takes: files}, // bash(1), sh(1), python(1), config(5ssl)
	{names: "PATH", takes: searched}, // environ(7)
	{names: "LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FRAMEWORK_PATH DYLD_FALLBACK_LIBRARY_PATH DYLD_FALLBACK_FRAMEWORK_PATH GCONV_PATH", takes: directories},  // ld.so(8), dyld(1), iconv(1)
	{names: "PERL5LIB PERLLIB PYTHONPATH PYTHONHOME PYTHONUSERBASE RUBYLIB NODE_PATH OPENSSL_MODULES OPENSSL_ENGINES GIO_EXTRA_MODULES", takes: directories}, // perlrun(1), python(1), ruby(1), node(1)
	{names: "PERL5OPT", takes: options, runner: "perl"},                                         // perlrun(1)
	{names: "RUBYOPT", takes: options, runner: "ruby"},                                          // ruby(1)
	{names: "NODE_OPTIONS", takes: options, runner: "node"},                                     // node(1)
	{names: "JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS", takes: options, runner: "java"}, // java(1)
	{names: "PERL5DB LUA_INIT", takes: code},                                                    // perlrun(1), lua(1)
	{names: "PROMPT_COMMAND", takes: commands},                                                  // bash(1)
	{names: "PS0 PS1 PS2 PS4 PROMPT RPROMPT", takes: prompt},                                    // bash(1), zsh(1)
}

// exportedFunction begins the variables in which bash hands on functions.
const exportedFunction = "BASH_FUNC_"

var variablesByName = sync.OnceValue(func() map[string]variable {
	byName := map[string]variable{}
	for _, v := range variables {
		for name := range strings.FieldsSeq(v.names) {
			byName[name] = v
		}
	}
	return byName
})

func variableOf(name string) variable {
	if strings.HasPrefix(name, exportedFunction) {
		return variable{takes: commands}
	}
	return variablesByName()[name]
}

// Starts reports whether a variable of the environment has programs load, or run, something that they do not
// without it. A PATH of directories of the system alone does not.
func Starts(name, value string) bool {
	switch variableOf(name).takes {
	case plain:
		return false
	case searched:
		return changesPath(value)
	default:
		return value != ""
	}
}

// loaded are the files that an assignment makes every program load, the directories in which it has them
// looked for, and the programs in it that a shell runs.
func (f frame) loaded(word string) []string {
	name, value, _ := strings.Cut(word, "=")
	name, _, _ = strings.Cut(strings.TrimSuffix(name, "+"), "[")
	switch v := variableOf(name); v.takes {
	case files:
		return f.each(strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ' ' }))
	case directories:
		return folder(f.each(foldersOf(value)))
	case searched:
		f.reader.pathChanged = f.reader.pathChanged || changesPath(value) && !onlyBehind(value)
		return folder(f.each(slices.DeleteFunc(foldersOf(value), func(dir string) bool { return usual(dir) || isBare(dir) || ownBin.Get().MatchString(dir) })))
	case options:
		return f.run(runnerOf(v.runner), strings.Fields(value))
	case commands:
		return f.within(value)
	case prompt:
		return f.within(`: "` + strings.ReplaceAll(value, `"`, "") + `"`)
	default:
		return nil
	}
}

// onlyBehind reports whether a PATH adds directories behind those there were: no program of the system is found
// in one of them.
func onlyBehind(value string) bool {
	for _, before := range []string{"$PATH:", "${PATH}:"} {
		if rest, ok := strings.CutPrefix(value, before); ok && strings.HasPrefix(rest, "/") && !strings.Contains(rest, "::") && !strings.HasSuffix(rest, ":") {
			return true
		}
	}
	return false
}

// folder marks the names of directories, which may be missing, by a slash at their end.
func folder(names []string) (list []string) {
	for _, name := range names {
		list = append(list, strings.TrimSuffix(name, "/")+"/")
	}
	return list
}

// each returns the words that can be shown as the name of a file.
func (f frame) each(words []string) (list []string) {
	for _, word := range words {
		list = append(list, f.named(word)...)
	}
	return list
}

// earlier is the value that the variable had before.
var earlier = lazyregexp.New(`\$\{([A-Za-z0-9_]+)(?::?[-+=?](?:[^{}$]|\$[A-Za-z0-9_]+|\$\{[A-Za-z0-9_]+\})*)?\}|\$[A-Za-z0-9_]+`)

// isHome reports whether what looks like the value of a variable is the home.
func isHome(text string) bool { return text == "$HOME" || text == "${HOME}" }

// foldersOf are the directories in a list, without those that other variables have.
func foldersOf(value string) []string {
	value = earlier.Get().ReplaceAllStringFunc(value, func(text string) string {
		if isHome(text) {
			return text
		}
		return ":"
	})
	return strings.FieldsFunc(value, func(r rune) bool { return r == ':' })
}

// ownBin is where distributions have the programs of a user.
var ownBin = lazyregexp.New(`^(?:~|\$HOME|\$\{HOME\})/(?:\.local/)?bin/?$`)

// usualFolders hold the programs of a system.
var usualFolders = words(`/usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin /usr/games /usr/local/games /snap/bin /var/lib/snapd/snap/bin /usr/libexec /usr/lib/cron
	/opt/homebrew/bin /opt/homebrew/sbin /opt/local/bin /opt/local/sbin`)

func usual(dir string) bool { return usualFolders(dir) || usualFolders(strings.TrimSuffix(dir, "/")) }

// changesPath reports whether a PATH has programs looked for in other directories than those of the system: an empty one
// is where a program happens to run, and what another variable has is not known.
func changesPath(value string) bool {
	if strings.HasPrefix(value, ":") || strings.HasSuffix(value, ":") || strings.Contains(value, "::") {
		return true
	}
	for _, text := range earlier.Get().FindAllString(value, -1) {
		if !strings.HasPrefix(text, "$PATH") && !strings.HasPrefix(text, "${PATH") {
			return true
		}
	}
	return slices.ContainsFunc(foldersOf(value), func(dir string) bool { return !usual(dir) })
}
