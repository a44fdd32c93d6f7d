// SPDX-License-Identifier: Apache-2.0

package authkeys

import (
	"bytes"
	"fmt"
	"strings"
)

// A Principal is a name that a certificate may have to let in.
type Principal struct {
	Name    string
	Options string // as those of a key; empty for none
}

// Principals returns the names of the files with principals (AuthorizedPrincipalsFile of sshd_config(5)), as
// [Patterns] does those of the files with keys; none are usual.
func Principals(root string) ([]string, error) { return patterns(root, "authorizedprincipalsfile", "") }

// ParsePrincipals returns the principals of a file, at most as many as keys. The error says how many more there are.
// The last word of a line is the name, as for sshd (auth2-pubkeyfile.c).
func ParsePrincipals(raw []byte) (list []Principal, err error) {
	more := 0
	for line := range bytes.Lines(raw) {
		text, _, _ := strings.Cut(string(line), "#")
		text = strings.TrimSpace(text)
		at := strings.LastIndexAny(text, " \t") + 1
		switch {
		case text == "":
		case len(list) == maxKeys:
			more++
		default:
			list = append(list, Principal{text[at:], strings.TrimSpace(text[:at])})
		}
	}
	if more > 0 {
		err = fmt.Errorf("principals beyond the first %d: %d", maxKeys, more)
	}
	return list, err
}
