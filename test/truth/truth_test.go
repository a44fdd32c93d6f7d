// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// deadline bounds every wait for a condition. It is far longer than anything
// here takes; only a test that fails comes near it.
const deadline = 60 * time.Second

// TestMain lets this binary also play the processes that tests look at.
func TestMain(m *testing.M) {
	if name := os.Getenv(roleVar); name != "" {
		os.Exit(play(name))
	}
	inherited := os.Getenv(builtVar) != ""
	status := m.Run()
	if dir := os.Getenv(builtVar); dir != "" && !inherited {
		os.RemoveAll(dir) // left over at worst
	}
	os.Exit(status)
}

// builtVar names the directory of the binary, so that a test inside namespaces
// finds what was built outside.
const builtVar = "SENTINEL_TRUTH_BUILT"

// sentinelBinary builds sentinel once for all tests and returns its path.
func sentinelBinary(t *testing.T) string {
	t.Helper()
	path, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var builtOnce = sync.OnceValues(build)

func build() (string, error) {
	if dir := os.Getenv(builtVar); dir != "" {
		return filepath.Join(dir, "sentinel"), nil
	}
	dir, err := os.MkdirTemp("", "sentinel-truth-")
	if err != nil {
		return "", err
	}
	// TestMain removes what this names.
	if err := os.Setenv(builtVar, dir); err != nil {
		return "", err
	}
	// Other users run the binary too.
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "sentinel")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", path, "sentinel/cmd/sentinel").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build sentinel: %w\n%s", err, out)
	}
	return path, nil
}

// askSentinel runs sentinel with args and decodes its document into doc.
func askSentinel(t *testing.T, doc any, args ...string) {
	t.Helper()
	decode(t, output(t, sentinelBinary(t), args...), doc)
}

func decode(t *testing.T, raw []byte, doc any) {
	t.Helper()
	if err := json.Unmarshal(raw, doc); err != nil {
		t.Fatalf("sentinel printed no JSON document: %v\n%s", err, raw)
	}
}

// output runs a program that must succeed and returns what it printed.
func output(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	return finish(t, exec.CommandContext(t.Context(), name, args...))
}

func finish(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(cmd.Environ(), "LC_ALL=C")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes()
}

// needTool skips when a program is missing, and names the Debian package that
// brings it.
func needTool(t *testing.T, name, debian string) {
	t.Helper()
	_, err := exec.LookPath(name)
	testenv.Need(t, err == nil, fmt.Sprintf("%s is not installed (Debian package %s)", name, debian))
}

// eventually repeats try until it returns "", and tells its last answer if that
// never happens.
func eventually(t *testing.T, try func() string) {
	t.Helper()
	var wrong string
	defer func() {
		if wrong != "" {
			t.Log("still wrong: " + wrong)
		}
	}()
	testenv.WaitFor(t, "an answer that is right", func() bool {
		wrong = try()
		return wrong == ""
	})
}
