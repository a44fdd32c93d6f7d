// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"strings"

	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/hostfile"
)

// A unitCommand is what a service runs, with what its variables are.
type unitCommand struct {
	name        string
	lines       []string // of ExecStart
	environment map[string]string
}

// commandOf reads the commands of a service of systemd with its drop-ins (systemd.unit(5)), none where there is no
// such service. A service may have several names, the first of which that has a file has the unit.
func (m *machine) commandOf(names ...string) (unitCommand, error) {
	c := unitCommand{environment: map[string]string{}}
	file := ""
	var dropInDirs []string
	for _, name := range names {
		for _, directory := range unitDirs {
			if file == "" && m.exists(directory+name) {
				file, c.name = directory+name, name
			}
			dropInDirs = append(dropInDirs, directory+name+".d")
		}
	}
	if file == "" {
		return c, nil
	}
	files, err := m.dropIns(".conf", dropInDirs...)
	var environmentFiles []string
	for _, file := range append([]string{file}, files...) {
		text, failed := m.unitText(file)
		err = errors.Join(err, failed)
		unitfile.Settings(text, func(section, name, value string) {
			if section == "Service" {
				c.set(name, value, &environmentFiles)
			}
		})
	}
	for _, name := range environmentFiles {
		text, failed := m.optionalText(strings.TrimPrefix(name, "-"))
		err = errors.Join(err, failed)
		c.take(text)
	}
	return c, err
}

// unitText is empty for a unit that is masked by a link to /dev/null.
func (m *machine) unitText(file string) (string, error) {
	f, err := m.stat(file)
	if hostfile.Missing(err) || err == nil && !f.Mode.IsRegular() {
		return "", nil
	}
	return m.optionalText(file)
}

// set takes one setting; an empty value clears a list.
func (c *unitCommand) set(name, value string, environmentFiles *[]string) {
	switch name {
	case "ExecStart":
		if c.lines = append(c.lines, value); value == "" {
			c.lines = nil
		}
	case "Environment":
		if value == "" {
			clear(c.environment)
		}
		for _, word := range unitfile.Words(value) {
			name, text, _ := strings.Cut(word, "=")
			c.environment[name] = text
		}
	case "EnvironmentFile":
		if *environmentFiles = append(*environmentFiles, value); value == "" {
			*environmentFiles = nil
		}
	}
}

// take reads a file of variables, which count more than those of the unit (systemd.exec(5)).
func (c *unitCommand) take(text string) {
	unitfile.Variables(text, func(name, value string) { c.environment[name] = value })
}

// arguments are those of each command, without its program. A variable that is a word of its own becomes as many
// as it has, one within a word a part of it (systemd.service(5)).
func (c unitCommand) arguments() [][]string {
	var list [][]string
	for _, line := range c.lines {
		var words []string
		for _, word := range unitfile.Words(strings.TrimLeft(line, "-:+!|@")) {
			if name, variable := strings.CutPrefix(word, "$"); variable && !strings.ContainsAny(name, "{}$") {
				words = append(words, unitfile.Words(c.environment[name])...)
			} else {
				words = append(words, c.within(word))
			}
		}
		if len(words) > 0 {
			list = append(list, words[1:])
		}
	}
	return list
}

func (c unitCommand) within(word string) string {
	before, rest, found := strings.Cut(word, "${")
	name, after, closed := strings.Cut(rest, "}")
	if !found || !closed {
		return word
	}
	return before + c.environment[name] + c.within(after)
}

// options returns the values of an option of one letter, "-H x" or "-Hx", and of its long name, "" for none, "--host
// x" or "--host=x".
func options(arguments []string, short, long string) []string {
	var values []string
	for i, word := range arguments {
		value, isShort := strings.CutPrefix(word, "-"+short)
		text, isLong := strings.CutPrefix(word, "--"+long+"=")
		switch {
		case (word == "-"+short || long != "" && word == "--"+long) && i+1 < len(arguments):
			values = append(values, arguments[i+1])
		case long != "" && isLong:
			values = append(values, text)
		case isShort && value != "":
			values = append(values, strings.TrimPrefix(value, "="))
		}
	}
	return values
}
