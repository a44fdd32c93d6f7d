// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
)

// What docs/install.md tells a person without any rights is typed as it stands, in
// a home of their own, with an archive as "make dist" makes it.
func TestWithoutRights(t *testing.T) {
	dist := filepath.Join(filepath.Dir(os.Args[0]), "dist") // which goes with the binary of the tests
	if os.Getenv("SENTINEL_TEST_INSIDE") == "" {
		archive := exec.Command(testenv.Program(t, "make", "make"), "archive", "DIST="+dist)
		archive.Dir = root
		if out, err := archive.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if !testenv.Isolated(t) {
		return
	}
	const theirs = "/home/person" // clients do not start what lies in a folder for temporary files
	run(t, "mount", "-t", "tmpfs", "tmpfs", "/home")
	found, err := filepath.Glob(dist + "/sentinel-*-linux-*.tar.gz")
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	run(t, "install", "-d", "-o", "nobody", theirs)
	run(t, "install", "-m", "644", "-t", theirs, found[0])

	person := exec.Command("/bin/bash", "-euo", "pipefail", "-c", block(t, "docs/install.md", "run: without-rights"))
	person.Dir, person.Env = theirs, []string{"HOME=" + theirs, "PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
	person.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: testenv.Nobody, Gid: testenv.Nobody}}
	out, err := person.CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"action":"system_health"`) {
		t.Errorf("%v\n%s", err, out)
	}
	if entry := read(t, theirs+"/.config/Claude/claude_desktop_config.json"); !strings.Contains(entry, theirs+"/.local/bin/sentinel-mcp") {
		t.Errorf("the client starts %s\n%s", entry, out)
	}
}

// block returns the commands of a page that follow a comment such as <!-- run: key -->.
func block(t *testing.T, page, mark string) string {
	t.Helper()
	_, rest, found := strings.Cut(read(t, filepath.Join(root, page)), "<!-- "+mark+" -->\n```sh\n")
	commands, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("%s has no block %q", page, mark)
	}
	return commands
}
