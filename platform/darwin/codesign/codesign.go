// SPDX-License-Identifier: Apache-2.0

// Package codesign reads who signed programs from codesign(1).
package codesign

import (
	"context"
	"slices"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

const (
	program = "/usr/bin/codesign"
	limit   = 15 * time.Second
)

// A Signature is the answer of codesign about a program.
type Signature struct {
	By      string // the leaf certificate; "" if there is none
	Fault   string // why there is none
	Missing bool   // the program does not exist
}

// Of asks about programs, by their absolute paths, at once. Those about which codesign says nothing
// are not in the result.
func Of(ctx context.Context, runner sysexec.Runner, programs ...string) (map[string]Signature, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: program, Args: append([]string{"-d", "--verbose=2"}, programs...), Timeout: limit})
	if err != nil {
		return nil, err
	}
	return parse(r.Stderr, programs), nil
}

// parse parses the stderr of codesign -d: for each program a line
// "Executable=PATH" followed by others, or "PATH: message". It ignores blocks of programs that
// were not asked about; the first block of a program counts.
func parse(stderr []byte, programs []string) map[string]Signature {
	known := map[string]Signature{}
	current := ""
	for line := range strings.Lines(string(stderr)) {
		line = strings.TrimRight(line, "\r\n")
		if file, ok := strings.CutPrefix(line, "Executable="); ok {
			current = ""
			if slices.Contains(programs, file) {
				current = file
			}
			continue
		}
		if i := slices.IndexFunc(programs, func(p string) bool { return strings.HasPrefix(line, p+": ") }); i >= 0 {
			current = ""
			switch said := strings.TrimPrefix(line, programs[i]+": "); said {
			case "code object is not signed at all":
				known[programs[i]] = Signature{Fault: "not signed"}
			case "No such file or directory":
				known[programs[i]] = Signature{Missing: true}
			}
			continue
		}
		if _, done := known[current]; current == "" || done {
			continue
		}
		if name, ok := strings.CutPrefix(line, "Authority="); ok && isLeaf(name) {
			known[current] = Signature{By: name}
		} else if line == "Signature=adhoc" {
			known[current] = Signature{Fault: "signed ad hoc"}
		}
	}
	return known
}

// isLeaf reports whether a certificate can be the one that signed a program, the first of its
// chain. Those above it belong to an authority, whose name says nothing of who signed.
func isLeaf(name string) bool {
	return name != "" && !strings.HasPrefix(name, "(") && !strings.HasSuffix(name, " Certification Authority") && name != "Apple Root CA"
}
