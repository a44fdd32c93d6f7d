// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/platform/linux/audit/filetree"
	"sentinel/platform/unix/stuck"
)

// Where a program was found, the walk has seen. A user who has put a link in the way since does not have it taken for
// one that only root gets to.
func TestNobodyLeadsTheVerdictElsewhere(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	root := served(t)
	for name, text := range accountsOf {
		plant(t, filepath.Join(root, name), []byte(text))
	}
	put(t, root, "srv/mallory/p/root/sh", 0, 0o4755)
	put(t, root, "root/kept/sh", 0, 0o4755)
	put(t, root, "srv/kept/sh", 0, 0o4755)
	for _, dir := range []string{"root", "srv/kept"} {
		if err := os.Chmod(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	m := &machine{Parts: Parts{Root: root, Owner: 0, EUID: 0, Now: today}}
	for _, walk := range []func() (*walkResult, error){func() (*walkResult, error) { return m.walkSystem(t.Context()) }, func() (*walkResult, error) { return m.walkRest(t.Context()) }} {
		if r, err := walk(); err != nil || !r.sum.Whole() {
			t.Fatal(err, r)
		}
	}
	p := filepath.Join(root, "srv/mallory/p")
	if err := os.Symlink("../..", p+"2"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Renameat2(unix.AT_FDCWD, p, unix.AT_FDCWD, p+"2", unix.RENAME_EXCHANGE); err != nil {
		t.Fatal(err)
	}
	f := setuid(t.Context(), m)
	if diff := cmp.Diff([]string{"/srv/mallory/p/root/sh: mode 4755, owner 0:0, of no package"}, f.Evidence); f.Status != audit.Fail || diff != "" {
		t.Errorf("%s %s\n%s", f.Status, f.Reason, diff)
	}
}

// A directory that a user keeps from being read hides no program that gives away rights in another, and takes away no
// more than that all was looked at. So does one on the way to where files are mounted once more.
func TestAFolderThatIsHeldHidesNoProgram(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	const root, mallory = "/srv", 1000
	if err := unix.Mount("m", root, "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	for name, text := range accountsOf {
		plant(t, filepath.Join(root, name), []byte(text))
	}
	plant(t, root+"/proc/self/mountinfo", []byte("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:1 /home/mallory/new /mnt rw - ext4 /dev/sda1 rw\n"))
	plant(t, root+"/run/keep", nil)
	put(t, root, "home/mallory/x", mallory, 0o644)
	put(t, root, "home/ana/sh", 0, 0o4755)
	if err := os.Chown(root+"/home/mallory", mallory, mallory); err != nil {
		t.Fatal(err)
	}
	release := deadfuse.Hold(t, mallory, root+"/home/mallory")
	m := &machine{Parts: Parts{Root: root, Owner: 0, EUID: 0, Now: today}}
	var st unix.Stat_t
	if err := unix.Stat(root+"/home/mallory", &st); err != nil {
		t.Fatal(err)
	}
	if !m.closed(t.Context(), "/home/mallory/new") || !stuck.Noted(root, stuck.Directory(st.Dev, st.Ino)) {
		t.Error("what a look before the walk waits for is not noted")
	}
	f := setuid(t.Context(), m)
	if f.Status != audit.Fail || len(f.Evidence) == 0 || f.Evidence[0] != "/home/ana/sh: mode 4755, owner 0:0, of no package" {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(f.Value, `such as "/home/mallory" of user 1000`) {
		t.Errorf("not named: %s", f.Value)
	}
	if err := os.Remove(root + "/home/ana/sh"); err != nil {
		t.Fatal(err)
	}
	m = &machine{Parts: m.Parts}
	if f := setuid(t.Context(), m); f.Status == audit.Pass || f.Status == audit.Fail || !strings.Contains(f.Reason, `such as "/home/mallory" of user 1000`) {
		t.Errorf("without a program: %+v", f)
	}
	release()
}

// A file system that a user has mounted something over is not walked, which is said.
func TestWhatAUserMountsOverAFileSystemIsSaid(t *testing.T) {
	const root, disk = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n", "2 1 8:2 / /srv/disk rw - ext4 /dev/sdb1 rw\n"
	const by = " rw,nosuid,nodev - fuse.x x rw,user_id="
	for what, c := range map[string]struct {
		table   string
		at      filetree.Mount // at /srv/h
		covered int
	}{
		"nothing":                   {disk, filetree.Nothing, 0},
		"over a folder":             {disk + "3 1 0:9 / /srv/h" + by + "1000\n", filetree.OfUser, 0},
		"by root":                   {disk + "3 1 0:9 / /srv/h" + by + "0\n", filetree.OfSystem, 0},
		"a disk":                    {disk + "3 1 8:3 / /srv/h rw - ntfs3 /dev/sdc1 rw\n", filetree.OfSystem, 0},
		"a disk over that":          {disk + "3 1 0:9 / /srv/h" + by + "1000\n4 3 8:3 / /srv/h rw - ntfs3 /dev/sdc1 rw\n", filetree.OfUser, 0},
		"over the disk":             {disk + "3 2 0:9 / /srv/disk" + by + "1000\n", filetree.Nothing, 1},
		"over a folder on the way":  {disk + "3 1 0:9 / /srv" + by + "1000\n", filetree.Nothing, 1},
		"over the disk, of root's":  {disk + "3 2 0:9 / /srv/disk" + by + "0\n", filetree.Nothing, 0},
		"over what is mounted thus": {strings.Replace(disk, " rw ", " rw,nosuid ", 1) + "3 2 0:9 / /srv/disk" + by + "1000\n", filetree.Nothing, 0},
	} {
		table, err := tableOf(t, root+c.table)
		if err != nil {
			t.Fatal(err)
		}
		if got := mountedIn(table)["/srv/h"]; got != c.at {
			t.Errorf("%s: at /srv/h: %v", what, got)
		}
		planted := served(t)
		plant(t, filepath.Join(planted, "proc/self/mountinfo"), []byte(root+c.table))
		m := &machine{Parts: Parts{Root: planted, Owner: os.Geteuid(), EUID: os.Geteuid(), Now: today}}
		r, err := m.walkRest(t.Context())
		if err != nil || r.covered != c.covered || r.sum.Unseen != 0 {
			t.Errorf("%s: %v, covered %d, unseen %d", what, err, r.covered, r.sum.Unseen)
		}
		if says := r.incomplete(); (says == "file systems that users have mounted something over: 1") != (c.covered > 0) {
			t.Errorf("%s: %q", what, says)
		}
	}
}
