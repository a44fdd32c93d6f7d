// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/startup"
	"sentinel/internal/testenv"
	"sentinel/platform/unix/hostfile"
)

// The kernel may know more formats than can be told.
func TestFormatsOfProgramsAreBounded(t *testing.T) {
	files := map[string]string{"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:5 / " + binfmtPoint + " rw - binfmt_misc binfmt_misc rw\n"}
	for i := range 10 {
		files[binfmtPoint[1:]+"/f"+strconv.Itoa(i)] = "enabled\ninterpreter /opt/x\n"
	}
	s := newSurvey(Parts{Root: testenv.Plant(t, files)})
	s.ctx = t.Context()
	s.entries = make([]*entry, startup.MaxEntries-3)
	s.handlers()
	want := []startup.Unread{{Path: binfmtPoint + "/f3", Err: startup.ErrTooMany}}
	if len(s.entries) != startup.MaxEntries || len(s.unread) != 7 || !cmp.Equal(want[0].Path, s.unread[0].Path) || !errors.Is(s.unread[0].Err, want[0].Err) {
		t.Errorf("%d entries, unread %v", len(s.entries), s.unread)
	}
}

// Where nobody can tell what is mounted, that is told.
func TestFormatsThatCannotBeReadAreTold(t *testing.T) {
	s := newSurvey(Parts{Root: testenv.Plant(t, map[string]string{"proc/self/mountinfo/": ""})})
	s.ctx = t.Context()
	s.handlers()
	if len(s.unread) != 1 || s.unread[0].Path != binfmtPoint || hostfile.Missing(s.unread[0].Err) {
		t.Errorf("%v", s.unread)
	}
	s = newSurvey(Parts{Root: t.TempDir()})
	s.ctx = t.Context()
	if s.handlers(); len(s.unread) != 0 {
		t.Errorf("%v", s.unread)
	}
}
