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
	var environmentFiles []string
	name, err := m.eachSetting(func(section, name, value string) {
		if section == "Service" {
			c.set(name, value, &environmentFiles)
		}
	}, names...)
	c.name = name
	for _, name := range environmentFiles {
		text, failed := m.optionalText(strings.TrimPrefix(name, "-"))
		err = errors.Join(err, failed)
		c.take(text)
	}
	return c, err
}

// eachSetting calls use for each setting of a unit with its drop-ins, in the order in which they count, and returns
// which of its names has a file; "" where none has.
func (m *machine) eachSetting(use func(section, name, value string), names ...string) (unit string, err error) {
	file := ""
	var dropInDirs []string
	for _, name := range names {
		for _, directory := range unitDirs {
			if file == "" && m.exists(directory+name) {
				file, unit = directory+name, name
			}
			dropInDirs = append(dropInDirs, directory+name+".d")
		}
	}
	if file == "" {
		return "", nil
	}
	files, err := m.dropIns(".conf", dropInDirs...)
	for _, file := range append([]string{file}, files...) {
		text, failed := m.unitText(file)
		err = errors.Join(err, failed)
		unitfile.Settings(text, use)
	}
	return unit, err
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

// arguments are those of each command, without its program.
func (c unitCommand) arguments() [][]string {
	var list [][]string
	for _, words := range c.commands() {
		list = append(list, words[1:])
	}
	return list
}

// commands are the words of each command, the program first.
func (c unitCommand) commands() [][]string {
	var list [][]string
	for _, line := range c.lines {
		if words := c.expand(unitfile.Words(strings.TrimLeft(line, "-:+!|@"))); len(words) > 0 {
			list = append(list, words)
		}
	}
	return list
}

// expand puts in variables. One that is a word of its own becomes as many as it has, one within a word a part of it
// (systemd.service(5)).
func (c unitCommand) expand(words []string) []string {
	var all []string
	for _, word := range words {
		if name, variable := strings.CutPrefix(word, "$"); variable && !strings.ContainsAny(name, "{}$") {
			all = append(all, unitfile.Words(c.environment[name])...)
		} else {
			all = append(all, c.within(word))
		}
	}
	return all
}

func (c unitCommand) within(word string) string {
	before, rest, found := strings.Cut(word, "${")
	name, after, closed := strings.Cut(rest, "}")
	if !found || !closed {
		return word
	}
	return before + c.environment[name] + c.within(after)
}
