// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package macos tests the files that the scripts for macOS install, as far as another system can
// show it.
package macos

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

// release lays out a release of made-up programs.
func release(t *testing.T) string {
	t.Helper()
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	release := t.TempDir()
	for _, dir := range []string{"docs", "packaging"} {
		if err := os.CopyFS(filepath.Join(release, dir), os.DirFS(filepath.Join(checkout, dir))); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"sentinel", "sentinel-mcp", "sentinel-guard"} {
		if err := os.WriteFile(filepath.Join(release, program), []byte("program"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return release
}

// stage runs install.sh on a release and returns the modes of the files that it
// stages.
func stage(t *testing.T, prefix string) (root string, files map[string]fs.FileMode) {
	t.Helper()
	root = t.TempDir()
	cmd := exec.Command("/bin/sh", filepath.Join(release(t), "packaging/macos/install.sh"))
	cmd.Env = append(os.Environ(), "DESTDIR="+root, "PREFIX="+prefix)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return root, testenv.Modes(t, root)
}

func TestInstallStagesForRootAlone(t *testing.T) {
	for _, prefix := range []string{"/usr/local", "/opt/sentinel"} {
		root, got := stage(t, prefix)
		want := map[string]fs.FileMode{
			prefix + "/bin/sentinel": 0o755, prefix + "/bin/sentinel-mcp": 0o755, prefix + "/bin/sentinel-guard": 0o755,
			prefix + "/share/man/man1/sentinel.1": 0o644, prefix + "/share/man/man1/sentinel-mcp.1": 0o644, prefix + "/share/man/man1/sentinel-guard.1": 0o644,
			prefix + "/share/sentinel/uninstall.sh": 0o755, prefix + "/share/sentinel/sudoers": 0o440,
			prefix + "/share/sentinel/config.yaml":              0o644,
			"/Library/LaunchDaemons/com.sentinel.restore.plist": 0o644, "/Library/LaunchDaemons/com.sentinel.report.plist": 0o644, "/Library/LaunchDaemons/com.sentinel.record.plist": 0o644,
			"/etc/sentinel/config.yaml": 0o644, "/etc/sentinel/secrets": 0o700,
		}
		if prefix != "/usr/local" {
			want["/etc/paths.d/sentinel"], want["/etc/manpaths.d/sentinel"] = 0o644, 0o644
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", prefix, diff)
		}
		for _, file := range []string{prefix + "/share/sentinel/uninstall.sh", prefix + "/share/sentinel/sudoers", "/Library/LaunchDaemons/com.sentinel.restore.plist", "/Library/LaunchDaemons/com.sentinel.report.plist", "/Library/LaunchDaemons/com.sentinel.record.plist"} {
			raw, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			if named := strings.Contains(string(raw), "/usr/local/bin"); !strings.Contains(string(raw), prefix+"/bin") || named != (prefix == "/usr/local") {
				t.Errorf("%s does not name %s/bin, or another folder:\n%s", file, prefix, raw)
			}
		}
		testenv.Visudo(t, filepath.Join(root, prefix, "share/sentinel/sudoers"))
	}
}

// pkgbuild replaces Apple's and prints the files and scripts of the package.
const pkgbuild = `#!/bin/sh
while [ $# -gt 1 ]; do
  case $1 in --root | --scripts) echo "$1"; (cd "$2" && find . -type f | sort) ;; esac
  shift
done
`

func TestPackageReplacesNoConfiguration(t *testing.T) {
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "pkgbuild"), []byte(pkgbuild), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", filepath.Join(release(t), "packaging/macos/build-pkg.sh"), "1.2.3")
	cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	want := `--root
./Library/LaunchDaemons/com.sentinel.record.plist
./Library/LaunchDaemons/com.sentinel.report.plist
./Library/LaunchDaemons/com.sentinel.restore.plist
./opt/sentinel/bin/sentinel
./opt/sentinel/bin/sentinel-guard
./opt/sentinel/bin/sentinel-mcp
./opt/sentinel/share/man/man1/sentinel-guard.1
./opt/sentinel/share/man/man1/sentinel-mcp.1
./opt/sentinel/share/man/man1/sentinel.1
./opt/sentinel/share/sentinel/config.yaml
./opt/sentinel/share/sentinel/sudoers
./opt/sentinel/share/sentinel/uninstall.sh
./private/etc/manpaths.d/sentinel
./private/etc/paths.d/sentinel
--scripts
./postinstall
./rootonly.sh
`
	if diff := cmp.Diff(want, string(out)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestPrefixThatWouldBreakTheRulesIsRefused(t *testing.T) {
	for _, prefix := range []string{"/opt/my tools", "/opt/a|b", "/opt/a&b", "opt", "/opt/a,b", "/opt/$(id)", "/opt/\nALL"} {
		root := t.TempDir()
		cmd := exec.Command("/bin/sh", "install.sh")
		cmd.Env = append(os.Environ(), "DESTDIR="+root, "PREFIX="+prefix)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "PREFIX must begin with /") {
			t.Errorf("%q is not refused:\n%s", prefix, out)
		}
		if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
			t.Errorf("%q: %v, %v", prefix, left, err)
		}
	}
}

func TestScriptsAreShell(t *testing.T) {
	shellcheck := testenv.Program(t, "shellcheck", "shellcheck")
	for _, pattern := range []string{"install.sh", "uninstall.sh", "build-pkg.sh", "postinstall", "../scripts/*.sh"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		if out, err := exec.Command(shellcheck, files...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
