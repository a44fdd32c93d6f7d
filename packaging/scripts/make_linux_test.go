// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

// made runs make with dummy programs that are already built, and without Go, as in an installation
// through sudo, with a strict umask.
func made(t *testing.T, args ...string) (string, error) {
	t.Helper()
	testenv.Program(t, "make", "make")
	bin := t.TempDir()
	for _, program := range []string{"sentinel", "sentinel-mcp"} {
		path, later := filepath.Join(bin, program), time.Now().Add(time.Hour)
		must(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700))
		must(t, os.Chtimes(path, later, later)) // than the last change of a source
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", `umask 077 && exec make "$@"`, "sh", "GO=/bin/false", "BIN=" + bin}, args...)...)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// files lists what is below root with its modes, without the pages.
func files(t *testing.T, root string) map[string]fs.FileMode {
	t.Helper()
	all := testenv.Modes(t, root)
	maps.DeleteFunc(all, func(path string, _ fs.FileMode) bool { return strings.Contains(path, "/doc/") })
	return all
}

func TestInstallIsForEverybodyAndUninstallLeavesNothing(t *testing.T) {
	for prefix, units := range map[string]string{"/usr/local": "/usr/local/lib/systemd/system", "/usr": "/usr/lib/systemd/system", "/opt/x": "/etc/systemd/system"} {
		root := t.TempDir()
		args := []string{"DESTDIR=" + root, "PREFIX=" + prefix}
		if out, err := made(t, append(args, "install")...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want := map[string]fs.FileMode{
			prefix + "/bin/sentinel": 0o755, prefix + "/bin/sentinel-mcp": 0o755,
			prefix + "/share/man/man1/sentinel.1": 0o644, prefix + "/share/man/man1/sentinel-mcp.1": 0o644,
			prefix + "/share/bash-completion/completions/sentinel": 0o644, prefix + "/share/zsh/site-functions/_sentinel": 0o644, prefix + "/share/fish/vendor_completions.d/sentinel.fish": 0o644,
			units + "/sentinel-report.service": 0o644, units + "/sentinel-report.timer": 0o644, units + "/sentinel-restore.service": 0o644, units + "/sentinel-restore.timer": 0o644,
			"/etc/sudoers.d/sentinel": 0o440, "/etc/sentinel/config.yaml": 0o644, "/etc/sentinel/secrets": 0o700,
		}
		if diff := cmp.Diff(want, files(t, root)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", prefix, diff)
		}
		if out, err := made(t, append(args, "uninstall")...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if left := files(t, root); len(left) > 0 {
			t.Errorf("%s: left are %v", prefix, left)
		}
	}
}

func TestSecondInstallKeepsRulesThatWereNarrowed(t *testing.T) {
	root := t.TempDir()
	rules := filepath.Join(root, "etc/sudoers.d/sentinel")
	const own = "# reading alone\n"
	for _, said := range []bool{false, true} {
		out, err := made(t, "DESTDIR="+root, "install")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if strings.Contains(out, "\n"+rules+" differs") != said {
			t.Errorf("whether the rules differ:\n%s", out)
		}
		if !said {
			must(t, os.Remove(rules))
			must(t, os.WriteFile(rules, []byte(own), 0o440))
		}
	}
	if raw, err := os.ReadFile(rules); err != nil || string(raw) != own {
		t.Errorf("the rules are %q, %v", raw, err)
	}
	if left, err := filepath.Glob(filepath.Join(root, "etc/sudoers.d/.*new")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", left, err)
	}
}

func TestPrefixThatWouldBreakTheRulesIsRefused(t *testing.T) {
	for _, prefix := range []string{"/opt/my tools", "/opt/a|b", "/opt/a&b", "opt", "", "/opt/a,b", "/opt/%h", "/opt/a'b", "/opt/a;b"} {
		for _, target := range []string{"install", "uninstall"} {
			root := t.TempDir()
			out, err := made(t, "DESTDIR="+root, "PREFIX="+prefix, target)
			if err == nil || !strings.Contains(out, "PREFIX, SYSCONFDIR and UNITDIR begin with /") {
				t.Errorf("%s to %q is not refused:\n%s", target, prefix, out)
			}
			if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
				t.Errorf("%q: %v, %v", prefix, left, err)
			}
		}
	}
}
