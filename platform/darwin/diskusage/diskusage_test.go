// SPDX-License-Identifier: Apache-2.0

package diskusage

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec/replay"
)

func TestPlacesOfAMac(t *testing.T) {
	machine, err := replay.OpenMachine("../../../testdata/macs/m4-26/exec")
	if err != nil {
		t.Fatal(err)
	}
	s := New(t.TempDir(), machine)
	for path, want := range map[string]struct {
		path, device  string
		remote, whole bool
		below         int
	}{
		"/":                            {dataVolume, "/dev/disk3s5", false, true, 1},
		"/Users/ana":                   {"/Users/ana", "/dev/disk3s5", false, false, 0},
		"/private/var":                 {"/private/var", "/dev/disk3s5", false, false, 0},
		"/usr/share":                   {"/usr/share", "/dev/disk3s1s1", false, false, 0},
		"/usr/local":                   {"/usr/local", "/dev/disk3s5", false, false, 0},
		"/Volumes":                     {"/Volumes", "/dev/disk3s5", false, false, 2},
		"/Volumes/My Backup/x":         {"/Volumes/My Backup/x", "/dev/disk6s2", false, false, 0},
		"/System/Volumes/Data/home/us": {"/System/Volumes/Data/home/us", "map auto_home", true, false, 0},
	} {
		p, err := s.Place(t.Context(), path)
		if err != nil || p.Path != want.path || p.FileSystem.Device != want.device || p.Remote != want.remote || p.Whole != want.whole || len(p.Below) != want.below {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
	p, err := s.Place(t.Context(), "/")
	if err != nil || p.FileSystem.Err != nil || p.FileSystem.Used != 119021696<<10 || !strings.Contains(p.Note, "sealed") {
		t.Errorf("%+v, %v", p, err)
	}
	names, err := s.Snapshots(t.Context(), p)
	if diff := cmp.Diff([]string{"com.apple.TimeMachine.2026-11-19-081203.local", "com.apple.TimeMachine.2026-11-20-081511.local"}, names); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestSnapshotsNeedTheirHeading(t *testing.T) {
	for raw, want := range map[string]error{"": errNoHeading, "com.apple.x\n": errNoHeading, "usage: tmutil\n": errNoHeading, "Snapshots for disk /:\n": nil, "Snapshots for volume group containing disk /:\n": nil} {
		if names, err := parseSnapshots([]byte(raw)); !errors.Is(err, want) || len(names) != 0 {
			t.Errorf("%q: %q, %v", raw, names, err)
		}
	}
}

func FuzzSnapshots(f *testing.F) {
	f.Add([]byte("Snapshots for disk /:\ncom.apple.TimeMachine.2026-11-19-081203.local\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		names, err := parseSnapshots(raw)
		if err != nil && names != nil {
			t.Errorf("%q, %v", names, err)
		}
		for _, name := range names {
			if !strings.HasPrefix(name, "com.apple.") || strings.ContainsAny(name, " \t\n") || len(name) > len(raw) {
				t.Errorf("%q", name)
			}
		}
	})
}
