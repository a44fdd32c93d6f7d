// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
)

// ownLib gives a test a /var/lib of its own, in a mount namespace.
const ownLib = `mount -t tmpfs -o mode=755 tmpfs /var/lib && exec "$@"`

// tree makes a directory of root that only root can replace, with bin/sentinel
// in it. A temporary directory will not do: it lies under /tmp, which everyone may write.
// The test runs inside of ownLib, so the machine keeps its /var/lib.
func tree(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/lib", "sentinel-trust-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	chmod(t, dir, 0o755)
	write(t, filepath.Join(dir, "bin", "sentinel"))
	return dir
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func chown(t *testing.T, path string, uid int) {
	t.Helper()
	if err := os.Lchown(path, uid, uid); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) string {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	return path
}

const stranger = 65534

func TestFileIsTrustedOnlyWhenNobodyElseCanReplaceIt(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--mount", "--propagation", "private", "sh", "-c", ownLib, "sh") {
		return
	}
	for _, test := range []struct {
		name    string
		prepare func(t *testing.T, dir string) string // returns the path to check
		root    string                                // words in RootOnly's error, "" for none
		self    string                                // the same for RootOrSelf, run as root
	}{
		{"all of root", func(_ *testing.T, dir string) string { return dir + "/bin/sentinel" }, "", ""},
		{"file of a stranger", func(t *testing.T, dir string) string {
			chown(t, dir+"/bin/sentinel", stranger)
			return dir + "/bin/sentinel"
		}, "belongs to user 65534", "belongs to user 65534"},
		{"file others can write", func(t *testing.T, dir string) string {
			chmod(t, dir+"/bin/sentinel", 0o757)
			return dir + "/bin/sentinel"
		}, "can be written by others", "can be written by others"},
		{"file the group can write", func(t *testing.T, dir string) string {
			chmod(t, dir+"/bin/sentinel", 0o775)
			return dir + "/bin/sentinel"
		}, "can be written by others", "can be written by others"},
		{"folder of a stranger", func(t *testing.T, dir string) string {
			chown(t, dir+"/bin", stranger)
			return dir + "/bin/sentinel"
		}, "/bin belongs to user 65534", "/bin belongs to user 65534"},
		{"folder further up that others can write", func(t *testing.T, dir string) string {
			chmod(t, dir, 0o777)
			return dir + "/bin/sentinel"
		}, "can be written by others", "can be written by others"},
		{"sticky folder of root", func(t *testing.T, dir string) string {
			chmod(t, dir, 0o777|os.ModeSticky)
			return dir + "/bin/sentinel"
		}, "can be written by others", ""},
		{"sticky folder of a stranger", func(t *testing.T, dir string) string {
			chmod(t, dir, 0o777|os.ModeSticky)
			chown(t, dir, stranger)
			return dir + "/bin/sentinel"
		}, "belongs to user 65534", "belongs to user 65534"},
		{"link of root to a file of root", func(t *testing.T, dir string) string {
			return link(t, "bin/../bin/sentinel", dir+"/link")
		}, "", ""},
		{"link in a sticky folder that a stranger can turn", func(t *testing.T, dir string) string {
			open := dir + "/open"
			mkdir(t, open, 0o777|os.ModeSticky)
			chown(t, link(t, dir+"/bin/sentinel", open+"/link"), stranger)
			return open + "/link"
		}, "can be written by others", "link belongs to user 65534"},
		{"link through a folder of a stranger", func(t *testing.T, dir string) string {
			mkdir(t, dir+"/theirs", 0o755)
			link(t, dir+"/bin/sentinel", dir+"/theirs/second")
			chown(t, dir+"/theirs", stranger)
			return link(t, dir+"/theirs/second", dir+"/first")
		}, "theirs belongs to user 65534", "theirs belongs to user 65534"},
		{"linked folder with a stranger above it", func(t *testing.T, dir string) string {
			mkdir(t, dir+"/theirs", 0o755)
			mkdir(t, dir+"/theirs/bin", 0o755)
			write(t, dir+"/theirs/bin/sentinel")
			chown(t, dir+"/theirs", stranger)
			return link(t, "theirs/bin", dir+"/linked") + "/sentinel"
		}, "theirs belongs to user 65534", "theirs belongs to user 65534"},
		{"loop of links", func(t *testing.T, dir string) string {
			link(t, "two", dir+"/one")
			return link(t, "one", dir+"/two")
		}, "too many symbolic links", "too many symbolic links"},
		{"missing file", func(_ *testing.T, dir string) string { return dir + "/bin/none" }, "no such file", "no such file"},
		{"file in place of a folder", func(_ *testing.T, dir string) string { return dir + "/bin/sentinel/x" }, "not a directory", "not a directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := test.prepare(t, tree(t))
			expect(t, "RootOnly", RootOnly.File(path), test.root)
			expect(t, "RootOrSelf", RootOrSelf.File(path), test.self)
		})
	}
}

func mkdir(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
}

func expect(t *testing.T, rule string, err error, words string) {
	t.Helper()
	switch {
	case words == "" && err != nil:
		t.Errorf("%s: %v, want no error", rule, err)
	case words != "" && (err == nil || !strings.Contains(err.Error(), words)):
		t.Errorf("%s: error %v, want one with %q", rule, err, words)
	}
}

func TestOwnFileIsTrustedForOneselfOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path)
	chmod(t, path, 0o644)
	if err := RootOrSelf.File(path); err != nil {
		t.Errorf("RootOrSelf: %v", err)
	}
	if err := RootOnly.File(path); err == nil {
		t.Error("RootOnly trusts a file under the temporary folder")
	}
}

// A directory may contain files of other users, and a command on a symbolic link changes its
// target: such a fix would break more than it repairs.
func TestFixCommandsAreForRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path)
	for _, test := range []struct{ path, want string }{
		{path, " (chmod go-w " + path + ")"},
		{dir, ""},
		{link(t, path, filepath.Join(dir, "link")), ""},
	} {
		info, err := os.Lstat(test.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := fixCommand("chmod go-w", test.path, info); got != test.want {
			t.Errorf("advice for %s is %q, want %q", info.Mode(), got, test.want)
		}
	}
	chmod(t, dir, 0o777)
	if err := RootOnly.Dirs(path); err == nil || strings.Contains(err.Error(), "chmod") || strings.Contains(err.Error(), "chown") {
		t.Errorf("error %v, want one without a command", err)
	}
}

func TestFilesOfAUserAreTheirsOnBehalfOfWhomOneAsks(t *testing.T) {
	for name, test := range map[string]struct {
		rule Rule
		uid  int
		ok   bool
	}{
		"their own": {User(4711), 4711, true}, "of root": {User(4711), 0, true}, "of another": {User(4711), 4712, false},
		"of a user, for root alone": {RootOnly, 4711, false}, "user 0": {User(0), 4711, false},
	} {
		info := fakeInfo{uid: test.uid}
		if err := test.rule.Info("/x", info); (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A fakeInfo is a file of a user that nobody else can write.
type fakeInfo struct {
	fs.FileInfo
	uid int
}

func (f fakeInfo) Mode() fs.FileMode { return 0o644 }
func (f fakeInfo) IsDir() bool       { return false }
func (f fakeInfo) Sys() any          { return &syscall.Stat_t{Uid: uint32(f.uid)} }

func TestAboutNamesAPathOnce(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o622); err != nil {
		t.Fatal(err)
	}
	of := RootOrSelf.File(path)
	for told, want := range map[string]string{path: "it can be written by others (chmod go-w " + path + ")", "/other": path + " can be written by others (chmod go-w " + path + ")"} {
		if got := About(told, of); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := About(path, errors.New("x")); got != "x" {
		t.Error(got)
	}
}

// Who runs a program for himself is not told to give his file away.
func TestTheOwnerThatIsNamedMayOwnIt(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, which gives files away")
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 65534, -1); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[Rule]string{RootOnly: "must belong to root (chown root ", User(0): "must belong to root (chown root ", User(1234): "must belong to root or to you (chown 1234 "} {
		if err := rule.Info(path, info); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", rule, err)
		}
	}
}
