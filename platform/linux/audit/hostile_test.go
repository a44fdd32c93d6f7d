// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/audit/audittest"
	"sentinel/internal/testenv"
)

// filesOf returns the files that a machine has, by name.
func filesOf(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Whatever is in the place of the files that the checks read, each comes to an
// end and none passes for what it could not read.
func TestHostileFilesNeitherHangNorPass(t *testing.T) {
	before := map[string]audit.Finding{}
	for _, c := range source(t, "hardened").Checks() {
		before[c.ID] = c.Run(t.Context())
	}
	for name, corrupt := range map[string]func(path string) error{
		"pipes":   func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"folders": func(path string) error { return os.Mkdir(path, 0o755) },
		"huge":    audittest.Huge,
		"loops":   func(path string) error { return os.Symlink(filepath.Base(path), path) },
	} {
		root := build(t, "hardened")
		for _, path := range filesOf(t, root) {
			if strings.HasSuffix(path, "usr/sbin/sshd") {
				continue
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := corrupt(path); err != nil {
				t.Fatal(err)
			}
		}
		s := New(Parts{Root: root, Owner: os.Geteuid()})
		for _, c := range s.Checks() {
			f := c.Run(t.Context())
			if f.Status == audit.Pass && before[c.ID].Status == audit.Pass && !byOwner(c.ID) {
				t.Errorf("%s: %s passes: %+v", name, c.ID, f)
			}
		}
	}
}

// byOwner says of a check that it judges by who owns what is there, or how old it
// is, not by what is in it.
func byOwner(id string) bool {
	return id == "ssh.config_permissions" || id == "updates.list_age" || strings.HasPrefix(id, "files.")
}

// Texts of the machine reach the answer without what could harm its reader.
func TestHostileTextsAreMadeSafe(t *testing.T) {
	root := build(t, "broken")
	plant(t, filepath.Join(root, "etc/passwd"), []byte("root:x:0:0::/root:/bin/sh\n"+audittest.Nasty+":x:0:0::/:/bin/"+audittest.Nasty+"\nsys:x:5:5::/:/"+audittest.Nasty+"\n"))
	plant(t, filepath.Join(root, "etc/sudoers.d/90-cloud"), []byte(audittest.Nasty+" ALL=NOPASSWD: ALL\n"))
	plant(t, filepath.Join(root, "etc/ssh/sshd_config"), []byte("PermitRootLogin yes\nLogLevel "+audittest.Nasty+"\nMatch User "+audittest.Nasty+"\nX11Forwarding yes\n"))
	plant(t, filepath.Join(root, "proc/sys/kernel/core_pattern"), []byte(audittest.Nasty))
	r, err := audit.Run(t.Context(), New(Parts{Root: root, Firewall: packetFilter{rules["broken"]}, Owner: os.Geteuid()}), audit.Options{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	audittest.Safe(t, r)
}

// Whatever fails, a default answer is short, and every check in it has a name
// and a verdict.
func TestAnswersStayShort(t *testing.T) { audittest.StaysShort(t, machines, checksOf(t)) }

// What a user may not read is named, and is no pass.
func TestNotRootIsToldWhatItDoesNotSee(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--mount", "--propagation", "private", "sh", "-c", `mount -t tmpfs tmpfs /mnt && exec "$@"`, "sh") {
		return
	}
	const root = "/mnt" // is gone with the namespace: the user could not clear it away
	fill(t, root, "hardened")
	for _, secret := range []string{"etc/shadow", "etc/sudoers", "proc/sys/fs/protected_hardlinks", "sys/kernel/security/apparmor/profiles", "etc/ssh/sshd_config"} {
		if err := os.Chmod(filepath.Join(root, secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Become(t, testenv.Nobody)
	parts := Parts{Root: root, EUID: testenv.Nobody, Firewall: packetFilter{rules["container"]}}
	hidden := map[string]bool{}
	for _, c := range New(parts).Checks() {
		if f := c.Run(t.Context()); f.Applies && f.Status == "" {
			hidden[c.ID] = strings.Contains(f.Reason, "without root")
		}
	}
	for _, id := range []string{"accounts.empty_passwords", "accounts.password_hashes", "sudo.nopasswd", "sudo.permissions", "sudo.use_pty", "ssh.root_login", "ssh.kex", "ssh.config_permissions", "mac.enforcing", "mac.complaining", "kernel.protected_links", "firewall.active", "firewall.default_deny"} {
		if !hidden[id] {
			t.Errorf("%s is not among %v", id, slices.Sorted(maps.Keys(hidden)))
		}
	}
	if hidden["accounts.uid_zero"] || hidden["files.passwd"] || hidden["kernel.aslr"] {
		t.Errorf("what everyone sees is among %v", slices.Sorted(maps.Keys(hidden)))
	}
}
