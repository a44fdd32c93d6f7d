// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"

	"sentinel/internal/health"
	"sentinel/internal/sysexec/replay"
	"sentinel/platform/darwin/mount"
)

func TestZombiesAreCountedByState(t *testing.T) {
	const head = "  PID STAT\n"
	for rows, want := range map[string]float64{"    1 Ss\n  22 Z\n23 R+\n24 ZN\n25 UZ\n": 2, "1 S\n": 0} {
		if got, err := countZombies([]byte(head + rows)); err != nil || got.Value != want {
			t.Errorf("%q: %v, %v", rows, got, err)
		}
	}
	for _, raw := range []string{"", "\n", head, "1 S\n", head + "1 S\n22 Z", head + "1 S\n22\n", head + "1 S\nps: a message\n", head + "x S\n"} {
		if got, err := countZombies([]byte(raw)); err == nil {
			t.Errorf("%q: %v", raw, got)
		}
	}
}

// A value that macOS does not report is an error, never 0.
func TestFiguresOfAMac(t *testing.T) {
	machine, err := replay.OpenMachine("../../../testdata/macs/m4-26/exec")
	if err != nil {
		t.Fatal(err)
	}
	readers := Sources(Mac{Runner: machine}).Figures
	for key, want := range map[string]float64{health.ZombieProcesses: 1, health.ReadOnlyFileSystems: 0} {
		if got, err := readers[key](t.Context()); err != nil || got.Value != want {
			t.Errorf("%s is %v, %v", key, got, err)
		}
	}
	for _, key := range []string{health.ClockUnsynchronized, health.ClockOffset} {
		if got, err := readers[key](t.Context()); err == nil {
			t.Errorf("%s is %v", key, got)
		}
	}
}

func TestReadOnlyDataVolumeIsNoted(t *testing.T) {
	const head = "/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)\n/dev/disk5s1 on /Volumes/Tool (hfs, local, read-only)\n"
	for options, want := range map[string]bool{"apfs, local, journaled": false, "apfs, local, read-only, journaled": true} {
		mounts := mount.Parse([]byte(head + "/dev/disk3s5 on /System/Volumes/Data (" + options + ")\n"))
		if got := readOnlyIn(mounts); (got.Value == 1) != want || len(got.Names) != int(got.Value) {
			t.Errorf("%s: %+v", options, got)
		}
	}
}
