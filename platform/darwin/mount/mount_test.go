// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

func TestRecordedOutputs(t *testing.T) {
	for _, r := range testenv.RecordedOutputs(t, "mount") {
		mounts := Parse(r.Raw)
		for line := range strings.Lines(string(r.Raw)) {
			device, rest, _ := strings.Cut(line, " on / (")
			if rest == "" {
				continue
			}
			m, found := mounts[Key{device, "/"}]
			if !found || m.ReadOnly != strings.Contains(rest, "read-only") || len(mounts) != strings.Count(string(r.Raw), " on /") {
				t.Errorf("%s: %d mounts, %+v", r.Name, len(mounts), m)
			}
		}
	}
}

func TestNamesMayHoldWhatSurroundsThem(t *testing.T) {
	mounts := Parse([]byte("/dev/disk5s1 on /Volumes/My (old) disk (hfs, local, read-only)\nmap auto_home on /System/Volumes/Data/home (autofs, automounted)\nno mount\n/dev/disk6 on /x (cut\n"))
	if m := mounts[Key{"/dev/disk5s1", "/Volumes/My (old) disk"}]; m != (Entry{"hfs", true, true}) || len(mounts) != 2 {
		t.Errorf("%+v", mounts)
	}
}

// A prints is a Runner with one output.
type prints sysexec.Result

func (p prints) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Timeout == 0 {
		return sysexec.Result{}, errors.New("no limit")
	}
	return sysexec.Result(p), nil
}

func TestNoTableIsAFailure(t *testing.T) {
	for _, text := range []string{"", "Das ist nicht erlaubt.\n"} {
		if table, err := Read(t.Context(), prints{Stdout: []byte(text)}); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v, %v", text, table, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("/dev/disk1s1 on /a (b) (apfs, read-only)\n")
	f.Fuzz(func(t *testing.T, text string) {
		for p := range Parse([]byte(text)) {
			if strings.Contains(p.Device, "\n") {
				t.Errorf("accepted %+v", p)
			}
		}
	})
}
