// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package hostile runs sentinel as root beside processes of a user who wants it to fail, in namespaces
// of their own.
package hostile

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/test/assistant"
)

// eve is the user ID of somebody with an ordinary account.
const eve = 4000

// isolated runs the test in namespaces of its own.
func isolated(t *testing.T) bool {
	t.Helper()
	if os.Getenv("SENTINEL_TEST_INSIDE") != t.Name() {
		assistant.Build(t, filepath.Join("..", ".."), filepath.Dir(os.Args[0]), "./cmd/sentinel")
	}
	return testenv.Isolated(t)
}

// prepare gives sentinel directories of its own and the network an address.
func prepare(t *testing.T) {
	t.Helper()
	for dir, mode := range map[string]string{"/var/lib": "mode=755", "/var/log": "mode=755", "/run": "mode=755", "/mnt": "mode=755"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("/run/sshd", 0o755); err != nil { // of the package, on a machine that has it
		t.Fatal(err)
	}
	do(t, "ip", "link", "add", "d0", "type", "veth", "peer", "name", "p0")
	do(t, "ip", "addr", "add", here+"/24", "dev", "d0")
	do(t, "ip", "link", "set", "d0", "up")
}

const here = "192.0.2.1"

func do(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(testenv.Program(t, name, name), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return string(out)
}

// ask runs sentinel and returns its document.
func ask(t *testing.T, args ...string) assistant.Document {
	t.Helper()
	out, err := exec.Command(filepath.Join(filepath.Dir(os.Args[0]), "sentinel"), append(args, "--json")...).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var d assistant.Document
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v: %v in %q", args, err, out)
	}
	return d
}

// succeed runs sentinel, which has to succeed.
func succeed(t *testing.T, args ...string) assistant.Document {
	t.Helper()
	d := ask(t, args...)
	if d["success"] != true {
		t.Errorf("%v: %v", args, d)
	}
	return d
}

// blocksWork checks that a block can be made, with and without force, and comes back after it was flushed.
func blocksWork(t *testing.T) {
	t.Helper()
	succeed(t, "--block-ip", "203.0.113.7", "--reason", "test")
	succeed(t, "--block-ip", "203.0.113.8", "--reason", "test", "--force")
	do(t, "nft", "flush", "ruleset")
	d := succeed(t, "--restore-blocklist")
	if list, ok := d["blocklist"].(map[string]any); !ok || list["added"] != 2.0 {
		t.Errorf("restored: %v", d)
	}
	if d = succeed(t, "--list-blocked"); d["in_sync"] != true {
		t.Errorf("listed: %v", d)
	}
}

// gap returns why a field is absent.
func gap(d assistant.Document, field string) string {
	list, _ := d["unavailable"].([]any)
	for _, g := range list {
		if g := g.(map[string]any); g["field"] == field {
			return fmt.Sprint(g["reason"])
		}
	}
	return ""
}

// A process whose memory nobody can read, called like the server of sessions, with a connection.
func TestStuckProcessHangsNothing(t *testing.T) {
	if !isolated(t) {
		return
	}
	deadfuse.Become()
	prepare(t)
	pid := deadfuse.Process(t, eve, "sshd", connections(t, 1)...)
	succeed(t)
	named := fmt.Sprintf(`"sshd" (PID %d)`, pid)
	if d := succeed(t, "--top", "--top-count", "100"); !strings.Contains(gap(d, "processes.command"), named) {
		t.Errorf("top does not name what it could not read: %v", d["unavailable"])
	}
	blocksWork(t)
	succeed(t, "--network-stats")
	succeed(t, "--fix-firewall", "--dry-run")
	if d := ask(t, "--kill", fmt.Sprint(pid)); d["error_code"] != "STILL_RUNNING" || !strings.Contains(fmt.Sprint(d["error"]), "state D") {
		t.Errorf("kill: %v", d)
	}
}

// connections opens so many over the network and returns their ends on one side.
func connections(t *testing.T, n int) []*os.File {
	t.Helper()
	l, err := net.Listen("tcp", here+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var ends []*os.File
	for range n {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		other, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		other.(*net.TCPConn).SetLinger(0)
		t.Cleanup(func() { other.Close() })
		end, err := c.(*net.TCPConn).File()
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		t.Cleanup(func() { end.Close() })
		ends = append(ends, end)
	}
	return ends
}
