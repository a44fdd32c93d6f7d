// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// A told is what a conversation came to, without what differs each time.
type told []string

func (s *told) add(what string, result any, err error) {
	raw, encoding := json.Marshal(result)
	*s = append(*s, fmt.Sprintf("%s: %s %v", what, raw, errors.Join(err, encoding)))
}

// converse has the official client use all that the server offers.
func converse(t *testing.T, revision string, command []string) (all told) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, &mcp.ClientOptions{
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "sampled"}}, nil
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"random": "text"}}, nil
		},
	})
	client.AddRoots(&mcp.Root{URI: "file:///a", Name: "a"})
	cmd := exec.Command(command[0], command[1:]...)
	s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	tools, err := s.ListTools(ctx, nil)
	all.add("tools", tools, err)
	if err == nil {
		for _, tool := range tools.Tools {
			if tool.Name == "elicit (url)" { // waits for somebody to open the page
				continue
			}
			r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: map[string]any{"name": "ü\u2028\n"}})
			all.add(tool.Name, r, err)
		}
	}
	prompts, err := s.ListPrompts(ctx, nil)
	all.add("prompts", prompts, err)
	prompt, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "x"}})
	all.add("prompt", prompt, err)
	resources, err := s.ListResources(ctx, nil)
	all.add("resources", resources, err)
	resource, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "embedded:info"})
	all.add("resource", resource, err)
	_, err = s.CallTool(ctx, &mcp.CallToolParams{Name: "nothing_such"})
	all.add("unknown", nil, err)
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	return all
}

func lines(raw []byte) []string {
	return slices.Sorted(slices.Values(strings.Split(string(raw), "\n")))
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

// TestTheGuardIsNotNoticed has the same conversation twice, direct and behind the guard.
func TestTheGuardIsNotNoticed(t *testing.T) {
	bin := guardBinaries(t)
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			dir := t.TempDir()
			direct, outside, inside := dir+"/direct", dir+"/outside", dir+"/inside"
			alone := converse(t, revision, tap(t, direct, bin+"/everything"))
			server := tap(t, inside, bin+"/everything")
			guarded := converse(t, revision, tap(t, outside, append([]string{bin + "/sentinel-guard", "--"}, server...)...))
			if !slices.Equal(alone, guarded) {
				t.Errorf("direct:\n%s\nguarded:\n%s", strings.Join(alone, "\n"), strings.Join(guarded, "\n"))
			}
			checkSame(t, outside, inside)
			for _, name := range []string{"in", "out"} {
				if a, b := lines(kept(t, direct, name)), lines(kept(t, outside, name)); !slices.Equal(a, b) {
					t.Errorf("%s: direct:\n%s\nguarded:\n%s", name, strings.Join(a, "\n"), strings.Join(b, "\n"))
				}
			}
		})
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
