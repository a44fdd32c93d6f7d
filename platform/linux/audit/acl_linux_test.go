// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/audit"
	"sentinel/internal/posixacl"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/audit/filetree"
)

// let gives a user rights to a file by an access control list, as setfacl(1) does: the mask is in the
// mode, and the owner and the group keep what they had.
func let(t *testing.T, file string, id, rights uint32) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	mode := uint32(info.Mode().Perm())
	raw := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range [][3]uint32{{1, mode >> 6, 0xffffffff}, {2, rights, id}, {4, mode >> 3 & 7, 0xffffffff}, {0x10, mode>>3&7 | rights, 0xffffffff}, {0x20, mode & 7, 0xffffffff}} {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(e[0]))
		raw = binary.LittleEndian.AppendUint16(raw, uint16(e[1]))
		raw = binary.LittleEndian.AppendUint32(raw, e[2])
	}
	err = posixacl.Write(file, raw)
	testenv.Need(t, !errors.Is(err, syscall.ENOTSUP), "a file system with access control lists")
	if err != nil {
		t.Fatal(err)
	}
}

// served is a machine whose files are in order.
func served(t *testing.T) string {
	t.Helper()
	root := testenv.Plant(t, map[string]string{
		"etc/passwd": "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n", "etc/group": "root:x:0:\nann:x:1000:\n", "etc/shadow": "", "etc/crontab": "", "etc/sudoers": "", "etc/sudoers.d/x": "",
		"etc/ssl/private/key": "", "root/.ssh/authorized_keys": "", "home/ann/.ssh/authorized_keys": "", "usr/bin/tool": "",
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n",
	})
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		mode := os.FileMode(0o644)
		if err == nil && d.IsDir() {
			mode = 0o755
		}
		return errors.Join(err, os.Chmod(path, mode))
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"etc/shadow": 0o600, "etc/sudoers": 0o440, "etc/sudoers.d/x": 0o440, "etc/ssl/private/key": 0o600, "usr/bin/tool": 0o755} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestWhomAnAccessListLetsInIsToldAsWhomTheModeLetsIn(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0 && os.Getegid() == 0, "root: a file whose group is not root's is told anyway")
	for _, c := range []struct {
		id, file   string
		who        uint32
		rights     uint32
		wrong      audit.Status
		fixRemoves bool
	}{
		{"files.shadow", "etc/shadow", 1234, 4, audit.Fail, true},
		{"files.passwd", "etc/passwd", 1234, 2, audit.Fail, true},
		{"files.cron", "etc/crontab", 1234, 6, audit.Fail, true},
		{"files.homes", "root/.ssh/authorized_keys", 1234, 2, audit.Fail, true},
		{"files.secrets", "etc/ssl/private/key", 1234, 4, audit.Fail, true},
		{"files.secrets", "etc/ssl/private/key", 33, 4, audit.Pass, false}, // of a service
		{"files.passwd", "etc/passwd", 1234, 4, audit.Pass, false},         // everybody reads it
		{"sudo.permissions", "etc/sudoers", 1234, 4, audit.Warn, true},
		{"tree.programs", "usr/bin/tool", 1234, 2, audit.Fail, false},
		{"tree.programs", "usr/bin/tool", 1234, 5, audit.Pass, false},
	} {
		root := served(t)
		parts := Parts{Root: root, Owner: os.Geteuid(), EUID: 0, Now: today}
		if f := one(t, c.id, parts); f.Status != audit.Pass {
			t.Fatalf("%s without a list: %+v", c.id, f)
		}
		let(t, filepath.Join(root, c.file), c.who, c.rights)
		f := one(t, c.id, parts)
		told := slices.ContainsFunc(f.Evidence, func(e string) bool {
			return strings.HasPrefix(e, "/"+c.file+":") && strings.Contains(e, "the access list grants user 1234 ")
		})
		if f.Status != c.wrong || told != (c.wrong != audit.Pass) || strings.Contains(f.Fix, "setfacl -b") != c.fixRemoves {
			t.Errorf("%s of %s to %d: %+v", c.id, c.file, c.who, f)
		}
	}
}

// What the owner may do is in the mode, for a list that names the owner too.
func TestAListOfAProgramThatNamesItsOwnerNamesNobodyElse(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to give files away")
	root := served(t)
	tool := filepath.Join(root, "usr/bin/tool")
	if err := os.Chown(tool, 1234, 0); err != nil {
		t.Fatal(err)
	}
	m := &machine{Parts: Parts{Root: root}}
	for who, want := range map[uint32]posixacl.List{1234: nil, 1235: {{ID: 1235, Rights: 2}}} {
		let(t, tool, who, 2)
		seen := foundFile{path: "/usr/bin/tool", Entry: filetree.Entry{Mode: filetree.Regular | 0o775, UID: 1234}}
		if list, some := m.listed(seen); !slices.Equal(list, want) || some != (want != nil) {
			t.Errorf("%d: %v, %t", who, list, some)
		}
	}
}

// capability is the attribute of a program with some permitted capabilities, as setcap(8) makes it.
func capability(permitted uint64, words ...uint32) []byte {
	raw := binary.LittleEndian.AppendUint32(nil, uint32(2+len(words))<<24|1)
	for _, word := range []uint32{uint32(permitted), 0, uint32(permitted >> 32), 0} {
		raw = binary.LittleEndian.AppendUint32(raw, word)
	}
	for _, word := range words {
		raw = binary.LittleEndian.AppendUint32(raw, word)
	}
	return raw
}

func TestCapabilitiesThatLeadToRootAreRead(t *testing.T) {
	for want, raw := range map[string][]byte{
		"cap_setuid":                   capability(1 << 7),
		"cap_sys_admin cap_bpf":        capability(1<<21 | 1<<39 | 1<<13),
		"":                             capability(1<<10 | 1<<13 | 1<<12), // ports and packets
		"cap_dac_override":             capability(1<<1, 0),               // of the root of this namespace
		"cap_setgid":                   capability(1 << 6)[:12],           // cut: what is there counts
		"cap_sys_ptrace cap_sys_admin": {1, 0, 0, 1, 0, 0, 0x28, 0, 0, 0, 0, 0},
	} {
		if got := parseCapabilities(raw).String(); got != want {
			t.Errorf("%x: %q, want %q", raw, got, want)
		}
	}
	for _, raw := range [][]byte{capability(1<<7, 100_000), nil, {2}} { // of another root; of none
		if got := parseCapabilities(raw); got != 0 {
			t.Errorf("%x: %v", raw, got)
		}
	}
}

func TestProgramsWithCapabilitiesAreToldAsThoseWithSetuid(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	root := served(t)
	files := map[string]struct {
		caps  uint64
		mode  os.FileMode
		owner int
	}{
		"usr/bin/python3": {1 << 7, 0o755, 0}, "usr/bin/newuidmap": {1 << 7, 0o755, 0}, "srv/.x/open": {1 << 1, 0o755, 0}, "usr/bin/ping": {1 << 13, 0o755, 0},
		"srv/own": {1 << 21, 0o700, 1000}, "srv/rootonly": {1 << 21, 0o700, 0}, "usr/bin/statoverride": {1 << 19, 0o755, 0},
	}
	for name, f := range files {
		file := filepath.Join(root, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o600), os.Chown(file, f.owner, 0), os.Chmod(file, f.mode), unix.Setxattr(file, capabilityAttribute, capability(f.caps), 0))
		testenv.Need(t, !errors.Is(err, unix.ENOTSUP), "a file system with extended attributes")
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"var/lib/dpkg/status": "Package: p\nStatus: install ok installed\n", "var/lib/dpkg/info/p.list": "/usr/bin/python3\n/usr/bin/newuidmap\n", "var/lib/dpkg/statoverride": "root root 4755 /usr/bin/statoverride\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755), os.WriteFile(filepath.Join(root, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	f := one(t, "tree.setuid", Parts{Root: root, Owner: 0, EUID: 0, Now: today})
	want := []string{
		"/usr/bin/python3: mode 0755, owner 0:0, cap_setuid, which gives a shell or writes any file", "/usr/bin/statoverride: mode 0755, owner 0:0, cap_sys_ptrace, of no package",
		"/srv/.x/open: mode 0755, owner 0:0, cap_dac_override, of no package", "/srv/own: mode 0700, owner 1000:0, cap_sys_admin, of no package",
	}
	if f.Status != audit.Fail || !slices.Equal(f.Evidence, want) || !strings.Contains(f.Fix, "setcap -r") {
		t.Errorf("%+v", f)
	}
}

// Somebody may put a link to another directory in the place of the one that is read, or to one that never
// answers.
func TestCapabilitiesAreThoseOfTheFileThatWasSeen(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	root := testenv.Plant(t, map[string]string{"a/x": "", "b/x": ""})
	for name, caps := range map[string]uint64{"a/x": 1 << 7, "b/x": 1 << 6} {
		err := unix.Setxattr(filepath.Join(root, name), capabilityAttribute, capability(caps), 0)
		testenv.Need(t, !errors.Is(err, unix.ENOTSUP), "a file system with extended attributes")
		if err != nil {
			t.Fatal(err)
		}
	}
	a := filepath.Join(root, "a")
	dir, err := os.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := errors.Join(os.Rename(a, a+".before"), os.Symlink("b", a)); err != nil {
		t.Fatal(err)
	}
	fd, e := int(dir.Fd()), filetree.Entry{Mode: filetree.Regular | 0o755}
	if caps, err := capabilitiesOf(fd, "x", e); caps.String() != "cap_setuid" || err != nil {
		t.Errorf("%v, %v", caps, err)
	}
	if caps, err := capabilitiesOf(fd, "gone", e); caps != 0 || err != nil {
		t.Errorf("of a file that is gone: %v, %v", caps, err)
	}
	testenv.Intercept(t, unix.SYS_LGETXATTR, func(int) unix.Errno { return unix.ENOENT }, func() { // /proc is not there
		if caps, err := capabilitiesOf(fd, "x", e); err == nil {
			t.Errorf("of a file that cannot be asked: %v", caps)
		}
	})
}

// A user who is root in a namespace of their own gives files capabilities that count there. Where that root
// has no number here, the kernel does not show them (EOVERFLOW).
func TestCapabilitiesOfAnotherRootAreNone(t *testing.T) {
	dir, err := os.Open(testenv.Plant(t, map[string]string{"x": ""}))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for errno, failed := range map[unix.Errno]bool{unix.EOVERFLOW: false, unix.ENODATA: false, unix.EIO: true} {
		testenv.Intercept(t, unix.SYS_LGETXATTR, func(int) unix.Errno { return errno }, func() {
			if caps, err := capabilitiesOf(int(dir.Fd()), "x", filetree.Entry{Mode: filetree.Regular | 0o755}); caps != 0 || (err != nil) != failed {
				t.Errorf("%v: %v, %v", errno, caps, err)
			}
		})
	}
}

// What a user put in the place of a file since it was seen leads nobody through what a process holds.
func TestNoFileIsLookedAtThroughWhatAProcessHolds(t *testing.T) {
	root := served(t)
	tool, stamp := filepath.Join(root, "usr/bin/tool"), filepath.Join(root, timesyncStamp)
	let(t, tool, 1234, 2)
	err := errors.Join(os.Rename(tool, tool+".before"), os.Symlink("/proc/self/root"+tool+".before", tool), os.MkdirAll(filepath.Dir(stamp), 0o755), os.Symlink("/proc/self/cwd", stamp))
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{Parts: Parts{Root: root, Now: today}}
	seen := foundFile{path: "/usr/bin/tool", Entry: filetree.Entry{Mode: filetree.Regular | 0o775}}
	if list, some := m.listed(seen); len(list) > 0 || !some { // what cannot be read counts
		t.Errorf("%v, %t", list, some)
	}
	if f := m.timesyncd(); f.Status != "" || !strings.HasPrefix(f.Reason, timesyncStamp) {
		t.Errorf("%+v", f)
	}
}
