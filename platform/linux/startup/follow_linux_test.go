// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// A link of /proc leads to whatever a process has open: none is followed, should one come to lie on the way.
func TestNoLinkOfProcIsFollowed(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"x.service": "", "d/": ""})
	for place, want := range map[string]error{root: nil, "/proc/self/root" + root: unix.ELOOP} {
		s, set := newSurvey(Parts{Root: place}), newUnitSet(commonSpecifiers())
		if _, err := s.resolve("/x.service"); !errors.Is(err, want) {
			t.Errorf("%s: %v", place, err)
		}
		s.dirs["/d"] = "/d"
		s.unitFile(set, "/x.service", "x.service")
		if followed := want == nil; s.isDirectory("/d") != followed || (set.files["x.service"] != "") != followed {
			t.Errorf("%s: %v", place, set.files)
		}
	}
}
