// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/test/assistant"
)

// A directory that a user keeps from being read, beside which there is a large file that everybody can write. The run
// answers, but no kernel lets it end before the directory is let go of.
func TestAHeldDirectoryHidesNothingBesideIt(t *testing.T) {
	if !isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	prepare(t)
	hideStores(t)
	if err := unix.Mount("tmpfs", "/opt", "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	const held, file = "/opt/eve", "/opt/bob/file"
	for _, dir := range []string{held, filepath.Dir(file)} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(held, eve, eve); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, told []string }{
		{[]string{"--disk-usage", "/opt"}, []string{`1 directory does not answer, such as '/opt/eve'`, file}},
		{[]string{"--security-audit"}, []string{`such as '/opt/eve' of user 4000`, file}},
	} {
		d, text := answersBeside(t, deadfuse.Hold(t, eve, held), c.args...)
		missing := slices.DeleteFunc(c.told, func(one string) bool { return strings.Contains(text, one) })
		if d["success"] != true || len(missing) > 0 {
			t.Errorf("%v: without %q: %s", c.args, missing, text)
		}
	}
}

// hideStores hides what builds have left at home: more files than a busy machine lists in the time of a check.
func hideStores(t *testing.T) {
	t.Helper()
	for _, name := range []string{".cache", "go"} {
		dir := filepath.Join("/root", name)
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil && !errors.Is(err, unix.ENOENT) {
			t.Fatal(err)
		}
	}
}

// answersBeside runs sentinel and returns its document, also as text, and then has what it waits for let go of.
func answersBeside(t *testing.T, release func(), args ...string) (d assistant.Document, text string) {
	t.Helper()
	cmd := exec.Command(sentinelIn("sentinel"), append(args, "--json")...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	err = json.NewDecoder(out).Decode(&d)
	release()
	if err != nil || cmd.Wait() != nil {
		t.Fatalf("%v: %v", args, err)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return d, strings.ReplaceAll(string(raw), `\"`, `'`)
}
