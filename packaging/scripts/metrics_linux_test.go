// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// writers returns the lines of a shell that write pages of metrics as root.
func writers(t *testing.T) map[string]string {
	t.Helper()
	lines := map[string]string{}
	for path, line := range map[string]string{
		"../systemd/sentinel-metrics.service":        `(?m)^ExecStart=/bin/sh -c '(.*)'$`,
		"../systemd/sentinel-metrics-hourly.service": `(?m)^ExecStart=/bin/sh -c '(.*)'$`,
		"../../docs/fleet.md":                        `(?m)^\* \* \* \* \* root cd \S+ && (.*)$`,
	} {
		raw, err := os.ReadFile(path)
		must(t, err)
		found := regexp.MustCompile(line).FindSubmatch(raw)
		if found == nil {
			t.Fatalf("%s writes nothing", path)
		}
		lines[path] = strings.ReplaceAll(strings.ReplaceAll(string(found[1]), "/usr/local/bin/", ""), "$$", "$")
	}
	return lines
}

// The folder above that of Debian's node_exporter belongs to its user, who can so put another in
// its place, with links to files of root.
func TestMetricsAreNotWrittenThroughLinks(t *testing.T) {
	for path, line := range writers(t) {
		for _, page := range []string{"sentinel.prom", "sentinel-check-updates.prom", "sentinel-verify-journal.prom"} {
			for _, ending := range []string{".new", ""} {
				testMetricsLink(t, path, line, page+ending)
			}
		}
	}
}

func testMetricsLink(t *testing.T, path, line, link string) {
	t.Helper()
	dir, elsewhere := t.TempDir(), t.TempDir()
	victim := filepath.Join(elsewhere, "victim")
	must(t, os.WriteFile(victim, []byte("of root"), 0o600))
	must(t, os.WriteFile(filepath.Join(elsewhere, "sentinel"), []byte("#!/bin/sh\necho page\n"), 0o700))
	target := victim
	if !strings.HasSuffix(link, ".new") {
		target = filepath.Join(elsewhere, "folder")
		must(t, os.Mkdir(target, 0o700))
	}
	must(t, os.Symlink(target, filepath.Join(dir, link)))
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + elsewhere + ":/usr/bin:/bin"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s, %s is a link: %v\n%s", path, link, err, out)
	}
	if raw, err := os.ReadFile(victim); err != nil || string(raw) != "of root" {
		t.Errorf("%s, %s is a link: the file it leads to holds %q, %v", path, link, raw, err)
	}
	if in, err := os.ReadDir(filepath.Join(elsewhere, "folder")); err == nil && len(in) > 0 {
		t.Errorf("%s, %s is a link: in the folder it leads to is %s", path, link, in[0].Name())
	}
}
