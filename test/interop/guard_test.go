// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// guardBinaries builds the guard, and the SDK's server that has a bit of everything.
func guardBinaries(t *testing.T) string {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // where guards record
	dir := t.TempDir()
	for name, from := range map[string][2]string{
		"sentinel-guard": {"../..", "./cmd/sentinel-guard"},
		"everything":     {".", "github.com/modelcontextprotocol/go-sdk/examples/server/everything"},
	} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, name), from[1])
		cmd.Dir = from[0]
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	return dir
}

// tapped runs a program and keeps the bytes of both its streams in the folder that comes first.
const tapped = `dir=$0; tee "$dir/in" | "$@" | tee "$dir/out"`

// tap returns the command of a program whose bytes are kept in dir.
func tap(t *testing.T, dir string, program ...string) []string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return append([]string{"sh", "-c", tapped, dir}, program...)
}

func kept(t *testing.T, dir, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// checkSame holds that the bytes on both sides of the guard are the same, in the same order.
func checkSame(t *testing.T, outside, inside string) {
	t.Helper()
	for _, name := range []string{"in", "out"} {
		before, after := kept(t, outside, name), kept(t, inside, name)
		if !bytes.Equal(before, after) || len(before) == 0 {
			t.Errorf("%s: %d bytes outside, %d inside:\n%.600s\n---\n%.600s", name, len(before), len(after), before, after)
		}
	}
}

// TestSentinelBehindTheGuard holds sentinel-mcp, behind the guard, to what the client expects.
func TestSentinelBehindTheGuard(t *testing.T) {
	guard, dir := guardBinaries(t), binaries(t)
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			outside, inside := t.TempDir(), t.TempDir()
			server := tap(t, inside, dir+"/sentinel-mcp")
			command := tap(t, outside, append([]string{guard + "/sentinel-guard", "--"}, server...)...)
			s := connect(t, revision, command[0], command[1:]...)
			list, err := s.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) < 4 {
				t.Fatalf("%v, %v", list, err)
			}
			callsWell(t, s, list.Tools[slices.IndexFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "get_network_stats" })])
			refusesWrongArguments(t, s)
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			checkSame(t, outside, inside)
		})
	}
}

// TestAThousandCallsInFlight gives each its own answer.
func TestAThousandCallsInFlight(t *testing.T) {
	bin := guardBinaries(t)
	outside, inside := t.TempDir(), t.TempDir()
	command := tap(t, outside, append([]string{bin + "/sentinel-guard", "--"}, tap(t, inside, bin+"/everything")...)...)
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const count = 1000
	failed := make(chan error, count)
	for i := range count {
		go func() {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": fmt.Sprintf("<%d>", i)}})
			if err == nil {
				if text, ok := r.Content[0].(*mcp.TextContent); !ok || !strings.Contains(text.Text, fmt.Sprintf("<%d>", i)) {
					err = fmt.Errorf("call %d: %v", i, r.Content[0])
				}
			}
			failed <- err
		}()
	}
	for range count {
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	checkSame(t, outside, inside)
}
