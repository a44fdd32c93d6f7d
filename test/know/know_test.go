// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package know asks about a machine through sentinel-mcp as an assistant would:
// a real client, both programs as they are shipped, and a network of the test's own.
package know

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// programs names the variable that holds the folder of the three programs.
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
		testenv.Alone(t)
		furnish(t)
		return true
	}
	testenv.Namespaces(t)
	dir, root := t.TempDir(), filepath.Join("..", "..")
	build(t, root, dir, "./cmd/sentinel", "./cmd/sentinel-mcp")
	build(t, filepath.Join(root, "test", "interop"), dir, "./client")
	ip := testenv.Program(t, "ip", "iproute2")
	return testenv.Inside(t, programs+"="+dir,
		testenv.Program(t, "unshare", "util-linux"), "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
		"/bin/sh", "-c", ip+` link set lo up && exec "$@"`, "sh")
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
	aside := t.TempDir()
	do(t, "mount", "-t", "tmpfs", "tmpfs", aside)
	for _, folder := range []string{"/etc", "/var/lib", "/var/log"} {
		overlay(t, folder, filepath.Join(aside, folder))
	}
	do(t, "umount", "--lazy", aside) // the overlays keep it
	resolve(t, "127.0.0.1")
}

// overlay lets a folder be written to without a change to what is below it.
func overlay(t *testing.T, folder, aside string) {
	t.Helper()
	upper, work := filepath.Join(aside, "upper"), filepath.Join(aside, "work")
	for _, path := range []string{upper, work} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	do(t, "mount", "-t", "overlay", "overlay", "-o", "lowerdir="+folder+",upperdir="+upper+",workdir="+work, folder)
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil || s.Type != unix.OVERLAYFS_SUPER_MAGIC {
		t.Fatalf("%s is not set aside: %v", folder, err)
	}
}

// resolve makes a name server that of the machine.
func resolve(t *testing.T, server string) {
	t.Helper()
	testenv.Alone(t)
	os.Remove("/etc/resolv.conf") // which may be a link
	put(t, "/etc/resolv.conf", "nameserver "+server+"\noptions timeout:1 attempts:1\n")
}

// configure writes the configuration, for as long as the test runs.
func configure(t *testing.T, content string) {
	t.Helper()
	testenv.Alone(t)
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

// A session is a client of sentinel-mcp.
type session struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
}

func connect(t *testing.T, options ...string) *session {
	t.Helper()
	return start(t, append([]string{program("client"), program("sentinel-mcp")}, options...)...)
}

func start(t *testing.T, words ...string) *session {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
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

// An ask is a line to the client, and a reply its line back.
type (
	ask struct {
		Tool      string         `json:"tool,omitempty"`
		Arguments map[string]any `json:"arguments,omitempty"`
		Progress  bool           `json:"progress,omitempty"`
		CancelMS  int            `json:"cancel_after_ms,omitempty"`
	}
	reply struct {
		IsError   bool     `json:"is_error"`
		Document  document `json:"document"`
		Cancelled bool     `json:"cancelled"`
		Tools     []string `json:"tools"`
		Progress  []struct {
			Progress, Total float64
			Message         string
			Known           bool
		} `json:"progress"`
		took time.Duration
	}
)

// A document is what the assistant gets.
type document map[string]any

func (d document) text(name string) string {
	s, _ := d[name].(string)
	return s
}

func (d document) number(name string) int {
	n, _ := d[name].(float64)
	return int(n)
}

func (d document) texts(name string) (texts []string) {
	list, _ := d[name].([]any)
	for _, one := range list {
		text, _ := one.(string)
		texts = append(texts, text)
	}
	return texts
}

// rows returns a list of the document.
func (d document) rows(name string) (rows []document) {
	list, _ := d[name].([]any)
	for _, one := range list {
		row, _ := one.(map[string]any)
		rows = append(rows, row)
	}
	return rows
}

func (s *session) ask(a ask) (r reply) {
	s.t.Helper()
	line, err := json.Marshal(a)
	if err != nil {
		s.t.Fatal(err)
	}
	began := time.Now()
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		s.t.Fatal(err)
	}
	if !s.out.Scan() {
		s.t.Fatalf("%s: no answer: %v", line, s.out.Err())
	}
	r.took = time.Since(began)
	if err := json.Unmarshal(s.out.Bytes(), &r); err != nil {
		s.t.Fatalf("%v in %s", err, s.out.Text())
	}
	return r
}

// call calls a tool and returns its document. want is the error code that it
// shall have, empty for a success.
func (s *session) call(want, tool string, arguments map[string]any) document {
	s.t.Helper()
	r := s.ask(ask{Tool: tool, Arguments: arguments})
	d := r.Document
	if d.text("error_code") != want || r.IsError != (want != "") {
		s.t.Errorf("%s %v: %v, want code %q", tool, arguments, d, want)
	}
	if want != "" && (d.text("error") == "" || d.text("fix") == "") {
		s.t.Errorf("%s %v: a failure without a sentence or a fix: %v", tool, arguments, d)
	}
	return d
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
