// SPDX-License-Identifier: Apache-2.0

// Package elevation runs tools of sentinel as root through sudo, and decides what is said to
// somebody whom sudo does not let: what helps depends on how sentinel was installed and on what the
// machine knows about the user.
package elevation

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
)

const (
	// Sudo is the absolute path of sudo on every supported system.
	Sudo = "/usr/bin/sudo"
	// Rules is the file of the rules of sudo for sentinel.
	Rules = "/etc/sudoers.d/sentinel"
	// Group is whom the shipped rules are for.
	Group = "sentinel"
)

// Request returns the one command line of a tool. The rules of sudo name it literally, so nothing in
// it depends on the caller.
func Request(tool string) []string { return []string{"--request", tool} }

// IsRequest reports whether the rules of sudo may have let a run with these arguments through. sudo compares them
// joined by blanks, so one argument in place of two gets there as well, and everything that bounds a request has to
// hold for what is none.
func IsRequest(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--request") })
}

// Through returns the command that runs program with args as root, without a password. sudo is never
// killed: it would leave the program running as root.
func Through(program string, args []string, stdin []byte) sysexec.Command {
	return sysexec.Command{Path: Sudo, Args: append([]string{"-n", program}, args...), Stdin: stdin, NoKill: true}
}

// Refusal returns what sudo said when it refused a command, "" when it was the program that failed, or
// there was no process left for either.
// sudo exits with 1 for both (sudo(8), "EXIT VALUE"), but sentinel always prints a document then.
func Refusal(result sysexec.Result, err error) string {
	if scarce(result, err) != "" {
		return ""
	}
	if start, ok := errors.AsType[*fs.PathError](err); ok {
		return "it cannot be started (" + start.Err.Error() + ")."
	}
	if err != nil || result.Exit != 1 || len(bytes.TrimSpace(result.Stdout)) > 0 {
		return ""
	}
	for line := range strings.Lines(string(result.Stderr)) {
		if strings.HasPrefix(line, "sudo: ") || strings.HasPrefix(line, "sudo-rs: ") || strings.HasPrefix(line, "Sorry, ") {
			return sanitize.Text(strings.TrimSpace(line), 200)
		}
	}
	return ""
}
