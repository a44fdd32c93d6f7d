// SPDX-License-Identifier: Apache-2.0

// Package installed knows where the two programs of sentinel stand when root has
// installed them.
package installed

import (
	"path"
	"strings"
)

// Sentinel is the name of the program that does the work, beside its server
// ([sentinel/internal/clients.Program]).
const Sentinel = "sentinel"

// The directories. The rules of sudo, the units and the jobs in packaging name Local; installing
// rewrites them.
const (
	Local   = "/usr/local/bin"    // make install
	Opt     = "/opt/sentinel/bin" // the package for macOS, and where not only root can change Local, as with Homebrew on Intel
	Package = "/usr/bin"          // the packages of Linux distributions
)

// Dirs returns the directories in the order in which programs are looked for.
func Dirs() []string { return []string{Local, Opt, Package} }

// Paths returns a program of that name in each of the directories.
func Paths(program string) []string {
	dirs := Dirs()
	for i, dir := range dirs {
		dirs[i] = path.Join(dir, program)
	}
	return dirs
}

// RuleProgram returns the program of a command that the rules of sudo in packaging
// have: the literal "PROGRAM --request TOOL", without a wildcard. It may be in any directory,
// because the prefix of an installation is free.
func RuleProgram(command string) (program string, ok bool) {
	words := strings.Split(command, " ")
	if len(words) != 3 || words[1] != "--request" || strings.Trim(words[2], "abcdefghijklmnopqrstuvwxyz_") != "" || words[2] == "" {
		return "", false
	}
	program = words[0]
	ok = path.IsAbs(program) && path.Clean(program) == program && path.Base(program) == Sentinel && !strings.ContainsAny(program, `*?[\`)
	return program, ok
}
