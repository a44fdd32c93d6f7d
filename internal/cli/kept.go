// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"strconv"
	"strings"
)

// kept is the file with what a run saw, for the next run of the same user; "" where none is kept. Users
// behind sudo have files of their own: whoever may run a tool would otherwise age what is new, such as
// the key that they have just planted, for all others and for root, by running it.
func (s session) kept(name string) string {
	if !s.root || !s.host.Live {
		return ""
	}
	if limited(s.who) {
		kind := filepath.Ext(name)
		name = strings.TrimSuffix(name, kind) + "-" + strconv.Itoa(*s.who.SudoUID) + kind
	}
	return filepath.Join(s.stateDir, name)
}
