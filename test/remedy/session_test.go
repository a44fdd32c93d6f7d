// SPDX-License-Identifier: Apache-2.0

//go:build linux

package remedy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

const installed = "/usr/local/bin/sentinel"

// logind lets the owner of a session send any signal to everything in it, and sends it as root. A run
// that was begun there through sudo has left.
func TestTheOwnerOfASessionCannotStopARunOfRoot(t *testing.T) {
	dir := filepath.Dir(os.Args[0])
	if os.Getenv("SENTINEL_TEST_INSIDE") != t.Name() {
		assistant.Build(t, filepath.Join("..", ".."), dir, "./cmd/sentinel")
	}
	if !testenv.BootedWith(t, nil, map[string]string{filepath.Join(dir, "sentinel"): installed}) {
		return
	}
	do(t, "useradd", "-m", "member")
	rule := "member ALL=(root) NOPASSWD: " + installed + " --request get_top_processes\n"
	if err := os.WriteFile("/etc/sudoers.d/member", []byte(rule), 0o440); err != nil {
		t.Fatal(err)
	}
	do(t, "systemctl", "start", "systemd-logind")
	login := exec.Command("su", "-", "member", "-c", "sudo -n "+installed+" --request get_top_processes")
	var out bytes.Buffer
	login.Stdout, login.Stderr = &out, os.Stderr
	stdin, err := login.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	sudo, run := 0, 0
	testenv.WaitFor(t, "a run of root that waits for its request", func() bool {
		sudo, run = commands("sudo -n "+installed), commands(installed+" --request")
		groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", run))
		return sudo != 0 && err == nil && !strings.Contains(string(groups), "/session-") // the last step of leaving
	})
	session := sessionOf(t, sudo)
	signal := func(name string) {
		do(t, "setpriv", "--reuid", "member", "--regid", "member", "--clear-groups", "loginctl", "kill-session", session, "--signal", name)
	}
	signal("STOP")
	testenv.WaitFor(t, "a stopped session", func() bool { return stateOf(sudo) == "T" })
	if got := stateOf(run); got == "T" {
		t.Error("the owner of the session has stopped the run of root")
	}
	signal("KILL")
	login.Process.Kill() // su itself is root's
	if _, err := stdin.Write([]byte("{}")); err != nil {
		t.Error(err)
	}
	stdin.Close()
	login.Wait()
	var d assistant.Document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil || d["success"] != true {
		t.Errorf("%v: %q", err, out.String())
	}
}

// commands returns a process whose command line begins so, or 0.
func commands(line string) (pid int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		raw, err := os.ReadFile(path)
		if err == nil && strings.HasPrefix(strings.ReplaceAll(string(raw), "\x00", " "), line) {
			fmt.Sscanf(path, "/proc/%d/", &pid)
		}
	}
	return pid
}

func sessionOf(t *testing.T, pid int) string {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`/session-(\w+)\.scope`).FindSubmatch(raw)
	if found == nil {
		t.Fatalf("process %d is in no session: %s", pid, raw)
	}
	return string(found[1])
}

// stateOf is the third field of proc_pid_stat(5).
func stateOf(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, found := strings.Cut(string(raw), ") ")
	if err != nil || !found {
		return ""
	}
	return after[:1]
}
