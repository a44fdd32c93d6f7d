// SPDX-License-Identifier: Apache-2.0

//go:build unix

package macos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

// launchctl replaces Apple's. jobs/LABEL is a job that is loaded; it holds how often print
// still finds it after bootout, or "stays". "failures" holds how many times bootstrap fails for no reason.
const launchctl = `#!/bin/sh
cd "$MAC" && echo "launchctl $*" >>log
label=${2##*/}; label=${label%.plist}; [ "$1" != bootstrap ] || { label=${3##*/}; label=${label%.plist}; }
job=jobs/$label
case $1 in
  print)
    [ -e "$job" ] || exit 113
    left=$(cat "$job"); [ "$left" != stays ] || exit 0
    [ -e "$job.ending" ] || exit 0
    [ "$left" -gt 0 ] || { rm "$job" "$job.ending"; exit 113; }
    echo $((left - 1)) >"$job" ;;
  bootout)
    [ -e "$job" ] || exit 3
    : >"$job.ending"
    echo "Boot-out failed: 36: Operation now in progress" >&2; exit 36 ;;
  bootstrap)
    left=$(cat failures); [ "$left" = 0 ] || echo $((left - 1)) >failures
    [ "$left" = 0 ] && [ ! -e "$job" ] || { echo "Bootstrap failed: 5: Input/output error" >&2; exit 5; }
    echo 0 >"$job" ;;
esac
`

// A fakeMac is a folder in which the scripts find what they name by absolute paths on a Mac.
type fakeMac struct{ dir string }

// newMac returns one with these jobs loaded, see [launchctl].
func newMac(t *testing.T, jobs map[string]string, failures int) fakeMac {
	t.Helper()
	files := map[string]string{
		"tools/launchctl": launchctl, "tools/sleep": "#!/bin/sh\necho \"sleep $1\" >>\"$MAC/log\"\n", "failures": fmt.Sprint(failures), "jobs/": "", "log": "",
		"opt/share/sentinel/sudoers": "%sentinel ALL=(root) NOPASSWD: /usr/local/bin/sentinel --request get_asset_info\n", "opt/share/sentinel/config.yaml": "",
		"Library/LaunchDaemons/com.sentinel.restore.plist": "", "Library/LaunchDaemons/com.sentinel.report.plist": "", "private/etc/": "", "var/lib/sentinel/": "",
	}
	for _, tool := range []string{"dseditgroup", "visudo", "chown", "pfctl", "pkgutil", "id"} {
		files["tools/"+tool] = "#!/bin/sh\n[ " + tool + " != id ] || echo 0\ncase $* in *-F\\ all) echo flush >>\"$MAC/log\" ;; esac\n"
	}
	files["tools/sudo"] = "#!/bin/sh\necho \"as $3\" >>\"$MAC/as\"\nshift 3\nexec \"$@\"\n"
	files["tools/stat"] = fmt.Sprintf("#!/bin/sh\necho %d\n", os.Geteuid())
	for label, left := range jobs {
		files["jobs/"+label] = left
	}
	return fakeMac{testenv.Plant(t, files)}
}

// run runs a script whose absolute paths are below the folder, and returns what it said and what
// it asked of launchd.
func (m fakeMac) run(t *testing.T, script string) (said, log string) {
	t.Helper()
	raw, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, dir := range []string{"/private/etc", "/Library", "/var/lib", "/etc/", "/Users"} {
		text = strings.ReplaceAll(text, dir, "\x00"+dir)
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "/private\x00/etc", "/private/etc"), "\x00", m.dir)
	for _, tool := range []string{"/bin/launchctl", "/usr/sbin/dseditgroup", "/usr/sbin/visudo", "/sbin/pfctl", "/usr/sbin/pkgutil", "/usr/bin/sudo", "/usr/bin/stat"} {
		text = strings.ReplaceAll(text, tool, filepath.Join(m.dir, "tools", filepath.Base(tool)))
	}
	text = strings.Replace(text, "\nPATH=", "\nPATH="+m.dir+"/tools:", 1)
	text = strings.Replace(text, "\nbin=/usr/local/bin", "\nbin="+m.dir+"/opt/bin", 1)
	if strings.Contains(text, "=/usr/local") || strings.Contains(text, " /Library") || strings.Contains(text, " /etc") {
		t.Fatalf("%s would act on this machine:\n%s", script, text)
	}
	cmd := exec.Command("/bin/sh", "-s")
	cmd.Stdin, cmd.Env = strings.NewReader(text), append(os.Environ(), "MAC="+m.dir, "PREFIX="+m.dir+"/opt")
	cmd.Dir = m.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	asked, err := os.ReadFile(filepath.Join(m.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(out), strings.ReplaceAll(string(asked), m.dir, "")
}

func (m fakeMac) loaded(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(m.dir, "jobs"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

const (
	restoreJob = "com.sentinel.restore"
	reportJob  = "com.sentinel.report"
	recordJob  = "com.sentinel.record"
)

// recorded is how the job of the recorder is loaded, after the others.
const recorded = `launchctl bootout system/com.sentinel.record
launchctl print system/com.sentinel.record
launchctl bootstrap system /Library/LaunchDaemons/com.sentinel.record.plist
`

func TestJobsAreLoadedWhenTheFormerOnesAreGone(t *testing.T) {
	for name, c := range map[string]struct {
		jobs     map[string]string
		failures int
		loaded   []string
		log      string
		says     string
	}{
		"the first installation": {nil, 0, []string{recordJob, restoreJob}, `launchctl print system/com.sentinel.report
launchctl bootout system/com.sentinel.restore
launchctl print system/com.sentinel.restore
launchctl bootstrap system /Library/LaunchDaemons/com.sentinel.restore.plist
` + recorded, ""},
		"both end slowly": {map[string]string{restoreJob: "2", reportJob: "1"}, 0, []string{recordJob, reportJob, restoreJob}, `launchctl print system/com.sentinel.report
launchctl bootout system/com.sentinel.report
launchctl print system/com.sentinel.report
sleep 1
launchctl print system/com.sentinel.report
launchctl bootstrap system /Library/LaunchDaemons/com.sentinel.report.plist
launchctl bootout system/com.sentinel.restore
launchctl print system/com.sentinel.restore
sleep 1
launchctl print system/com.sentinel.restore
sleep 1
launchctl print system/com.sentinel.restore
launchctl bootstrap system /Library/LaunchDaemons/com.sentinel.restore.plist
` + recorded, ""},
		"the second try": {nil, 1, []string{recordJob, restoreJob}, `launchctl print system/com.sentinel.report
launchctl bootout system/com.sentinel.restore
launchctl print system/com.sentinel.restore
launchctl bootstrap system /Library/LaunchDaemons/com.sentinel.restore.plist
sleep 2
launchctl bootstrap system /Library/LaunchDaemons/com.sentinel.restore.plist
` + recorded, ""},
		"one that does not end": {map[string]string{restoreJob: "stays"}, 0, nil, `launchctl print system/com.sentinel.report
launchctl bootout system/com.sentinel.restore
` + strings.Repeat("launchctl print system/com.sentinel.restore\nsleep 1\n", 15) +
			`launchctl bootstrap system /Library/LaunchDaemons/com.sentinel.restore.plist
sleep 2
launchctl bootstrap system /Library/LaunchDaemons/com.sentinel.restore.plist
` + recorded, "launchd did not take com.sentinel.restore; see why with: sudo "},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMac(t, c.jobs, c.failures)
			said, log := m.run(t, "postinstall")
			if diff := cmp.Diff(c.log, log); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.loaded, m.loaded(t)); c.loaded != nil && diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(said, c.says) || c.says == "" && strings.Contains(said, "launchd") || !strings.Contains(said, "Installed.") {
				t.Errorf("%q", said)
			}
		})
	}
}

// A run of the job that has not ended might block again what is lifted.
func TestBlocksAreLiftedWhenTheJobIsGone(t *testing.T) {
	m := newMac(t, map[string]string{restoreJob: "1"}, 0)
	_, log := m.run(t, "uninstall.sh")
	want := `launchctl bootout system/com.sentinel.report
launchctl print system/com.sentinel.report
launchctl bootout system/com.sentinel.record
launchctl print system/com.sentinel.record
launchctl bootout system/com.sentinel.restore
launchctl print system/com.sentinel.restore
sleep 1
launchctl print system/com.sentinel.restore
flush
`
	if diff := cmp.Diff(want, log); diff != "" {
		t.Error(diff)
	}
}

// Without the guard, what clients start through it fails in words that tell nobody why.
func TestRemovalNamesWhoseServersAreBehindTheGuard(t *testing.T) {
	const warning = "cannot start them any longer:"
	m := newMac(t, nil, 0)
	if said, _ := m.run(t, "uninstall.sh"); strings.Contains(said, warning) {
		t.Error(said)
	}
	m = newMac(t, nil, 0)
	for file, text := range map[string]string{
		"ann/Library/Application Support/Claude/claude_desktop_config.json": `{"mcpServers": {"a": {"command": "/opt/sentinel/bin/sentinel-guard", "args": []}}}`,
		"Shared/.claude.json": `{"mcpServers": {"a": {"command": "sentinel-guard"}}}`,
		"bob b/.claude.json":  `{"mcpServers": {"a": {"command": "npx", "args": ["sentinel-guard"]}}}`,
	} {
		path := filepath.Join(m.dir, "Users", file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said, _ := m.run(t, "uninstall.sh"); !strings.Contains(said, warning+" ann\n") || !strings.Contains(said, `"sentinel-guard unwrap --all"`) {
		t.Error(said)
	}
	// Root itself would follow a user's link anywhere.
	as, err := os.ReadFile(filepath.Join(m.dir, "as"))
	if want := strings.Repeat(fmt.Sprintf("as #%d\n", os.Geteuid()), 2); err != nil || string(as) != want {
		t.Errorf("read %q, %v; want %q", as, err, want)
	}
}

func TestMarkOfABrowserIsTakenOff(t *testing.T) {
	dir := testenv.Plant(t, map[string]string{"xattr": `#!/bin/sh
case $1:$3 in
  -p:*/sentinel-*) exit 1 ;;
  -d:*) echo "${3#"$DESTDIR"}" >>"$MAC/log" ;;
esac
`, "log": ""})
	from := release(t)
	script := filepath.Join(from, "packaging/macos/install.sh")
	raw, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(strings.ReplaceAll(string(raw), "/usr/bin/xattr", dir+"/xattr")), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", script)
	cmd.Env = append(os.Environ(), "DESTDIR="+t.TempDir(), "PREFIX=/opt/sentinel", "MAC="+dir)
	out, err := cmd.CombinedOutput()
	if want := "A browser has marked sentinel as downloaded"; err != nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "marked sentinel-") {
		t.Errorf("%v, %s", err, out)
	}
	if log, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || string(log) != "/opt/sentinel/bin/sentinel\n" {
		t.Errorf("%q, %v", log, err)
	}
}
