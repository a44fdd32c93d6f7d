// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"os"
	"testing"
)

func TestAUserIDBelongsToTheOwnerOfItsRange(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{
		"/etc/passwd": "root:x:0:0::/:/bin/sh\nann:x:1000:1000::/:/bin/sh\nbob:x:1001:1001::/:/bin/sh\nreal:x:200005:1::/:/bin/sh\npodman:x:990:990::/:/bin/sh\n",
		"/etc/subuid": "# comment\nbob:165536:65536\nann:100000:65536\nann:300000:10\nann:bad:1\n1002:400000:65536\n" +
			"elsewhere:500000:100\nelsewhere:600000:100\nroot:700000:100\npodman:800000:100\nreal:200000:10\n",
	}
	if err := os.Mkdir(root+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(root+name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	users := accountsOf(root)
	for uid, want := range map[int]int{
		0: 0, 999: 999, nobody: nobody, unknownUser: unknownUser, 1000: 1000, 4711: 4711,
		99_999: 99_999, 100_000: 1000, 165_535: 1000, 165_536: 1001, 300_009: 1000, 300_010: 300_010, 400_000: 1002,
		500_099: 500_000, 600_000: 500_000, 700_099: 700_000, 800_000: 800_000, 1 << 31: 1 << 31,
		200_005: 200_005, 200_006: 200_005, // an account of its own, in a range
	} {
		if got := users.of(uid); got != want {
			t.Errorf("%d belongs to %d, want %d", uid, got, want)
		}
	}
	proc := New(root)
	for uid, want := range map[int]bool{0: false, 999: false, nobody: false, unknownUser: false, 61_184: false, 65_519: false, 1000: true, 4711: true, 61_183: true, 65_520: true, 100_000: true} {
		if got := proc.OrdinaryUser(uid); got != want {
			t.Errorf("%d is a user's: %v", uid, got)
		}
	}
	if err := os.WriteFile(root+"/etc/subuid", []byte("ann:62000:10\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if proc := New(root); !proc.OrdinaryUser(62_000) || proc.OrdinaryUser(62_010) {
		t.Error("who has IDs that systemd lends to services is not told by subuid(5)")
	}
	if got := accountsOf(t.TempDir()).of(100_000); got != 100_000 {
		t.Errorf("without the files it belongs to %d", got)
	}
}
