// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"

	"sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
)

// Only what root records of logins counts: neither that a user has services, nor a session of no person.
func TestWhoDescendsFromALogin(t *testing.T) {
	for what, c := range map[string]struct {
		group string
		uid   int
		want  bool
	}{
		"a session of a person":                {"/user.slice/user-1000.slice/session-3.scope", 1000, true},
		"another user in it, by su":            {"/user.slice/user-1000.slice/session-3.scope", 1001, true},
		"root in it, by sudo":                  {"/user.slice/user-1000.slice/session-3.scope", 0, true},
		"a session of cron":                    {"/user.slice/user-1000.slice/session-4.scope", 1000, false},
		"one that ended":                       {"/user.slice/user-1000.slice/session-5.scope", 1000, false},
		"a service of somebody who is here":    {"/user.slice/user-1000.slice/user@1000.service/app.slice/code.scope", 1000, true},
		"somebody else in it":                  {"/user.slice/user-1000.slice/user@1000.service/app.slice/code.scope", 33, false},
		"a service of somebody who lingers":    {"/user.slice/user-54321.slice/user@54321.service/app.slice/x.service", 54321, false},
		"one named like a session":             {"/user.slice/user-54321.slice/user@54321.service/session-3.scope", 54321, false},
		"a service of the system":              {"/system.slice/apache2.service", 33, false},
		"a group that is named like a session": {"/system.slice/x.service/user.slice/user-1000.slice/session-3.scope", 1000, false},
		"a path in place of a name":            {"/user.slice/user-1000.slice/session-../sessions/3.scope", 1000, false},
	} {
		root := t.TempDir()
		for name, text := range map[string]string{
			"proc/7/cgroup":          "0::" + c.group + "\n",
			"proc/7/stat":            "7 (x) S 1 7 7 34817 7 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
			"run/systemd/sessions/3": "UID=1000\nUSER=ann\nCLASS=user\nTTY=pts/1\n",
			"run/systemd/sessions/4": "UID=1000\nUSER=ann\nCLASS=background\n",
			"run/systemd/users/1000": "NAME=ann\nSTATE=active\nSESSIONS=4 3\n", "run/systemd/users/54321": "NAME=x\nSTATE=lingering\nSESSIONS=\n",
		} {
			file := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := New(root).loggedIn(processes.Claim{PID: 7, UserID: c.uid}); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// Programs that any user can run record a login at a terminal of theirs. What counts is that root's program that lets
// people in is above, too.
func TestARecordOfALoginIsNoLogin(t *testing.T) {
	self := strconv.Itoa(os.Getuid())
	const ann, away = "54321", "pts/9"
	for what, c := range map[string]struct {
		above, uid, at string
		want           bool
	}{
		"below sshd of root":              {"/usr/sbin/sshd", self, "pts/1", true},
		"below the part of a session":     {"/usr/lib/openssh/sshd-session", self, "pts/1", true},
		"below login":                     {"/bin/login", self, "pts/1", true},
		"at another terminal":             {"/usr/sbin/sshd", self, away, false},
		"a job of cron":                   {"/usr/sbin/cron", self, "pts/1", false},
		"below a server of the user's":    {"/usr/sbin/sshd", ann, "pts/1", false},
		"below a program that has a name": {"/home/sshd", self, "pts/1", false},
	} {
		root := testenv.Plant(t, map[string]string{
			"etc/passwd": "ann:x:" + ann + ":1::/:/bin/sh\n", "run/utmp": recordOf(c.at, "ann"),
			"usr/sbin/sshd": "", "usr/lib/openssh/sshd-session": "", "bin/login": "", "usr/sbin/cron": "", "home/sshd": "",
			"proc/7/cgroup": "0::/\n", "proc/7/stat": statAt(7, 6), "proc/6/stat": statAt(6, 5), "proc/5/stat": statAt(5, 1), "proc/1/stat": statAt(1, 0),
			"proc/5/status": "Uid:\t" + c.uid + "\t" + c.uid + "\t" + c.uid + "\t" + c.uid + "\n", "proc/6/status": "Uid:\t" + ann + "\t0\t0\t0\n",
		})
		err := errors.Join(os.Chmod(filepath.Join(root, "home"), 0o777), os.Symlink(c.above, filepath.Join(root, "proc/5/exe")), os.Symlink(c.above, filepath.Join(root, "proc/6/exe")))
		if err != nil {
			t.Fatal(err)
		}
		if got := New(root).loggedIn(processes.Claim{PID: 7, UserID: 54321}); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// statAt is a process at pts/1.
func statAt(pid, parent int) string {
	return fmt.Sprintf("%d (x) S %d 7 7 34817 7 0 0 0 0 0 0 0 0 0 20 0 1 0 5%s\n", pid, parent, strings.Repeat(" 0", 31))
}

// recordOf is a record of utmp(5) of a login that goes on, for this machine.
func recordOf(terminal, user string) string {
	size, seconds := 400, 344
	if slices.Contains([]string{"amd64", "386", "arm"}, runtime.GOARCH) {
		size, seconds = 384, 340
	}
	b := make([]byte, size)
	binary.NativeEndian.PutUint16(b, 7)
	copy(b[8:], terminal)
	copy(b[44:], user)
	binary.NativeEndian.PutUint32(b[seconds:], 1e9)
	return string(b)
}

// Who can put a file where a program was is not excused by one.
func TestWhoCanPutAFileInPlaceOfAnother(t *testing.T) {
	for what, c := range map[string]struct {
		dir  procfs.Held
		want bool
	}{
		"root's":                   {procfs.Held{Mode: 0o755}, false},
		"one's own, write or not":  {procfs.Held{Mode: 0o555, UID: 33}, true},
		"everybody's":              {procfs.Held{Mode: 0o1777}, true},
		"of a group that one has":  {procfs.Held{Mode: 0o2775, UID: 1000, GID: 44}, true},
		"of another group":         {procfs.Held{Mode: 0o2775, UID: 1000, GID: 50}, false},
		"of one that cannot write": {procfs.Held{Mode: 0o755, UID: 1000, GID: 44}, false},
	} {
		if got := canWrite(c.dir, 33, func(gid int) bool { return gid == 33 || gid == 44 }); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// In a user namespace a process gives itself groups, and the other IDs of its user; a browser has its programs in one,
// and they are replaced while they run.
func TestWhoIsInAUserNamespaceMayBeInAnyGroup(t *testing.T) {
	user := os.Getuid()
	testenv.Need(t, user == 0 || !procfs.SystemAccount(user), "root, or somebody with an ordinary account")
	for what, c := range map[string]struct {
		mode fs.FileMode
		own  bool
		want bool
	}{
		"a folder of packages": {0o755, false, true},
		"one of a group":       {0o775, false, false},
		"one of its user's":    {0o755, true, false},
	} {
		own := user
		if user == 0 {
			own = 1000
		}
		etc := map[string]string{"opt/app/app": "", "etc/passwd": fmt.Sprintf("eve:x:%d:1::/:/bin/sh\n", own), "etc/subuid": "eve:100000:65536\n", "proc/7/x": ""}
		root := testenv.Plant(t, etc)
		dir := filepath.Join(root, "opt/app")
		err := errors.Join(os.Chmod(dir, c.mode), os.Mkdir(root+"/proc/7/ns", 0o755), os.Symlink("user:[1]", root+"/proc/7/ns/user"))
		if c.own && user == 0 {
			err = errors.Join(err, os.Chown(dir, own, own))
		}
		if err != nil {
			t.Fatal(err)
		}
		of := 100_005
		if user != 0 && !c.own { // whose all these folders are
			of = 300_000
		}
		if got := New(root).deployed(processes.Claim{PID: 7, UserID: of, Program: "/opt/app/app", Replaced: true}); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// Whoever moves a mount to a path that is too long to tell, or what it shows, is not taken to run a program elsewhere.
func TestAPlaceThatIsTooLongToTell(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "proc/7"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(root, "proc/7/root")); err != nil {
		t.Fatal(err)
	}
	here := []*mountinfo.Info{{ID: 1, Major: 8, Minor: 1, Root: "/", Mountpoint: "/"}}
	for what, c := range map[string]struct {
		m    mountinfo.Info
		want processes.Place
	}{
		"in a temporary directory": {mountinfo.Info{Major: 8, Minor: 1, Root: "/tmp/x", Mountpoint: "/opt"}, processes.PlaceTemporary},
		"elsewhere":                {mountinfo.Info{Major: 8, Minor: 1, Root: "/srv", Mountpoint: "/opt"}, ""},
		"an unknown mount point":   {mountinfo.Info{Major: 8, Minor: 1, Root: "/srv"}, processes.PlaceUnknown},
		"an unknown root":          {mountinfo.Info{Major: 8, Minor: 1, Mountpoint: "/opt"}, processes.PlaceUnknown},
	} {
		if got := New(root).placeIn(7, &c.m, "/opt/program", here); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}
