// SPDX-License-Identifier: Apache-2.0

// Package codesign reads who signed programs, and whether that is so, from codesign(1).
package codesign

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

const (
	program   = "/usr/bin/codesign"
	limit     = 15 * time.Second // of both runs
	maxOutput = 512 << 10
)

// ErrUnverified reports that codesign names a signer and does not say whether the signature is valid.
var ErrUnverified = errors.New("codesign names a signer and does not verify the signature")

// A Signature is the answer of codesign about a program.
type Signature struct {
	By       string // the leaf certificate, which anybody can have named so; "" if there is none
	Verified bool   // the signature is valid, and Apple vouches for the certificate
	Fault    string // why nobody answers for the program; "" if somebody does, or it is not known
	Missing  bool   // the program does not exist
}

// Of asks about programs, by their absolute paths, at once. Those about which codesign says nothing
// are not in the result. codesign -d prints the certificates of a signature without a look at them, so a
// second run verifies what was signed, without the other files of an application, and that Apple's root
// certificate vouches for the signer ("anchor apple generic" of the code signing requirement language).
func Of(ctx context.Context, runner sysexec.Runner, programs ...string) (map[string]Signature, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	run := func(args ...string) (sysexec.Result, error) {
		return runner.Run(ctx, sysexec.Command{Path: program, Args: append(args, programs...), Timeout: limit, MaxOutput: maxOutput})
	}
	shown, err := run("-d", "--verbose=2")
	if err != nil {
		return nil, err
	}
	known := parse(shown.Stderr, programs)
	if verified, err := run("--verify", "--verbose=2", "--ignore-resources", "-R=anchor apple generic"); err == nil {
		verify(known, verified.Stderr)
	}
	return known, nil
}

// What codesign --verify says of a program that it found in order, in this order. The last one is left
// out where another line says "test-requirement: code failed to satisfy specified code requirement(s)".
const (
	valid       = "valid on disk"
	satisfies   = "satisfies its Designated Requirement"
	trusted     = "explicit requirement satisfied"
	notTrusted  = "test-requirement: "
	anySigner   = "signed with a certificate that Apple does not vouch for"
	maxSentence = 100
)

// verify adds what codesign --verify said on stderr to the signatures that name somebody: "PATH: message".
func verify(known map[string]Signature, stderr []byte) {
	current := ""
	for line := range strings.Lines(string(stderr)) {
		line = strings.TrimRight(line, "\r\n")
		if s, of := known[current]; of && strings.HasPrefix(line, notTrusted) {
			s.Fault = anySigner
			known[current] = s
			continue
		}
		file := ""
		for one := range known { // the longest, because a name may go on as a message does
			if len(one) > len(file) && strings.HasPrefix(line, one+": ") {
				file = one
			}
		}
		s := known[file]
		if s.By == "" {
			continue
		}
		current = file
		switch said := strings.TrimPrefix(line, file+": "); said {
		case valid, satisfies:
		case trusted:
			s.Verified = true
		default:
			s.Fault = "signed, but not in order (" + said[:min(len(said), maxSentence)] + ")"
		}
		known[file] = s
	}
	for file, s := range known {
		s.Verified = s.Verified && s.Fault == ""
		known[file] = s
	}
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
