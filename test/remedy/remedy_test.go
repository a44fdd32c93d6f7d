// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package remedy changes a machine through sentinel-mcp as an assistant would:
// a real client, the shipped rules of sudo, an ordinary user, a booted systemd and real
// packets.
package remedy

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

// units are what there is to restart and to end.
var units = map[string]string{
	"good.service":     service("ExecStart=/bin/sleep infinity\n"),
	"crashing.service": service("ExecStart=/bin/sh -c 'echo it hurts; sleep 0.2; exit 3'\n"),
	"stubborn.service": service("ExecStart=/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'\nTimeoutStopSec=600\n"),
	"off.service":      service("ExecStart=/bin/sleep infinity\n"),
}

func service(body string) string {
	return "[Service]\n" + body + "[Install]\nWantedBy=multi-user.target\n"
}

// onMachine runs the test on a booted machine where sentinel is installed, and
// reports whether this is there.
func onMachine(t *testing.T) bool {
	t.Helper()
	if os.Getenv("SENTINEL_TEST_INSIDE") == t.Name() {
		return testenv.Booted(t, nil)
	}
	testenv.Namespaces(t)
	dir, root := t.TempDir(), filepath.Join("..", "..")
	assistant.Build(t, root, dir, "./cmd/sentinel", "./cmd/sentinel-mcp")
	assistant.Build(t, filepath.Join(root, "test", "interop"), dir, "./client")
	files := map[string]string{}
	for _, name := range []string{"sentinel", "sentinel-mcp", "client"} {
		files[filepath.Join(dir, name)] = "/shipped/" + name
	}
	for _, name := range []string{"sudoers.d/sentinel", "systemd/sentinel-restore.service", "systemd/sentinel-report.service", "systemd/sentinel-report.timer", "systemd/sentinel-record.service", "systemd/sentinel-record.timer"} {
		path, err := filepath.Abs(filepath.Join(root, "packaging", name))
		if err != nil {
			t.Fatal(err)
		}
		files[path] = "/shipped/" + filepath.Base(filepath.Dir(name)) + "-" + filepath.Base(name)
	}
	if _, err := os.Stat(syslogPackages); err == nil {
		files[syslogPackages] = "/shipped/rsyslog"
	}
	all := maps.Clone(units)
	maps.Copy(all, sick)
	maps.Copy(all, filling)
	maps.Copy(all, tied)
	return testenv.BootedWith(t, all, files)
}

// install puts sentinel where a package would, and makes the user who may use
// it.
func install(t *testing.T) {
	t.Helper()
	testenv.RequireIsolated(t)
	do(t, "install", "-m", "755", "/shipped/sentinel", "/shipped/sentinel-mcp", "/shipped/client", "/usr/local/bin")
	do(t, "install", "-m", "440", "/shipped/sudoers.d-sentinel", "/etc/sudoers.d/sentinel")
	// Without its timer, which could put back first what a test has flushed.
	do(t, "install", "-m", "644", "/shipped/systemd-sentinel-restore.service", "/etc/systemd/system/sentinel-restore.service")
	do(t, "groupadd", "--system", "sentinel")
	do(t, "useradd", "--create-home", "--groups", "sentinel", "pat")
	do(t, "systemctl", "daemon-reload")
}

func do(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// connect starts a client of sentinel-mcp as the user pat.
func connect(t *testing.T, options ...string) *assistant.Session {
	t.Helper()
	words := []string{"setpriv", "--reuid=pat", "--regid=pat", "--init-groups", "--reset-env", "/usr/local/bin/client", "/usr/local/bin/sentinel-mcp"}
	return assistant.Start(t, append(words, options...)...)
}

// history returns the newest action in the journal, as root sees it.
func history(t *testing.T) map[string]any {
	t.Helper()
	var d struct {
		Actions []map[string]any `json:"actions"`
	}
	if err := json.Unmarshal([]byte(do(t, "/usr/local/bin/sentinel", "--history", "--last", "1")), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Actions) != 1 {
		t.Fatal("the journal is empty")
	}
	return d.Actions[0]
}

// verified checks that the journal is whole.
func verified(t *testing.T) {
	t.Helper()
	if out := do(t, "/usr/local/bin/sentinel", "--verify-journal"); !strings.Contains(out, `"problems_total":0`) {
		t.Errorf("the journal is damaged: %s", out)
	}
}
