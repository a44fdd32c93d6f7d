// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// signers asks codesign about all programs at once.
func (m *machine) signers(ctx context.Context, s launchItems) (map[string]signature, error) {
	return m.signatures.Get(func() (map[string]signature, error) {
		programs := s.programs(m)
		if len(programs) == 0 {
			return nil, nil
		}
		if len(programs) > maxSigned {
			return nil, errors.New("there are too many launch items")
		}
		r, err := m.runWithin(ctx, 15*time.Second, "/usr/bin/codesign", append([]string{"-d", "--verbose=2"}, programs...)...)
		if err != nil {
			return nil, err
		}
		return parseSignatures(r.Stderr, programs), nil
	})
}

// A signature is the answer of codesign about a program.
type signature struct {
	by      string // the leaf certificate; "" if there is none
	fault   string // why there is none
	missing bool   // the program does not exist
}

// parseSignatures parses the stderr of codesign -d: for each program a line
// "Executable=PATH" followed by others, or "PATH: message". It ignores blocks of programs that
// were not asked about; the first block of a program counts.
func parseSignatures(stderr []byte, programs []string) map[string]signature {
	known := map[string]signature{}
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
				known[programs[i]] = signature{fault: "not signed"}
			case "No such file or directory":
				known[programs[i]] = signature{missing: true}
			}
			continue
		}
		if _, done := known[current]; current == "" || done {
			continue
		}
		if name, ok := strings.CutPrefix(line, "Authority="); ok && isLeaf(name) {
			known[current] = signature{by: name}
		} else if line == "Signature=adhoc" {
			known[current] = signature{fault: "signed ad hoc"}
		}
	}
	return known
}

// isLeaf reports whether a certificate can be the one that signed a program, the first of its
// chain. Those above it belong to an authority, whose name says nothing of who signed.
func isLeaf(name string) bool {
	return name != "" && !strings.HasPrefix(name, "(") && !strings.HasSuffix(name, " Certification Authority") && name != "Apple Root CA"
}
