// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"bytes"

	"sentinel/internal/clients"
)

// own says that an entry is the one of ours that --install writes.
func own(e entry) bool { return e.project == "" && e.name == name }

// unguarded returns a configuration with our entry out from behind the guard, and the program of
// that guard, "" where it is behind none.
func unguarded(raw []byte, c clients.Client) (before []byte, guard string, err error) {
	t, entries, err := entriesOf(raw, c)
	if err != nil {
		return nil, "", err
	}
	for _, e := range entries {
		s := t.server(e)
		if own(e) && s.Wrapped && clients.IsOurs(s.Behind[0]) {
			return []byte(t.mark + spliced(t.raw, t.unwrap(e))), s.Guard, nil
		}
	}
	return raw, "", nil
}

// guarded returns a configuration with our entry behind the guard at program.
func guarded(raw []byte, c clients.Client, program string) ([]byte, error) {
	after, _, err := rewrap(raw, c, func(t text, e entry) []splice {
		if !own(e) {
			return nil
		}
		return t.wrap(e, program)
	})
	return after, err
}

// behindAsBefore says that after only lacks what somebody has added to the guard's arguments.
func behindAsBefore(before, after []byte, c clients.Client) bool {
	was, guardBefore, err := unguarded(before, c)
	is, guardAfter, errAfter := unguarded(after, c)
	return err == nil && errAfter == nil && guardBefore == guardAfter && bytes.Equal(was, is)
}
