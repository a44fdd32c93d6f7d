// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package know asks about a machine through sentinel-mcp as an assistant would:
// a real client, both programs as they are shipped, and a network of the test's own.
package know

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

// programs names the variable that holds the directory of the three programs.
const programs = "SENTINEL_TEST_PROGRAMS"

// own is the address of the machine in its one network, and silent a neighbour
// that never answers.
const (
	own    = "10.9.8.1"
	silent = "10.9.8.2"
)

// onMachine runs the test in namespaces of its own, as [testenv.Isolated] does,
// with the programs built before, and reports whether this is there.
func onMachine(t *testing.T) bool {
	t.Helper()
	if os.Getenv("SENTINEL_TEST_INSIDE") == t.Name() {
		testenv.RequireIsolated(t)
		furnish(t)
		return true
	}
	testenv.Namespaces(t)
	dir, root := t.TempDir(), filepath.Join("..", "..")
	assistant.Build(t, root, dir, "./cmd/sentinel", "./cmd/sentinel-mcp")
	assistant.Build(t, filepath.Join(root, "test", "interop"), dir, "./client")
	ip := testenv.Program(t, "ip", "iproute2")
	return testenv.Inside(t, programs+"="+dir,
		testenv.Program(t, "unshare", "util-linux"), "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
		"/bin/sh", "-c", ip+` link set lo up && exec "$@"`, "sh")
}

// furnish gives the machine a network, and a configuration and a state that
// nobody else sees.
func furnish(t *testing.T) {
	t.Helper()
	for _, words := range []string{
		"ip link add near0 type veth peer name far0",
		"ip addr add " + own + "/24 dev near0",
		"ip link set near0 up",
		"ip link set far0 up",
		"ip neigh add " + silent + " lladdr 02:00:00:00:00:02 dev near0", // nobody's: what is sent there is lost
	} {
		do(t, strings.Fields(words)...)
	}
	scratch := t.TempDir()
	do(t, "mount", "-t", "tmpfs", "tmpfs", scratch)
	for _, directory := range []string{"/etc", "/var/lib", "/var/log"} {
		overlay(t, directory, filepath.Join(scratch, directory))
	}
	do(t, "umount", "--lazy", scratch) // the overlays keep it
	resolve(t, "127.0.0.1")
}

// overlay makes a directory writable without changing the one below.
func overlay(t *testing.T, directory, scratch string) {
	t.Helper()
	upper, work := filepath.Join(scratch, "upper"), filepath.Join(scratch, "work")
	for _, path := range []string{upper, work} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	do(t, "mount", "-t", "overlay", "overlay", "-o", "lowerdir="+directory+",upperdir="+upper+",workdir="+work, directory)
	var s unix.Statfs_t
	if err := unix.Statfs(directory, &s); err != nil || s.Type != unix.OVERLAYFS_SUPER_MAGIC {
		t.Fatalf("%s is not an overlay: %v", directory, err)
	}
}

// resolve makes a name server that of the machine.
func resolve(t *testing.T, server string) {
	t.Helper()
	testenv.RequireIsolated(t)
	os.Remove("/etc/resolv.conf") // which may be a link
	put(t, "/etc/resolv.conf", "nameserver "+server+"\noptions timeout:1 attempts:1\n")
}

// configure writes the configuration, for as long as the test runs.
func configure(t *testing.T, content string) {
	t.Helper()
	testenv.RequireIsolated(t)
	if err := os.MkdirAll("/etc/sentinel", 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, "/etc/sentinel/config.yaml", content)
	t.Cleanup(func() { os.Remove("/etc/sentinel/config.yaml") })
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func do(t *testing.T, words ...string) {
	t.Helper()
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
}

func program(name string) string { return filepath.Join(os.Getenv(programs), name) }

func connect(t *testing.T, options ...string) *assistant.Session {
	t.Helper()
	return assistant.Start(t, append([]string{program("client"), program("sentinel-mcp")}, options...)...)
}

// running counts the runs of sentinel in this process namespace that are not
// over.
func running(t *testing.T) (n int) {
	t.Helper()
	var wanted syscall.Stat_t
	if err := syscall.Stat(program("sentinel"), &wanted); err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range list {
		var found syscall.Stat_t
		if syscall.Stat(link, &found) == nil && found.Dev == wanted.Dev && found.Ino == wanted.Ino {
			n++
		}
	}
	return n
}
