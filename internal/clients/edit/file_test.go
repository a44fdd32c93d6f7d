// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"sentinel/internal/clients"
	"sentinel/internal/fault"
	"sentinel/internal/testenv"
)

const plain = "{\n  \"mcpServers\": {\n    \"b\": {}\n  }\n}\n"

// refused says that err has the code and that its message and its fix say so.
func refused(t *testing.T, err error, code fault.Code, message, fix string) {
	t.Helper()
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != code || !strings.Contains(e.Message, message) || !strings.Contains(e.Fix, fix) {
		t.Errorf("error %+v, want %s with %q and the fix %q", err, code, message, fix)
	}
}

func TestDryRunShowsTheChangeAndMakesNone(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	change, err := Install(t.Context(), u, c, example, true)
	if err != nil || !change.Changed || change.Line != 1 || len(entries(t, u.Home)) != 0 {
		t.Errorf("%+v, %v, %v", change, err, entries(t, u.Home))
	}
	put(t, c.File(u), plain)
	change, err = Install(t.Context(), u, c, example, true)
	if err != nil || content(t, c.File(u)) != plain || len(entries(t, filepath.Dir(c.File(u)))) != 1 {
		t.Fatalf("%+v, %v", change, err)
	}
	want := c.File(u) + ", line 3:\n+ ,\n+     \"sentinel\": {\n+       \"command\": \"/usr/local/bin/sentinel-mcp\",\n+       \"args\": []\n+     }\n"
	if change.String() != want {
		t.Errorf("%s\nwant %s", change, want)
	}
	if change.Backup != c.File(u)+".before-sentinel" {
		t.Errorf("backup %q", change.Backup)
	}
}

// A configuration in one line holds every key of its user in that line.
func TestChangeShowsNothingOfOthers(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "claude-code")
	put(t, c.File(u), `{"oauth":"secret","mcpServers":{"b":{"env":{"KEY":"secret"}}},"z":"secret"}`)
	change, err := Install(t.Context(), u, c, example, true)
	if err != nil || strings.Contains(change.String(), "secret") || !strings.Contains(change.String(), `"sentinel":{"type":"stdio"`) {
		t.Errorf("%s, %v", change, err)
	}
}

func TestModeIsKeptAndTheBackupIsForItsOwnerAlone(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o640, 0o644, 0o664} {
		u, c := person(t, "linux", nil), client(t, "claude-code")
		put(t, c.File(u), plain)
		if err := os.Chmod(c.File(u), mode); err != nil {
			t.Fatal(err)
		}
		change, err := Install(t.Context(), u, c, example, false)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]os.FileMode{c.File(u): mode, change.Backup: 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
			}
		}
	}
}

func TestGroupIsKept(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "claude-code")
	put(t, c.File(u), plain)
	err := os.Chown(c.File(u), -1, 12345)
	testenv.Need(t, err == nil, "root, to give a file to a group it is not in")
	if _, err := Install(t.Context(), u, c, example, false); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(c.File(u))
	if err != nil || info.Sys().(*syscall.Stat_t).Gid != 12345 {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestLinkIsFollowedAndStays(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	real := filepath.Join(u.Home, "dotfiles", "cursor.json")
	put(t, real, plain)
	if err := os.MkdirAll(filepath.Dir(c.File(u)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../dotfiles/cursor.json", c.File(u)); err != nil {
		t.Fatal(err)
	}
	change, err := Install(t.Context(), u, c, example, false)
	if err != nil || !strings.Contains(content(t, real), "sentinel-mcp") {
		t.Fatalf("%+v, %v", change, err)
	}
	if names := entries(t, filepath.Dir(real)); len(names) != 1 {
		t.Errorf("beside the real file: %v", names) // a directory that may be published
	}
	if _, err := os.Readlink(c.File(u)); err != nil {
		t.Error(err)
	}
	if _, err := Uninstall(t.Context(), u, c, false); err != nil || content(t, real) != plain {
		t.Errorf("%q, %v", content(t, real), err)
	}
	if _, err := os.Readlink(c.File(u)); err != nil {
		t.Error(err)
	}
}

func TestDirThatIsALinkIsFollowed(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	if err := os.Mkdir(filepath.Join(u.Home, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(u.Home, ".cursor")); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(t.Context(), u, c, example, false); err != nil {
		t.Fatal(err)
	}
	content(t, filepath.Join(u.Home, "real", "mcp.json"))
}

func TestWhatIsNoConfigurationIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		prepare      func(path string) error
		code         fault.Code
		message, fix string
	}{
		"link to nowhere":  {func(p string) error { return os.Symlink("/no/such/file", p) }, fault.ConfigInvalid, "leads to /no/such/file, which is not there", "remove the link"},
		"link in a circle": {func(p string) error { return os.Symlink(p, p) }, fault.Unavailable, "cannot be read", "ls -l"},
		"folder":           {func(p string) error { return os.Mkdir(p, 0o700) }, fault.ConfigInvalid, "is not a regular file", "remove it"},
		"pipe":             {func(p string) error { return syscall.Mkfifo(p, 0o600) }, fault.ConfigInvalid, "is not a regular file", "remove it"},
		"device":           {func(p string) error { return os.Symlink("/dev/zero", p) }, fault.ConfigInvalid, "is not a regular file", "remove it"},
		"too large":        {func(p string) error { return os.WriteFile(p, make([]byte, maxSize+1), 0o600) }, fault.ConfigInvalid, "is larger than 32 MiB", "by hand"},
		"read-only":        {func(p string) error { return os.WriteFile(p, []byte(plain), 0o400) }, fault.PermissionDenied, "is read-only", "chmod u+w"},
		"backup in the way": {func(p string) error {
			return errors.Join(os.WriteFile(p, []byte(plain), 0o600), os.Mkdir(p+backupSuffix, 0o700))
		}, fault.Unavailable, "is not a regular file, and the backup", "Move it away"},
		"backup leads away": {func(p string) error {
			return errors.Join(os.WriteFile(p, []byte(plain), 0o600), os.Symlink("/dev/null", p+backupSuffix))
		}, fault.Unavailable, "is not a regular file, and the backup", "Move it away"},
	} {
		t.Run(name, func(t *testing.T) {
			u, c := person(t, "linux", nil), client(t, "cursor")
			path := c.File(u)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := test.prepare(path); err != nil {
				t.Fatal(err)
			}
			before := entries(t, filepath.Dir(path))
			_, err := Install(t.Context(), u, c, example, false)
			refused(t, err, test.code, test.message, test.fix)
			if after := entries(t, filepath.Dir(path)); len(after) != len(before) {
				t.Errorf("left behind: %v", after)
			}
		})
	}
}

func TestFileInPlaceOfTheDirIsRefused(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	put(t, filepath.Join(u.Home, ".cursor"), "")
	_, err := Install(t.Context(), u, c, example, false)
	refused(t, err, fault.Unavailable, "cannot be read", "")
}

func TestSomebodyElsesFilesAreRefused(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	other := u
	other.UID = u.UID + 1
	_, err := Install(t.Context(), other, c, example, false)
	refused(t, err, fault.PermissionDenied, u.Home+" belongs to user "+strconv.Itoa(u.UID), "as the person who uses the client")

	testenv.Need(t, os.Geteuid() == 0, "root, to give a file away")
	put(t, c.File(u), plain)
	if err := os.Chown(c.File(u), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	_, err = Install(t.Context(), u, c, example, false)
	refused(t, err, fault.PermissionDenied, "belongs to user 12345", "")
	if content(t, c.File(u)) != plain {
		t.Error("changed")
	}
}

func TestWhoIsMeantMustBeClear(t *testing.T) {
	u, c := person(t, "linux", map[string]string{"SUDO_UID": "1000"}), client(t, "cursor")
	u.UID = 0
	_, err := Install(t.Context(), u, c, example, false)
	refused(t, err, fault.PermissionDenied, "this run is root's", "without sudo")

	for home, want := range map[string]string{"": "HOME is not set", "relative": "HOME is not set", "/no/such/home": "does not exist"} {
		u := person(t, "linux", nil)
		u.Home = home
		_, err := Install(t.Context(), u, c, example, false)
		refused(t, err, fault.Unavailable, want, "HOME")
	}
	u = person(t, "plan9", nil)
	_, err = Install(t.Context(), u, c, example, false)
	refused(t, err, fault.Unsupported, "plan9", "")
}

// A client that writes its configuration while it is being edited loses
// nothing: the edit starts again from what it wrote.
func TestChangeInBetweenIsNotLost(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	put(t, c.File(u), plain)
	times := 0
	change, err := configure(t.Context(), u, c, false, func(f file) (draft, error) {
		if times++; times == 1 {
			put(t, c.File(u), strings.Replace(plain, `"b"`, `"new"`, 1))
		}
		raw, err := install(f.raw, c, example)
		return draft{raw: raw}, err
	})
	if err != nil || times != 2 || !change.Changed {
		t.Errorf("%d times, %+v, %v", times, change, err)
	}
	if got := content(t, c.File(u)); !strings.Contains(got, `"new"`) || !strings.Contains(got, "sentinel-mcp") {
		t.Errorf("%s", got)
	}

	times = 0
	_, err = configure(t.Context(), u, c, false, func(f file) (draft, error) {
		times++
		put(t, c.File(u), strings.Replace(plain, `"b"`, strconv.Quote(strconv.Itoa(times)), 1))
		return draft{raw: []byte("{}")}, nil
	})
	refused(t, err, fault.Unavailable, "Cursor keeps writing", "Quit Cursor")
	if times != attempts || content(t, c.File(u)) == "{}" {
		t.Errorf("%d times, %s", times, content(t, c.File(u)))
	}
}

func TestTwoRunsAtOnceLoseNothing(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	put(t, c.File(u), plain)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			e := Entry{Command: "/opt/" + strconv.Itoa(i) + "/sentinel-mcp"}
			if _, err := Install(t.Context(), u, c, e, false); err != nil {
				// Those that lost the race three times say so and changed nothing.
				refused(t, err, fault.Unavailable, "keeps writing", "")
			}
		})
	}
	all.Wait()
	got := content(t, c.File(u))
	if strings.Count(got, "sentinel-mcp") != 1 || !strings.Contains(got, `"b"`) || content(t, c.File(u)+backupSuffix) != plain {
		t.Errorf("%s", got)
	}
	if names := entries(t, filepath.Dir(c.File(u))); len(names) != 2 {
		t.Errorf("left behind: %v", names)
	}
}

func TestLockThatIsHeldIsNotWaitedForForEver(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := lock(t.Context(), dir)
		refused(t, err, fault.Timeout, "has locked "+dir, "Nothing was changed")
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lock(ended, dir); err == nil {
		t.Error("a cancelled run got the lock")
	}
	unlock()
	again, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestBackupOfAnEarlierTimeIsNotPutBack(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	put(t, c.File(u), plain)
	if _, err := Install(t.Context(), u, c, example, false); err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(content(t, c.File(u)), `"b": {}`, `"new": {}`, 1)
	put(t, c.File(u), changed)
	change, err := Uninstall(t.Context(), u, c, false)
	if err != nil || content(t, change.Backup) != changed {
		t.Fatalf("%+v, %v", change, err)
	}
	if want := strings.Replace(plain, `"b"`, `"new"`, 1); content(t, c.File(u)) != want {
		t.Errorf("%s, want %s", content(t, c.File(u)), want)
	}
}

func TestClientStartsTheProgramThatStays(t *testing.T) {
	trusted := func(string) error { return nil }
	doubtful := func(string) error { return errors.New("others can write it") }
	root := t.TempDir()
	program := func(path string) string {
		path = filepath.Join(root, path)
		put(t, path, "")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("TMPDIR", "/no/tmp") // the home of this test lies in a directory for temporary files
	find := func(own string, trust func(string) error) (string, error) {
		return Search{Name: clients.Program, Own: own, Trusted: trust, Root: root}.Program()
	}

	for _, own := range []string{
		"/tmp/x/sentinel-mcp", "/var/tmp/sentinel-mcp", "/private/tmp/sentinel-mcp", "/private/var/folders/ab/T/sentinel-mcp", "/dev/shm/sentinel-mcp",
		"/home/alice/.cache/go-build/ab/sentinel-mcp", "/home/alice/go-build123/b001/exe/sentinel-mcp", "/no/tmp/sentinel-mcp", "sentinel-mcp", "",
	} {
		_, err := find(own, trusted)
		refused(t, err, fault.Unavailable, "is in a folder for temporary files", "sudo make install")
	}
	if _, err := find("/no/such/sentinel-mcp", trusted); err == nil {
		t.Error("a program that is not there was found")
	}
	if got, err := find("/bin/sh", trusted); err != nil || got != "/bin/sh" {
		t.Errorf("alone: %s, %v", got, err)
	}
	packaged := program("/usr/bin/sentinel-mcp")
	if got, err := find("/bin/sh", trusted); err != nil || got != packaged {
		t.Errorf("packaged: %s, %v", got, err)
	}
	local := program("/usr/local/bin/sentinel-mcp")
	if got, err := find("/tmp/x/sentinel-mcp", trusted); err != nil || got != local {
		t.Errorf("installed: %s, %v", got, err)
	}
	if got, err := find("/bin/sh", doubtful); err != nil || got != "/bin/sh" {
		t.Errorf("installed where others can write: %s, %v", got, err)
	}
	if err := os.MkdirAll(filepath.Join(root, "/opt/homebrew/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	brewed := filepath.Join(root, "/opt/homebrew/bin/sentinel-mcp")
	if err := os.Symlink("/bin/sh", brewed); err != nil {
		t.Fatal(err)
	}
	if got, err := find("/bin/sh", doubtful); err != nil || got != brewed {
		t.Errorf("linked: %s, %v", got, err)
	}
}

// The copy made when an entry was taken out by hand has that entry in it.
func TestBackupWithOurEntryIsNotPutBack(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	with, err := install([]byte(plain), c, example)
	if err != nil {
		t.Fatal(err)
	}
	put(t, c.File(u), string(with))
	put(t, c.File(u)+backupSuffix, string(with))
	if _, err := Uninstall(t.Context(), u, c, false); err != nil || content(t, c.File(u)) != plain {
		t.Errorf("%s, %v", content(t, c.File(u)), err)
	}
}

func TestFileBehindALinkInPlaceOfTheBackupIsNotRemoved(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	put(t, c.File(u), "{}\n")
	if _, err := Install(t.Context(), u, c, example, false); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(u.Home, "other.json")
	if err := os.Rename(c.File(u)+backupSuffix, other); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, c.File(u)+backupSuffix); err != nil {
		t.Fatal(err)
	}
	if _, err := Uninstall(t.Context(), u, c, true); err != nil {
		t.Fatal(err)
	}
	_, err := Uninstall(t.Context(), u, c, false)
	if got := content(t, other); got != "{}\n" {
		t.Errorf("%v, the file behind the link is %q", err, got)
	}
}

func TestFileBehindALinkIsNotRemoved(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	only, err := install(nil, c, example)
	if err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(u.Home, "mcp.json")
	put(t, real, string(only))
	if err := os.Mkdir(filepath.Dir(c.File(u)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, c.File(u)); err != nil {
		t.Fatal(err)
	}
	change, err := Uninstall(t.Context(), u, c, false)
	if err != nil || change.Deleted || content(t, c.File(u)) != "{\n  \"mcpServers\": {}\n}\n" {
		t.Errorf("%+v, %v", change, err)
	}
}

// Bringing an entry up to date is no reason to forget what was before it.
func TestBackupOfTheFirstTimeIsKept(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	put(t, c.File(u), plain)
	for _, args := range [][]string{{}, {"--read-only"}} {
		if _, err := Install(t.Context(), u, c, Entry{Command: example.Command, Args: args}, false); err != nil {
			t.Fatal(err)
		}
		if got := content(t, c.File(u)+backupSuffix); got != plain {
			t.Errorf("backup %s", got)
		}
	}
	if _, err := Uninstall(t.Context(), u, c, false); err != nil || content(t, c.File(u)) != plain {
		t.Errorf("%s, %v", content(t, c.File(u)), err)
	}
}
