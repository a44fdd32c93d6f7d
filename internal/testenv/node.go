// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// NodePackages returns the folder of the MCP clients and servers that test/clients/package.json
// names. They are fetched once, by whichever test needs them first.
func NodePackages(t testing.TB) string {
	t.Helper()
	dir := nodeDirectory(t)
	lock, err := os.Open(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	// Tests of other packages must not look at half of what npm writes.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	_, err = exec.LookPath("npm")
	Need(t, err == nil, "the programs node and npm")
	if !nodeComplete(t, dir) {
		cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		Need(t, err == nil, fmt.Sprintf("what npm ci fetches from its registry: %v\n%s", err, out))
	}
	return dir
}

// nodeDirectory finds test/clients above the working directory of the test.
func nodeDirectory(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		found := filepath.Join(dir, "test", "clients")
		if _, missing := os.Stat(filepath.Join(found, "package.json")); missing == nil {
			return found
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no test/clients above the test: %v", err)
	return ""
}

// nodeComplete says whether what package.json names is there.
func nodeComplete(t testing.TB, dir string) bool {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var wanted struct{ Dependencies map[string]string }
	if err := json.Unmarshal(raw, &wanted); err != nil {
		t.Fatal(err)
	}
	for name := range wanted.Dependencies {
		if _, err := os.Stat(filepath.Join(dir, "node_modules", name, "package.json")); err != nil {
			return false
		}
	}
	return true
}

// Node returns a node that the Inspector and the conformance suite run on: the one that comes with
// the clients, else the system's, which Debian 12 has too old.
func Node(t testing.TB) string {
	t.Helper()
	architecture := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	shipped := filepath.Join(nodeDirectory(t), "node_modules", "node-linux-"+architecture, "bin", "node")
	if exec.Command(shipped, "--version").Run() == nil {
		return shipped
	}
	out, err := exec.Command("node", "--version").Output()
	var major, minor int
	_, scanErr := fmt.Sscanf(string(out), "v%d.%d", &major, &minor)
	recent := err == nil && scanErr == nil && (major > 22 || major == 22 && minor >= 19)
	Need(t, recent, "node 22.19 or later")
	return "node"
}
