// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/audit/filetree"
)

// put makes an empty file of an owner. The owner comes first, since a change of it takes the bits away.
func put(t *testing.T, root, name string, owner int, mode uint32) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, owner, owner); err != nil {
		t.Fatal(err)
	}
	if err := unix.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
}

// accountsOf are the files that say who has a number, and that there is a package manager.
var accountsOf = map[string]string{
	"etc/passwd": "root:x:0:0::/root:/bin/sh\nmallory:x:1000:1000::/home/mallory:/bin/sh\nana:x:1001:1001::/home/ana:/bin/sh\n", "etc/group": "root:x:0:\nmallory:x:1000:\nana:x:1001:\n",
	"var/lib/dpkg/status": "Package: p\nStatus: install ok installed\n", "var/lib/dpkg/info/p.list": "/usr/bin/p\n",
}

// What is too far down to be named is said to be where a command finds it, and no name that a user chose is in that.
func TestAFileThatIsTooFarDownToNameCanBeFound(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	root := served(t)
	for name, text := range accountsOf {
		plant(t, filepath.Join(root, name), []byte(text))
	}
	put(t, root, "srv/x", 0, 0o644)
	dir := testenv.Nested(t, filepath.Join(root, "srv"), strings.Repeat("d", 30)+" ;x", 200)
	file, err := dir.Create("dash")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := errors.Join(file.Chown(0, 0), file.Chmod(0o755|fs.ModeSetuid)); err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f := one(t, "tree.setuid", Parts{Root: root, Owner: 0, EUID: 0, Now: today})
	want := fmt.Sprintf("a long path (sudo find /srv/ -inum %d): mode 4755, owner 0:0, of no package", info.Sys().(*syscall.Stat_t).Ino)
	if f.Status != audit.Fail || !slices.Contains(f.Evidence, want) {
		t.Errorf("%s %s %.200q, want %s", f.Status, f.Reason, f.Evidence, want)
	}
}

// Files of one user hide none of root's and of other users, however many they are and wherever the walk comes first.
func TestFilesOfAUserHideNoneOfOthers(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for n, c := range map[int]struct {
		rest  string
		lines int
	}{6: {"", 8}, 1_500: {"; not all was read: outside of the system: of 1502 files 127 were compared", 127}} {
		root := served(t)
		for name, text := range accountsOf {
			plant(t, filepath.Join(root, name), []byte(text))
		}
		for i := range n {
			put(t, root, fmt.Sprintf("home/mallory/s%d", i), 1000, 0o4711)
		}
		put(t, root, "home/ana/own", 1001, 0o4755)
		put(t, root, "srv/.b", 0, 0o4755)
		f := one(t, "tree.setuid", Parts{Root: root, Owner: 0, EUID: 0, Now: today})
		for _, line := range []string{"/srv/.b: mode 4755, owner 0:0, of no package", "/home/ana/own: mode 4755, owner 1001:1001, of no package, gives away ana alone"} {
			if !slices.Contains(f.Evidence, line) {
				t.Errorf("%d files: no %s", n, line)
			}
		}
		want := fmt.Sprintf("%d programs give away rights and should not%s", c.lines, c.rest)
		if f.Status != audit.Fail || f.Value != want || len(f.Evidence) != c.lines || len(f.Owners) != c.lines || !strings.HasPrefix(f.Evidence[0], "/srv/.b: ") || f.Owners[0] != "" || f.Owners[1] == "" {
			t.Errorf("%d files: %s: %d lines, the first %q %s; want %s", n, f.Value, len(f.Evidence), f.Evidence[:min(len(f.Evidence), 1)], f.Reason, want)
		}
	}
}

// The same of each other list of the walk, which begins below the same bound.
func TestEachListOfAWalkHasRoomForEachOwner(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	root := served(t)
	for name, text := range accountsOf {
		plant(t, filepath.Join(root, name), []byte(text))
	}
	for i := range 600 {
		put(t, root, fmt.Sprintf("usr/lib/app/%d", i), 1000, 0o646)
		put(t, root, fmt.Sprintf("usr/lib/map/%d", i), 100_000+i, 0o644) // of a user's range of numbers
	}
	put(t, root, "usr/lib/z", 0, 0o646)
	put(t, root, "usr/lib/zz", 4242, 0o644)
	for id, want := range map[string]string{
		"tree.world_writable": "/usr/lib/z: mode 0646, owner 0:0", "tree.programs": "/usr/lib/z: mode 0646, owner 0:0", "tree.unowned": "/usr/lib/zz: mode 0644, owner 4242:4242",
	} {
		f := one(t, id, Parts{Root: root, Owner: 0, EUID: 0, Now: today})
		if !slices.Contains(f.Evidence, want) || len(f.Evidence) < maxOfUser || len(f.Evidence) > 3*maxOfUser+2 {
			t.Errorf("%s: %s: %d lines, without %s", id, f.Value, len(f.Evidence), want)
		}
	}
}

// A user has as many numbers as subuid(5) says, and one share with all of them.
func TestSubordinateNumbersAreOfTheirUser(t *testing.T) {
	m := &machine{Parts: Parts{Root: testenv.Plant(t, map[string]string{
		"etc/passwd": "root:x:0:0::/root:/bin/sh\nmallory:x:1500:1500::/home/mallory:/bin/sh\n", "etc/group": "root:x:0:\n",
		"etc/subuid": "mallory:100000:65536\nmallory:1000000:200000\n",
	})}}
	known, err := m.users()
	if err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[int]string{0: "", 1500: "1500", 100_000: "1500", 165_535: "1500", 1_100_000: "1500", 165_536: "165536", 1_200_000: "1200000"} {
		if got := m.owner(uid); got != want {
			t.Errorf("%d: %q, want %q", uid, got, want)
		}
		if want == strconv.Itoa(uid) && uid != 1500 { // of nobody who is known
			want = "unknown " + strconv.Itoa(uid>>16)
		}
		if got := m.ownerOf(known, uint32(uid), 0); got != want {
			t.Errorf("file of %d: %q, want %q", uid, got, want)
		}
	}
}

// What makes root of everyone comes before other rights of the system, and what gives away a user is told as that.
func TestTheGravestProgramComesFirst(t *testing.T) {
	who := localUsers{}
	entry := func(mode, uid, gid uint32) filetree.Entry {
		return filetree.Entry{Mode: filetree.Regular | mode, UID: uid, GID: gid}
	}
	f := judgeSetuid([]foundFile{
		{path: "/a", Entry: entry(0o2755, 0, 42)},
		{path: "/b", Entry: entry(0o4755, 0, 0)},
		{path: "/c", Entry: entry(0o755, 0, 0), caps: 1 << 7},
		{path: "/d", Entry: entry(0o2755, 7, 42), owner: "7"},
		{path: "/e", Entry: entry(0o4755, 7, 7), owner: "7"},
		{path: "/f", Entry: entry(0o2755, 7, 0), owner: "7"},
	}, nil, who)
	want := []string{
		"/b: mode 4755, owner 0:0, of no package", "/c: mode 0755, owner 0:0, cap_setuid, of no package", "/a: mode 2755, owner 0:42, of no package",
		"/f: mode 2755, owner 7:0, of no package", "/d: mode 2755, owner 7:42, of no package", "/e: mode 4755, owner 7:7, of no package, gives away user 7 alone",
	}
	if !slices.Equal(f.Evidence, want) {
		t.Errorf("got %q", f.Evidence)
	}
}
