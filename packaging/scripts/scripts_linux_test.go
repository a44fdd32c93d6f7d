// SPDX-License-Identifier: Apache-2.0

// Package scripts tests assumptions of the packages' scripts.
package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDirOfRootAloneIsToldFromOthers(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	must(t, unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=755"))
	for _, dir := range []string{"own/bin", "user/bin", "group/bin", "everyone/bin", "links"} {
		must(t, os.MkdirAll(filepath.Join("/mnt", dir), 0o755))
	}
	must(t, os.Chown("/mnt/user", 1000, 0))
	must(t, os.Chmod("/mnt/group", 0o775))
	must(t, os.Chmod("/mnt/everyone", 0o777|os.ModeSticky))
	for name, target := range map[string]string{"good": "/mnt/own/bin", "bad": "/mnt/user/bin", "theirs": "/mnt/own/bin"} {
		must(t, os.Symlink(target, filepath.Join("/mnt/links", name)))
	}
	must(t, os.Lchown("/mnt/links/theirs", 1000, 0))
	for path, want := range map[string]bool{
		"/mnt/own/bin": true, "/mnt/own/bin/not/there": true, "/": true, "/mnt/links/good": true, "/mnt/links/good/sub": true,
		"/mnt/user/bin": false, "/mnt/user/not/there": false, "/mnt/group/bin": false, "/mnt/everyone/bin": false,
		"/mnt/links/bad": false, "/mnt/links/bad/sub": false, "/mnt/links/theirs": false, "mnt": false, "": false,
	} {
		out, err := exec.Command("/bin/sh", "rootonly.sh", path).CombinedOutput()
		if (err == nil) != want || (len(out) == 0) != want {
			t.Errorf("%q: %v, %s", path, err, out)
		}
	}
	if exec.Command("/bin/sh", "rootonly.sh", "/mnt/own/bin", "/mnt/user/bin").Run() == nil {
		t.Error("only the first folder is looked at")
	}
}

// A disk that takes nothing must not keep the package.
func TestAReadOnlyDiskKeepsNoPackage(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	must(t, unix.Mount("tmpfs", "/var/lib", "tmpfs", 0, "mode=755"))
	must(t, os.MkdirAll("/var/lib/prometheus/node-exporter", 0o755))
	must(t, os.WriteFile("/var/lib/prometheus/node-exporter/sentinel.prom", nil, 0o600))
	must(t, unix.Mount("", "/var/lib", "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	bin := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bin, "systemctl"), []byte("#!/bin/sh\n[ \"$1\" != is-enabled ] || echo enabled\n"), 0o755))
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	if out, err := exec.Command("/bin/sh", "preremove.sh", "remove").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
