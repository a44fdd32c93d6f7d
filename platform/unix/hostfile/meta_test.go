// SPDX-License-Identifier: Apache-2.0

package hostfile

import (
	"io/fs"
	"testing"

	"sentinel/internal/posixacl"
)

// What the owner and the group may do is in the mode, for a list that names them too.
func TestOthersAreWhomNeitherOwnerNorGroupIs(t *testing.T) {
	for _, c := range []struct {
		mode  fs.FileMode
		named posixacl.List
		want  fs.FileMode
	}{
		{0o640, nil, 0},
		{0o644, nil, 4},
		{0o640, posixacl.List{{Group: true, ID: 42, Rights: 4}}, 0},
		{0o640, posixacl.List{{Group: true, ID: 43, Rights: 4}}, 4},
		{0o640, posixacl.List{{Group: true, ID: 0, Rights: 4}}, 4},
		{0o660, posixacl.List{{ID: 42, Rights: 6}}, 6},                                       // a user with the number of the group
		{0o660, posixacl.List{{ID: 0, Rights: 6}, {ID: 1000, Rights: 6}}, 0},                 // root and the owner
		{0o660, posixacl.List{{Group: true, ID: 1000, Rights: 2}}, 2},                        // a group with the number of the owner
		{0o661, posixacl.List{{Group: true, ID: 42, Rights: 6}, {ID: 1001, Rights: 4}}, 0o5}, // both ways
	} {
		if got := (Meta{Mode: c.mode, UID: 1000, GID: 42, Named: c.named}).Others(); got != c.want {
			t.Errorf("%v, %v: %o, want %o", c.mode, c.named, got, c.want)
		}
	}
}
