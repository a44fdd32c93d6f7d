// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package remedy changes a machine through sentinel-mcp as an assistant would:
// a real client, the shipped rules of sudo, an ordinary user, a booted systemd and real
// packets.
package remedy

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sentinel/internal/testenv"
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
	build(t, root, dir, "./cmd/sentinel", "./cmd/sentinel-mcp")
	build(t, filepath.Join(root, "test", "interop"), dir, "./client")
	files := map[string]string{}
	for _, name := range []string{"sentinel", "sentinel-mcp", "client"} {
		files[filepath.Join(dir, name)] = "/shipped/" + name
	}
	for _, name := range []string{"sudoers.d/sentinel", "systemd/sentinel-restore.service", "systemd/sentinel-restore.timer"} {
		path, err := filepath.Abs(filepath.Join(root, "packaging", name))
		if err != nil {
			t.Fatal(err)
		}
		files[path] = "/shipped/" + filepath.Base(filepath.Dir(name)) + "-" + filepath.Base(name)
	}
	return testenv.BootedWith(t, units, files)
}

func build(t *testing.T, module, into string, packages ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-o", into + "/"}, packages...)...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %v: %v\n%s", packages, err, out)
	}
}

// install puts sentinel where a package would, and makes the user who may use
// it.
func install(t *testing.T) {
	t.Helper()
	testenv.Alone(t)
	do(t, "install", "-m", "755", "/shipped/sentinel", "/shipped/sentinel-mcp", "/shipped/client", "/usr/local/bin")
	do(t, "install", "-m", "440", "/shipped/sudoers.d-sentinel", "/etc/sudoers.d/sentinel")
	do(t, "install", "-m", "644", "-t", "/etc/systemd/system", "/shipped/systemd-sentinel-restore.service", "/shipped/systemd-sentinel-restore.timer")
	for _, name := range []string{"service", "timer"} {
		if err := os.Rename("/etc/systemd/system/systemd-sentinel-restore."+name, "/etc/systemd/system/sentinel-restore."+name); err != nil {
			t.Fatal(err)
		}
	}
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

// A session is a client of sentinel-mcp, as the user pat.
type session struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
}

func connect(t *testing.T, options ...string) *session {
	t.Helper()
	args := append([]string{"--reuid=pat", "--regid=pat", "--init-groups", "--reset-env", "/usr/local/bin/client", "/usr/local/bin/sentinel-mcp"}, options...)
	cmd := exec.Command("setpriv", args...)
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client: %v", err)
		}
	})
	s := &session{t: t, in: in, out: bufio.NewScanner(out)}
	s.out.Buffer(nil, 1<<20)
	return s
}

// A document is what the assistant gets.
type document map[string]any

// call calls a tool and returns its document. want is the error code that it
// shall have, empty for a success.
func (s *session) call(want, tool string, arguments map[string]any) document {
	s.t.Helper()
	line, err := json.Marshal(map[string]any{"tool": tool, "arguments": arguments})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		s.t.Fatal(err)
	}
	if !s.out.Scan() {
		s.t.Fatalf("%s: no answer: %v", tool, s.out.Err())
	}
	var answer struct {
		IsError  bool     `json:"is_error"`
		Document document `json:"document"`
	}
	if err := json.Unmarshal(s.out.Bytes(), &answer); err != nil {
		s.t.Fatalf("%v in %s", err, s.out.Text())
	}
	d := answer.Document
	if d.text("error_code") != want || answer.IsError != (want != "") {
		s.t.Errorf("%s %s: %s, want code %q", tool, line, s.out.Text(), want)
	}
	if want != "" && (d.text("error") == "" || d.text("fix") == "") {
		s.t.Errorf("%s: a failure without a sentence or a fix: %s", tool, s.out.Text())
	}
	return d
}

func (d document) text(name string) string {
	s, _ := d[name].(string)
	return s
}

// eventually waits until check is true.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if check() {
			return
		}
	}
	t.Fatal(what + " did not happen")
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
