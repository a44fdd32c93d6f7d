// SPDX-License-Identifier: Apache-2.0

// Package guard holds sentinel-guard to what it promises with real clients and real servers: who
// keeps to the protocol and the rules does not notice it, and nobody else gets past it.
package guard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
)

// tapped is the argument that makes this binary a recorder of both streams of a program.
const tapped = "tap"

// built is where the programs of this package are.
var built string

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == tapped {
		os.Exit(record(os.Args[2], os.Args[3:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = dir
	// Guards record there, and read the user's rules here. HOME stays: npm and the compiler have their
	// settings and caches below it.
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		if err := os.Setenv(name, filepath.Join(dir, name)); err != nil {
			return failed(err)
		}
	}
	return m.Run()
}

// record runs a program and keeps what goes in and comes out in files of dir. A byte is in its file
// before anybody else has it.
func record(dir string, program []string) int {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return failed(err)
	}
	in, err := os.Create(filepath.Join(dir, "in"))
	if err != nil {
		return failed(err)
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		return failed(err)
	}
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return failed(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return failed(err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if err := cmd.Start(); err != nil {
		return failed(err)
	}
	go func() {
		for s := range signals {
			cmd.Process.Signal(s)
		}
	}()
	go func() {
		io.Copy(io.MultiWriter(in, stdin), os.Stdin)
		stdin.Close()
	}()
	io.Copy(io.MultiWriter(out, os.Stdout), stdout)
	cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "tap:", err)
	return 1
}

// tap returns the command of a program whose streams are kept in dir.
func tap(t *testing.T, dir string, program ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self, tapped, dir}, program...)
}

// behind returns the command of a server behind the guard, with a tap on both of its sides.
func behind(t *testing.T, outside, inside string, server []string) []string {
	t.Helper()
	return tap(t, outside, append([]string{program(t, "sentinel-guard"), "--"}, tap(t, inside, server...)...)...)
}

// sources are the programs of the tests, with the folder of the module that has them.
var sources = map[string][2]string{
	"sentinel":       {"../..", "./cmd/sentinel"},
	"sentinel-mcp":   {"../..", "./cmd/sentinel-mcp"},
	"sentinel-guard": {"../..", "./cmd/sentinel-guard"},
	"converse":       {"../interop", "./converse"},
	"everything":     {"../interop", "github.com/modelcontextprotocol/go-sdk/examples/server/everything"},
	"conformance":    {"../interop", "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"},
}

var building sync.Mutex

// program builds a program as it is shipped, once, and returns its path.
func program(t testing.TB, name string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	path := filepath.Join(built, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cmd := exec.Command("go", "build", "-o", path, sources[name][1])
	cmd.Dir = sources[name][0]
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

// inNode runs a script of test/clients on Node.js and returns what it prints.
func inNode(t *testing.T, env []string, script string, args ...string) string {
	t.Helper()
	dir := testenv.NodePackages(t)
	return printed(t, env, append([]string{testenv.Node(t), filepath.Join(dir, script)}, args...)...)
}

// printed returns what a command prints on stdout.
func printed(t *testing.T, env []string, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.HangLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out.Bytes(), tail(errs.Bytes()))
	}
	return out.String()
}

func tail(text []byte) []byte { return text[max(0, len(text)-4000):] }

// nodeServer is the command of a server of test/clients.
func nodeServer(t *testing.T, script string, args ...string) []string {
	t.Helper()
	return append([]string{testenv.Node(t), filepath.Join(testenv.NodePackages(t), script)}, args...)
}

func kept(t *testing.T, dir, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// sameBytes holds that the bytes on both sides of the guard are the same, in the same order.
func sameBytes(t *testing.T, outside, inside string) {
	t.Helper()
	for _, name := range []string{"in", "out"} {
		before, after := kept(t, outside, name), kept(t, inside, name)
		if !bytes.Equal(before, after) || len(before) == 0 {
			t.Errorf("%s: %d bytes outside, %d inside, from here on not the same:\n%s", name, len(before), len(after), firstDifference(before, after))
		}
	}
}

func firstDifference(a, b []byte) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-100)
	return fmt.Sprintf("%q\n%q", a[from:min(len(a), i+200)], b[from:min(len(b), i+200)])
}

// volatile are the times and names that a server makes anew each time.
var volatile = regexp.MustCompile(`\b[A-Z2-7]{26}\b|\d{1,2}:\d\d:\d\d [AP]M|\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)|(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d \d{4} [0-9:]+ GMT[+-]\d{4}( \([^)]*\))?|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// frames returns the lines of one stream, sorted: answers come in the order of the server's work.
func frames(raw []byte) []string {
	masked := volatile.ReplaceAll(raw, []byte("VOLATILE"))
	return slices.Sorted(strings.Lines(string(masked)))
}

// sameFrames holds that a conversation was the same as another one.
func sameFrames(t *testing.T, direct, guarded string) {
	t.Helper()
	for _, name := range []string{"in", "out"} {
		a, b := frames(kept(t, direct, name)), frames(kept(t, guarded, name))
		if !slices.Equal(a, b) {
			t.Errorf("%s: direct %d lines, guarded %d\nonly direct: %.2000s\nonly guarded: %.2000s", name, len(a), len(b), without(a, b), without(b, a))
		}
	}
}

// without returns the lines of a that are not in b.
func without(a, b []string) []string {
	b = slices.Clone(b)
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool {
		i := slices.Index(b, line)
		if i >= 0 {
			b = slices.Delete(b, i, i+1)
		}
		return i >= 0
	})
}
