// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// made runs make with dummy programs that are already built, and without Go, as in an installation
// through sudo, with a strict umask.
func made(t *testing.T, args ...string) (string, error) {
	t.Helper()
	testenv.Program(t, "make", "make")
	bin := t.TempDir()
	for _, program := range []string{"sentinel", "sentinel-mcp", "sentinel-guard"} {
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
			units + "/sentinel-metrics.service": 0o644, units + "/sentinel-metrics.timer": 0o644, units + "/sentinel-metrics-hourly.service": 0o644, units + "/sentinel-metrics-hourly.timer": 0o644,
			units + "/sentinel-report.service": 0o644, units + "/sentinel-report.timer": 0o644, units + "/sentinel-record.service": 0o644, units + "/sentinel-record.timer": 0o644,
			units + "/sentinel-restore.service": 0o644, units + "/sentinel-restore.timer": 0o644,
			prefix + "/share/sentinel/sudoers": 0o440,
			"/etc/sudoers.d/sentinel":          0o440, "/etc/sentinel/config.yaml": 0o644, "/etc/sentinel/secrets": 0o700,
		}
		for _, program := range []string{"sentinel", "sentinel-mcp", "sentinel-guard"} {
			want[prefix+"/bin/"+program] = 0o755
			for _, file := range []string{"man/man1/" + program + ".1", "bash-completion/completions/" + program, "zsh/site-functions/_" + program, "fish/vendor_completions.d/" + program + ".fish"} {
				want[prefix+"/share/"+file] = 0o644
			}
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

// Homebrew gives /usr/local of an Intel Mac to a user, who could have root run another uninstall.sh.
func TestUninstallOnAMacRunsWhatRootAloneCanChange(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	must(t, unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=755"))
	must(t, os.WriteFile("/mnt/uname", []byte("#!/bin/sh\necho Darwin\n"), 0o755))
	t.Setenv("PATH", "/mnt:"+os.Getenv("PATH"))
	for prefix, uid := range map[string]int{"/mnt/own": 0, "/mnt/user": 1000} {
		share := prefix + "/share/sentinel"
		must(t, os.MkdirAll(share, 0o755))
		must(t, os.Chown(prefix, uid, 0))
		must(t, os.WriteFile(share+"/uninstall.sh", []byte("echo it ran from $0\n"), 0o755))
		out, err := made(t, "PREFIX="+prefix, "DESTDIR=", "uninstall")
		if ran := strings.Contains(out, "it ran from "+share+"/uninstall.sh\n"); ran != (uid == 0) || (err == nil) != ran || !ran && !strings.Contains(out, "Not only root can change "+prefix) {
			t.Errorf("%s: %v, %s", prefix, err, out)
		}
	}
}

// goSays puts a go in front of everything else that answers GOVERSION with words and notes
// what it is called for. It returns the notes.
func goSays(t *testing.T, words string, args ...string) (calls, out string, err error) {
	t.Helper()
	dir := t.TempDir()
	notes := filepath.Join(dir, "notes")
	if words != "" {
		must(t, os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\necho \"$*\" >>"+notes+"\n[ \"$1\" != env ] || echo '"+words+"'\n"), 0o700))
	}
	for _, program := range []string{"sh", "sed", "awk", "tail", "find", "git", "uname", "rm"} {
		must(t, os.Symlink(testenv.Program(t, program, "coreutils"), filepath.Join(dir, program)))
	}
	cmd := exec.Command(testenv.Program(t, "make", "make"), append([]string{"BIN=" + filepath.Join(dir, "bin"), "DIST=" + filepath.Join(dir, "dist")}, args...)...)
	cmd.Dir, cmd.Env = "../..", []string{"PATH=" + dir, "HOME=" + dir}
	said, err := cmd.CombinedOutput()
	raw, rerr := os.ReadFile(notes)
	if rerr != nil && !os.IsNotExist(rerr) {
		t.Fatal(rerr)
	}
	return string(raw), string(said), err
}

func TestABareMakeBuilds(t *testing.T) {
	for _, version := range []string{"go1.26.0", "go1.30rc1", "go2.0", "devel go1.27-0123456 Tue Jan 6 2026"} {
		calls, out, err := goSays(t, version)
		if err != nil {
			t.Fatalf("%s: %v\n%s", version, err, out)
		}
		for line := range strings.Lines(strings.TrimPrefix(calls, "env GOVERSION\n")) {
			if !strings.HasPrefix(line, "build ") {
				t.Errorf("%s: make ran go %s", version, line)
			}
		}
		if strings.Count(calls, "\n") != 4 {
			t.Errorf("%s: make ran\n%s", version, calls)
		}
	}
}

func TestWithoutARecentGoMakeSaysWhichAndHow(t *testing.T) {
	for version, told := range map[string]string{"": "none", "go1.19.8": "go1.19.8", "go1.4": "go1.4", "go: download go1.26.0 for linux/amd64: toolchain not available": "go: download"} {
		for _, target := range []string{"", "build", "run", "test", "lint", "dist", "package", "install"} {
			calls, out, err := goSays(t, version, strings.Fields(target+" DESTDIR="+t.TempDir())...)
			if first, _, _ := strings.Cut(out, "\n"); err == nil || !strings.HasPrefix(first, "Building Sentinel needs Go 1.26 or later, and here is "+told) || !strings.Contains(first, "https://go.dev/dl/") {
				t.Errorf("make %s with %q: %v\n%s", target, version, err, out)
			}
			if calls != "" && calls != "env GOVERSION\n" {
				t.Errorf("make %s with %q ran go:\n%s", target, version, calls)
			}
		}
	}
	if _, out, err := goSays(t, "", "help"); err != nil || !strings.Contains(out, "build: the binaries") {
		t.Errorf("help needs Go: %v\n%s", err, out)
	}
}

// dummyGo is a go whose programs print nothing and end well.
const dummyGo = `#!/bin/sh
case "$1 $2" in
"env GOVERSION") echo go1.26.0 ;;
"env "*) echo "$2" ;;
build\ *)
	while [ "$1" != -o ]; do shift; done
	mkdir -p "$(dirname "$2")" && printf '#!/bin/sh\n' >"$2" && chmod 755 "$2" ;;
"run ./packaging/mcpb") echo >"$4/bundle.mcpb" ;;
*) exit 1 ;;
esac
`

// A release is unpacked and installed where there is neither Go nor a source.
func TestAnArchiveInstallsWithoutGo(t *testing.T) {
	dist, root, dir := t.TempDir(), t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "go"), []byte(dummyGo), 0o700))
	if out, err := made(t, "GO="+filepath.Join(dir, "go"), "DIST="+dist, "VERSION=1.2.3", "TARGET=linux-arm64", "archive"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	archive := filepath.Join(dist, "sentinel-1.2.3-linux-arm64.tar.gz")
	if out, err := exec.Command("tar", "-C", dir, "-xzf", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	release := func(args ...string) (string, error) {
		cmd := exec.Command("make", args...)
		cmd.Dir, cmd.Env = filepath.Join(dir, "sentinel-1.2.3-linux-arm64"), []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := release(); err == nil || !strings.HasPrefix(out, "This is a release: ") {
		t.Errorf("make without a source: %v\n%s", err, out)
	}
	if out, err := release("install", "DESTDIR="+root); err != nil || strings.Contains(out, "No such file") {
		t.Fatalf("%v\n%s", err, out)
	}
	staged := t.TempDir()
	if out, err := made(t, "DESTDIR="+staged, "install"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(testenv.Modes(t, staged), testenv.Modes(t, root)); diff != "" {
		t.Errorf("a release installs other files than its source (-source +release):\n%s", diff)
	}
	if out, err := release("uninstall", "DESTDIR="+root); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if left := testenv.Modes(t, root); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// What make run shows of the guard is on a home of its own, which goes with it.
func TestRunLeavesTheHomeOfItsUser(t *testing.T) {
	testenv.Program(t, "script", "bsdutils")
	dir, home := t.TempDir(), t.TempDir()
	notes := filepath.Join(dir, "notes")
	program := `#!/bin/sh\nmkdir -p "$HOME/touched" && echo "${0##*/} $1 $2 $HOME ${MCP_POLICY_FILE-none} ${XDG_CONFIG_HOME-none}" >>` + notes + `\necho of ${0##*/} $1 $2\n`
	must(t, os.WriteFile(filepath.Join(dir, "go"), []byte(strings.Replace(dummyGo, `#!/bin/sh\n' >"$2"`, program+`' >"$2"`, 1)), 0o700))
	cmd := exec.Command(testenv.Program(t, "make", "make"), "GO="+filepath.Join(dir, "go"), "BIN="+filepath.Join(dir, "bin"), "run")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "HOME="+home, "MCP_POLICY_FILE=/nowhere", "XDG_CONFIG_HOME="+home, "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	must(t, err)
	raw, err := os.ReadFile(notes)
	must(t, err)
	guards := 0
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		if words[0] == "sentinel" && words[1] != "--no-pager" {
			t.Errorf("a pager would wait for a key: %q", line)
		}
		if words[0] != "sentinel-guard" {
			continue
		}
		guards++
		if words[3] == home || !strings.HasPrefix(words[3], dir) || words[4] != "none" || words[5] != "none" {
			t.Errorf("it runs with %q", line)
		}
		if _, err := os.Stat(words[3]); err == nil {
			t.Errorf("%s is left", words[3])
		}
	}
	if guards != 2 || !strings.Contains(string(out), "of sentinel-guard policy explain") || !strings.Contains(string(out), `files:read_text_file {"path":"../../.ssh/id_ed25519"}`) {
		t.Errorf("the guard ran %d times:\n%s", guards, out)
	}
}

// dummyNFPM writes a package as nfpm does, of the kind that it is asked for.
const dummyNFPM = `#!/bin/sh
test -x "$7/stage/usr/bin/sentinel" || exit 1
echo >"$7/$ARCH.$5"
`

func TestDistLeavesAReleaseAndNothingElse(t *testing.T) {
	dist, dir := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "go"), []byte(dummyGo), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "nfpm"), []byte(dummyNFPM), 0o700))
	cmd := exec.Command(testenv.Program(t, "make", "make"), "GO="+filepath.Join(dir, "go"), "RUN_NFPM="+filepath.Join(dir, "nfpm"), "DIST="+dist, "VERSION=1.2.3", "dist")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := []string{
		"SHA256SUMS", "amd64.deb", "amd64.rpm", "arm64.deb", "arm64.rpm", "bundle.mcpb",
		"sentinel-1.2.3-darwin-amd64.tar.gz", "sentinel-1.2.3-darwin-arm64.tar.gz", "sentinel-1.2.3-linux-amd64.tar.gz", "sentinel-1.2.3-linux-arm64.tar.gz",
	}
	entries, err := os.ReadDir(dist)
	must(t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("a release (-want +got):\n%s", diff)
	}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = dist
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != len(want)-1 {
		t.Errorf("%v\n%s", err, out)
	}
}

// zsh of Debian does not look into site-functions below /usr/share, and that of Fedora not into
// vendor-completions.
func TestPackagesPutCompletionsWhereTheirZshLooks(t *testing.T) {
	raw, err := os.ReadFile("../nfpm.yaml")
	must(t, err)
	for _, program := range []string{"sentinel", "sentinel-mcp", "sentinel-guard"} {
		for kind, dir := range map[string]string{"deb": "vendor-completions", "rpm": "site-functions"} {
			if want := "dst: /usr/share/zsh/" + dir + "/_" + program + ", packager: " + kind + ","; !strings.Contains(string(raw), want) {
				t.Errorf("nfpm.yaml lacks %q", want)
			}
		}
	}
}

// A container that may not change the packet filter starts without a failed unit.
func TestNothingIsRestoredWithoutTheRightToFilter(t *testing.T) {
	raw, err := os.ReadFile("../systemd/sentinel-restore.service")
	must(t, err)
	condition := regexp.MustCompile(`(?m)^ConditionCapability=.*$`).FindString(string(raw))
	testenv.Need(t, os.Geteuid() == 0, "only root may give up a capability for good")
	setpriv, analyze := testenv.Program(t, "setpriv", "util-linux"), testenv.Program(t, "systemd-analyze", "systemd")
	for bounds, want := range map[string]bool{"+all": true, "-net_admin": false} {
		out, err := exec.Command(setpriv, "--bounding-set="+bounds, analyze, "condition", condition).CombinedOutput()
		if met := err == nil; met != want {
			t.Errorf("%q with %s: %v, want %v: %s", condition, bounds, met, want, out)
		}
	}
}

// Who was killed for want of memory stands in the kernel's log, which CAP_SYSLOG opens where
// kernel.dmesg_restrict is 1, as on Debian (kernel/printk/printk.c, check_syslog_permissions).
func TestUnitsThatTellHealthMayReadTheKernelsLog(t *testing.T) {
	for _, unit := range []string{"report", "record", "metrics"} {
		raw, err := os.ReadFile("../systemd/sentinel-" + unit + ".service")
		must(t, err)
		text := string(raw)
		if !regexp.MustCompile(`(?m)^CapabilityBoundingSet=.*\bCAP_SYSLOG\b`).MatchString(text) ||
			!strings.Contains(text, "\nDevicePolicy=closed\nDeviceAllow=/dev/kmsg r\n") || strings.Contains(text, "\nProtectKernelLogs=yes") {
			t.Errorf("sentinel-%s.service cannot read it", unit)
		}
	}
}
