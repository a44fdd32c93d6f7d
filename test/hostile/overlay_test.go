// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/test/assistant"
)

// A program from an overlay over a user's own file system, which does not answer, called like the server of
// sessions. Who waits for it cannot be killed.
func TestNoRunWaitsForAFileSystemOfAUsers(t *testing.T) {
	if !isolated(t) {
		return
	}
	pid, hang, release := deadfuse.Overlaid(t, eve, "sshd")
	prepare(t)
	hang()
	for _, args := range [][]string{
		nil, {"--top"}, {"--process", fmt.Sprint(pid)}, {"--network-stats"}, {"--security-audit"}, {"--disk-usage", "/run"}, {"--logins"}, {"--containers"},
		{"--block-ip", "203.0.113.7", "--reason", "test", "--dry-run"}, {"--fix-firewall", "--dry-run"}, {"--kill", fmt.Sprint(pid), "--dry-run"},
	} {
		d := endsByItself(t, release, args...)
		text, err := json.Marshal(d)
		if err != nil || d["success"] != true || slices.Contains(args, "--process") && !strings.Contains(string(text), "/over/sshd") {
			t.Errorf("%v: %s, %v", args, text, err)
		}
	}
}

// endsByItself runs sentinel and returns its document, once it has ended.
func endsByItself(t *testing.T, release func(), args ...string) assistant.Document {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(sentinelIn("sentinel"), append(args, "--json")...)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(testenv.HangLimit):
		release()
		t.Fatalf("%v does not end", args)
	}
	var d assistant.Document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("%v: %v in %q", args, err, out.Bytes())
	}
	return d
}
