// SPDX-License-Identifier: Apache-2.0

package filetree

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/posixacl"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// run runs a program of the test's own preparations.
func run(t *testing.T, program string, args ...string) {
	t.Helper()
	r, err := sysexec.Host{}.Run(t.Context(), sysexec.Command{Path: program, Args: args, Timeout: testenv.HangLimit})
	if err != nil || r.Exit != 0 {
		t.Fatalf("%s: %v, %s", program, err, r.Stderr)
	}
}

// Every user may make a subvolume, which has a device number of its own and is no mount.
func TestWalkEntersSubvolumes(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mkfs, btrfs, mount := testenv.Program(t, "mkfs.btrfs", "btrfs-progs"), testenv.Program(t, "btrfs", "btrfs-progs"), testenv.Program(t, "mount", "mount")
	image := filepath.Join(inMemory(t), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 128<<20); err != nil {
		t.Fatal(err)
	}
	run(t, mkfs, "-q", image)
	r, err := sysexec.Host{}.Run(t.Context(), sysexec.Command{Path: mount, Args: []string{"-o", "loop", image, "/mnt"}, Timeout: testenv.HangLimit})
	testenv.Need(t, err == nil && r.Exit == 0, "btrfs, and loop devices")
	t.Cleanup(func() { unix.Unmount("/mnt", unix.MNT_DETACH) })
	run(t, btrfs, "subvolume", "create", "/mnt/sub")
	run(t, btrfs, "subvolume", "create", "/mnt/sub/inner")
	if err := os.WriteFile("/mnt/sub/inner/x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, sum := gather(t, t.Context(), Tree{Root: "/", Start: []string{"/mnt"}})
	if diff := cmp.Diff([]string{"/mnt", "/mnt/sub", "/mnt/sub/inner", "/mnt/sub/inner/x"}, paths(got)); diff != "" || !sum.Whole() {
		t.Errorf("%+v\n%s", sum, diff)
	}
}

// What was mounted since the table of mounts was read hides a folder no better than what is in it, and what cannot
// be seen below is said.
func TestNothingIsHiddenByWhatAUserMounts(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	root := inMemory(t)
	for _, name := range []string{"user/x", "owned/x", "system/x", "late/x"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", filepath.Join(root, filepath.Dir(name)), "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mount("/dev/null", mkfile(t, root, "file"), "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	below := []string{"/", "/file", "/late", "/late/x", "/user", "/user/x"}
	tree := Tree{Root: root, Start: []string{"/"}, Mounted: map[string]Mount{"/user": OfUser, "/owned": OfSystem, "/system": OfSystem, "/file": OfUser}}
	got, sum := gather(t, t.Context(), tree)
	if diff := cmp.Diff(below, paths(got)); diff != "" || !sum.Whole() {
		t.Errorf("%+v\n%s", sum, diff)
	}
	for _, name := range []string{"owned", "system"} {
		unix.Unmount(filepath.Join(root, name), 0) // its owner is that of the folder below
	}
	if err := os.Chown(filepath.Join(root, "owned"), 1000, 1000); err != nil {
		t.Fatal(err)
	}
	got, sum = gather(t, t.Context(), tree)
	if diff := cmp.Diff(append(slices.Clip(below), "/owned", "/owned/x"), paths(got), sorted); diff != "" || !sum.Whole() {
		t.Errorf("%+v\n%s", sum, diff)
	}
	testenv.Become(t, testenv.Nobody)
	got, sum = gather(t, t.Context(), tree)
	if diff := cmp.Diff([]string{"/"}, paths(got)); diff != "" || sum.Unseen != 3 || sum.Cut {
		t.Errorf("who may not look below: %+v\n%s", sum, diff)
	}
}

// Whom a directory lets in is what it was when the walk came to it, and nobody leads that elsewhere.
func TestWalkTellsWhatOnlyItsOwnerGetsTo(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	root := inMemory(t)
	for _, c := range []struct {
		name     string
		mode     uint32
		uid, gid int
	}{{"root", 0o700, 0, 0}, {"group", 0o750, 0, 0}, {"listed", 0o750, 0, 0}, {"staff", 0o750, 0, 50}, {"open", 0o711, 0, 0}, {"user", 0o700, 1000, 1000}} {
		dir := filepath.Join(root, c.name)
		mkfile(t, root, c.name+"/sub/x")
		if err := os.Chown(dir, c.uid, c.gid); err != nil {
			t.Fatal(err)
		}
		if err := unix.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
	}
	let(t, filepath.Join(root, "listed"), 1000)
	for name, closed := range map[string]bool{"root": true, "group": true, "listed": false, "staff": false, "open": false, "user": false} {
		for _, start := range []string{"/", "/" + name, "/" + name + "/sub"} {
			got, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{start}})
			if e, seen := got["/"+name+"/sub/x"]; !seen || e.Closed != closed || !sum.Whole() {
				t.Errorf("%s from %s: %v, %+v, %+v", name, start, seen, e, sum)
			}
			got, sum = gather(t, t.Context(), Tree{Root: root, Start: []string{start}, Reachable: true})
			if _, seen := got["/"+name+"/sub/x"]; seen == closed || !sum.Whole() {
				t.Errorf("%s from %s, of what others get to: seen %v, %+v", name, start, seen, sum)
			}
		}
	}
	if err := os.Symlink("root", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]struct{ closed, fails bool }{"/root/sub": {true, false}, "/open/sub": {}, "/": {}, "/link/sub": {false, true}, "/none": {false, true}} {
		if closed, err := OnlyOwner(root, dir, 0); closed != want.closed || (err != nil) != want.fails {
			t.Errorf("%s: %v, %v", dir, closed, err)
		}
	}
}

// let lets a user enter a directory of mode 0750 by an access control list.
func let(t *testing.T, dir string, user uint32) {
	t.Helper()
	raw := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range [][3]uint32{{1, 7, 0xffffffff}, {2, 1, user}, {4, 5, 0xffffffff}, {0x10, 5, 0xffffffff}, {0x20, 0, 0xffffffff}} {
		raw = binary.LittleEndian.AppendUint32(raw, e[0]|e[1]<<16)
		raw = binary.LittleEndian.AppendUint32(raw, e[2])
	}
	err := posixacl.Write(dir, raw)
	testenv.Need(t, !errors.Is(err, unix.ENOTSUP), "a file system with access control lists")
	if err != nil {
		t.Fatal(err)
	}
}

func mkfile(t *testing.T, root, name string) string {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// sorted has lists compared in order.
var sorted = cmp.Transformer("sorted", func(list []string) []string { return slices.Sorted(slices.Values(list)) })
