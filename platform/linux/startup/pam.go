// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"path"
	"slices"
	"strings"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/startup"
	"sentinel/platform/unix/shellscript"
)

// moduleDirs hold the modules of PAM; those of an architecture are found below /lib and /usr/lib.
var moduleDirs = []string{"/lib/security", "/lib64/security", "/usr/lib/security", "/usr/lib64/security", "/usr/lib/pam"}

// stacks are where rules are, first what counts.
var stacks = []string{"/etc/pam.d", "/usr/lib/pam.d"}

// pam finds the modules that stacks name, and programs that pam_exec(8) runs (pam.conf(5)).
func (s *survey) pam() {
	dirs := slices.Clone(moduleDirs)
	for _, lib := range []string{"/usr/lib", "/lib"} {
		for _, name := range s.names(lib) {
			if strings.Contains(name, "-linux-") {
				dirs = append(dirs, lib+"/"+name+"/security")
			}
		}
	}
	seen := map[string]bool{}
	for _, directory := range stacks {
		for _, name := range s.names(directory) {
			if f, ok := s.open(directory + "/" + name); ok {
				s.stack(f, dirs, seen)
			}
		}
	}
}

// A pamLine is one rule of a stack, or another file of rules.
type pamLine struct {
	module  string
	words   []string // its arguments
	include string
}

// pamLines reads a file of /etc/pam.d (pam.conf(5)): type, control, module and arguments.
func pamLines(text string) (list []pamLine) {
	for _, line := range pamJoined(text) {
		words := pamWords(line)
		switch {
		case len(words) > 1 && words[0] == "@include":
			list = append(list, pamLine{include: words[1]})
		case len(words) < 3:
		case strings.EqualFold(words[1], "include") || strings.EqualFold(words[1], "substack"):
			list = append(list, pamLine{include: words[2]})
		default:
			list = append(list, pamLine{module: words[2], words: words[3:]})
		}
	}
	return list
}

// pamJoined are the lines of a file without comments. A backslash at the end joins the next line, but for that of a comment.
func pamJoined(text string) (list []string) {
	var joined strings.Builder
	for line := range strings.Lines(text) {
		line, _, commented := strings.Cut(strings.TrimSuffix(line, "\n"), "#")
		if commented && strings.TrimSpace(line) == "" {
			continue
		}
		before, goesOn := strings.CutSuffix(line, `\`)
		joined.WriteString(before + " ")
		if !goesOn || commented {
			list = append(list, joined.String())
			joined.Reset()
		}
	}
	return append(list, joined.String())
}

// pamWords splits a rule. A word in brackets has blanks in it.
func pamWords(line string) (words []string) {
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimSpace(rest) {
		end := strings.IndexAny(rest, " \t")
		if bracketed := pamBracket.Get().FindString(rest); bracketed != "" {
			words = append(words, strings.ReplaceAll(bracketed[1:len(bracketed)-1], `\]`, "]"))
			rest = rest[len(bracketed):]
			continue
		}
		if end < 0 {
			end = len(rest)
		}
		words = append(words, rest[:end])
		rest = rest[end:]
	}
	return words
}

var pamBracket = lazyregexp.New(`^\[(?:\\\]|[^\]])*\]`)

// execOption is one of pam_exec(8), behind which its program stands.
var execOption = lazyregexp.New(`^(?:debug|expose_authtok|seteuid|quiet|quiet_log|stdout|log=.*|type=.*)$`)

func (s *survey) stack(f file, dirs []string, seen map[string]bool) {
	if seen[f.name] {
		return
	}
	seen[f.name] = true
	for _, line := range pamLines(s.text(f)) {
		if strings.Contains(line.include, "/") {
			s.includedStack(line.include, dirs, seen)
		}
		if path.Base(line.module) == "pam_exec.so" {
			if at := slices.IndexFunc(line.words, func(w string) bool { return !execOption.Get().MatchString(w) }); at >= 0 {
				programs := s.shell(f).Command(line.words[at:])
				s.add(f, startup.Entry{Kind: startup.PAMProgram, Name: path.Base(f.name), Identity: strings.Join(line.words, " "), When: "login", Enabled: new(true)}, programs...)
			}
		}
		if line.module != "" {
			s.pamModule(line.module, dirs, seen)
		}
	}
}

// includedStack reads rules that stand elsewhere, once. A name without the root is looked for where rules are.
func (s *survey) includedStack(name string, dirs []string, seen map[string]bool) {
	if !path.IsAbs(name) {
		name = path.Join(stacks[0], name)
	}
	if len(seen) > maxNames {
		s.miss(name, startup.ErrTooMany)
		return
	}
	if f, ok := s.open(name); ok {
		s.stack(f, dirs, seen)
	}
}

// pamVariables reads lines "NAME DEFAULT=VALUE OVERRIDE=VALUE".
func pamVariables(text string, sh *shellscript.Reader) (list []hook) {
	for _, line := range pamJoined(text) {
		words := strings.Fields(line)
		for _, word := range words[min(1, len(words)):] {
			_, value, _ := strings.Cut(word, "=")
			if programs := sh.Environment([]string{words[0] + "=" + strings.Trim(value, `"`)}); len(programs) > 0 {
				list = append(list, hook{name: words[0], content: words[0] + word, programs: programs})
			}
		}
	}
	return list
}

// pamModule adds a module once, from the first directory that has it.
func (s *survey) pamModule(name string, dirs []string, seen map[string]bool) {
	places := []string{name}
	if !path.IsAbs(name) {
		places = nil
		for _, directory := range dirs {
			places = append(places, directory+"/"+name)
		}
	}
	for _, place := range places {
		real, err := s.resolve(place)
		if err != nil {
			continue
		}
		if seen[real] {
			return
		}
		seen[real] = true
		if f, ok := s.open(real); ok {
			s.add(f, startup.Entry{Kind: startup.PAMModule, Name: path.Base(name), When: "login", Enabled: new(true)})
			return
		}
	}
}
