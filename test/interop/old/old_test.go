// SPDX-License-Identifier: Apache-2.0

// Package old holds sentinel-mcp to what the first stable version of the official
// Go client expects. It is a module of its own because the newest version is in the one above.
package old

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// program builds one of the programs as it is shipped.
func program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-o", path, "./cmd/"+name)
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

// stub is a sentinel that answers calls with a count, and hangs without one after it
// has said so in a pipe.
const stub = `#!/bin/sh
case "$(cat)" in *count*) echo '{"success":true,"action":"top_processes"}'; exit ;; esac
echo up >%s
exec sleep 600
`

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func connect(t *testing.T, up string) (*mcp.ClientSession, *exec.Cmd) {
	t.Helper()
	sentinel := filepath.Join(t.TempDir(), "sentinel")
	if err := os.WriteFile(sentinel, fmt.Appendf(nil, stub, up), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program(t, "sentinel-mcp"), "--sentinel", sentinel)
	cmd.Stderr = os.Stderr
	s, err := mcp.NewClient(&mcp.Implementation{Name: "old", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, cmd
}

func TestFirstStableGoClient(t *testing.T) {
	up := fifo(t)
	s, server := connect(t, up)
	if got := s.InitializeResult().ProtocolVersion; got != "2025-06-18" {
		t.Errorf("revision %s", got)
	}
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) < 10 {
		t.Fatalf("tools %v, %v", list, err)
	}
	calls(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if _, err := os.ReadFile(up); err != nil {
			t.Error(err)
		}
		cancel()
	}()
	if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "get_top_processes"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call: %v", err)
	}
	calls(t, s)
	// Close of this version waits for the answers to cancelled calls, which the
	// protocol forbids or advises against: the server ends first.
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	s.Close() //nolint:errcheck // it says that the server was ended
}

// calls makes one that works, one with a wrong argument and one of no tool.
func calls(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	for count, wrong := range map[int]bool{1: false, 0: true} {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_top_processes", Arguments: map[string]any{"count": count}})
		if err != nil || r.IsError != wrong {
			t.Errorf("count %d: %v, %v", count, r, err)
		}
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "nothing_such"}); err == nil || !strings.Contains(err.Error(), "There is no tool") {
		t.Errorf("unknown tool: %v", err)
	}
}
