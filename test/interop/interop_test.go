// SPDX-License-Identifier: Apache-2.0

// Package interop holds sentinel-mcp to what the official Go client expects.
// It is a module of its own so that the client's dependencies stay out of sentinel's.
package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// revisions are all that the client knows: four with a handshake, and the one
// without.
var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// isolatedServer is a script that runs a server so that the installation id, which
// root's first run creates, stays out of this machine. The rest of /var/lib is visible: package
// managers have their data there.
const isolatedServer = `#!/bin/sh
[ "$(id -u)" = 0 ] || exec %[1]s "$@"
exec unshare --mount --propagation private /bin/sh -c '
	mount -t tmpfs tmpfs /mnt &&
	mkdir /mnt/upper /mnt/work &&
	mount -t overlay -o lowerdir=/var/lib,upperdir=/mnt/upper,workdir=/mnt/work overlay /var/lib &&
	umount --lazy /mnt &&
	exec "$0" "$@"' %[1]s "$@"
`

// lonely is a server on a machine of its own, whose one neighbour never answers:
// what is sent to it goes to a port that nobody has.
const lonely = `#!/bin/sh
exec unshare --net --mount --propagation private /bin/sh -c '
	mount -t tmpfs -o mode=755 tmpfs /var/lib &&
	ip link set lo up &&
	ip link add near0 type veth peer name far0 &&
	ip addr add 10.9.8.1/24 dev near0 &&
	ip link set near0 up &&
	ip link set far0 up &&
	ip neigh add 10.9.8.2 lladdr 02:00:00:00:00:02 dev near0 &&
	exec "$0" "$@"' %s "$@"
`

// binaries builds both programs as they are shipped and returns their directory.
func binaries(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sentinel", "sentinel-mcp"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "real", name), "./cmd/"+name)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	server := fmt.Sprintf(isolatedServer, filepath.Join(dir, "real", "sentinel-mcp"))
	if err := os.WriteFile(filepath.Join(dir, "sentinel-mcp"), []byte(server), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("real", "sentinel"), filepath.Join(dir, "sentinel")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func connect(t *testing.T, revision, program string, args ...string) *mcp.ClientSession {
	t.Helper()
	return connectWith(t, nil, revision, program, args...)
}

func connectWith(t *testing.T, options *mcp.ClientOptions, revision, program string, args ...string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, options)
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		t.Fatalf("the server speaks %s, want %s", got, revision)
	}
	return session
}

func TestOfficialGoClient(t *testing.T) {
	dir := binaries(t)
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			s := connect(t, revision, dir+"/sentinel-mcp")
			list, err := s.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Tools) < 4 {
				t.Errorf("%d tools, want at least the four that read", len(list.Tools))
			}
			for _, tool := range list.Tools {
				if tool.Annotations != nil && tool.Annotations.ReadOnlyHint {
					callsWell(t, s, tool)
				}
			}
			refusesWrongArguments(t, s)
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// callsWell calls a tool that only reads and checks its document.
func callsWell(t *testing.T, s *mcp.ClientSession, tool *mcp.Tool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: map[string]any{}})
	if err != nil {
		t.Errorf("%s: %v", tool.Name, err)
		return
	}
	document, ok := r.StructuredContent.(map[string]any)
	if !ok || r.IsError || document["success"] != true {
		t.Errorf("%s: isError %v, %v", tool.Name, r.IsError, r.StructuredContent)
	}
	if err := fits(tool.OutputSchema, document); err != nil {
		t.Errorf("%s: %v", tool.Name, err)
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok || !sameJSON(t, text.Text, document) {
		t.Errorf("%s: the text differs from the structured content", tool.Name)
	}
}

func fits(schema any, document map[string]any) error {
	raw, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	return resolved.Validate(document)
}

func sameJSON(t *testing.T, text string, document map[string]any) bool {
	t.Helper()
	var decoded any
	if err := json.Unmarshal([]byte(text), &decoded); err != nil {
		t.Error(err)
		return false
	}
	a, errA := json.Marshal(decoded)
	b, errB := json.Marshal(document)
	return errors.Join(errA, errB) == nil && string(a) == string(b)
}

func refusesWrongArguments(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_top_processes", Arguments: map[string]any{"count": 5.7}})
	if err != nil {
		t.Errorf("wrong argument: %v", err)
		return
	}
	document, ok := r.StructuredContent.(map[string]any)
	if !ok || !r.IsError || document["error_code"] != "INVALID_ARGUMENT" {
		t.Errorf("wrong argument: isError %v, %v", r.IsError, r.StructuredContent)
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "nothing_such"}); err == nil {
		t.Error("unknown tool: no error")
	}
}

// observed is a sentinel that says in one pipe that the real one was started,
// and in another how it ended. Before it has become sentinel, the child is a copy of this
// shell. A signal to the group of both is passed on, as sudo does: a short run of root's has
// left it. A wait that the signal interrupts is waited again.
const observed = `#!/bin/sh
pid=
trap '[ -z "$pid" ] || kill -TERM $pid' TERM
exec 3<&0
%s/sentinel "$@" <&3 &
pid=$! tries=0
until case $(readlink /proc/$pid/exe) in */sentinel) ;; *) [ $tries -ge 200 ] ;; esac; do
	tries=$((tries + 1)); sleep 0.05
done
echo up >%s
wait $pid; status=$?
[ $status -le 128 ] || { wait $pid; status=$?; }
echo $status >%s
`

// TestCancelByTheOfficialGoClient cancels a real run of sentinel, seen through
// a script that says when it began and how it ended.
func TestCancelByTheOfficialGoClient(t *testing.T) {
	dir := binaries(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			up, status := fifo(t), fifo(t)
			script := filepath.Join(t.TempDir(), "sentinel")
			text := fmt.Sprintf(observed, dir, up, status)
			if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			s := connect(t, revision, dir+"/sentinel-mcp", "--sentinel", script)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				read(t, up)
				cancel()
			}()
			ended := make(chan string, 1)
			go func() { ended <- read(t, status) }()
			_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "get_top_processes"})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("call: %v, want Canceled", err)
			}
			if got := <-ended; got == "" || got == "0" {
				t.Errorf("sentinel ended with status %q, as if nobody had cancelled", got)
			}
			if _, err := s.ListTools(t.Context(), nil); err != nil {
				t.Errorf("the next request: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// namespaces skips a test that gives the server a machine of its own where none can be made, which
// fails where nothing may be skipped.
func namespaces(t *testing.T) {
	t.Helper()
	if err := exec.Command("unshare", "--net", "--mount", "ip", "link").Run(); err != nil {
		if os.Getenv("SENTINEL_REQUIRE_ALL") != "" {
			t.Fatalf("cannot make namespaces: %v", err)
		}
		t.Skipf("needs root, and the programs unshare and ip: %v", err)
	}
}

// TestProgressInTheOfficialGoClient needs root for a machine of the server's own.
func TestProgressInTheOfficialGoClient(t *testing.T) {
	namespaces(t)
	dir := binaries(t)
	server := filepath.Join(dir, "lonely")
	if err := os.WriteFile(server, []byte(fmt.Sprintf(lonely, filepath.Join(dir, "real", "sentinel-mcp"))), 0o755); err != nil {
		t.Fatal(err)
	}
	tokens := []any{"a token", 7}
	for i, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			w := &watcher{}
			s := connectWith(t, &mcp.ClientOptions{ProgressNotificationHandler: w.notice}, revision, server)
			watchesScan(t, s, w, tokens[i%len(tokens)])
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// A watcher records the progress that a client was sent.
type watcher struct {
	mu    sync.Mutex
	steps []*mcp.ProgressNotificationParams
}

func (w *watcher) notice(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, r.Params)
}

func (w *watcher) take() []*mcp.ProgressNotificationParams {
	w.mu.Lock()
	defer w.mu.Unlock()
	steps := w.steps
	w.steps = nil
	return steps
}

// watchesScan scans with a token, and then without, which takes so long that
// what came too late would be seen.
func watchesScan(t *testing.T, s *mcp.ClientSession, w *watcher, token any) {
	t.Helper()
	params := &mcp.CallToolParams{Name: "scan_ports", Arguments: map[string]any{"target": "10.9.8.2", "port_range": "1-9000"}}
	params.SetProgressToken(token)
	if r, err := s.CallTool(t.Context(), params); err != nil || r.IsError {
		t.Fatalf("scan: %v, %v", err, r)
	}
	steps, before := w.take(), -1.0
	if len(steps) < 2 {
		t.Errorf("%d notifications", len(steps))
	}
	for _, p := range steps {
		if p.Progress <= before || p.Total != 100 || fmt.Sprint(p.ProgressToken) != fmt.Sprint(token) {
			t.Errorf("after %v: %+v", before, p)
		}
		before = p.Progress
	}
	params = &mcp.CallToolParams{Name: "scan_ports", Arguments: map[string]any{"target": "10.9.8.2", "port_range": "1-100"}}
	if r, err := s.CallTool(t.Context(), params); err != nil || r.IsError {
		t.Fatalf("scan: %v, %v", err, r)
	}
	if late := w.take(); len(late) != 0 {
		t.Errorf("nobody asked for %v", late)
	}
}

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(string(raw))
}
