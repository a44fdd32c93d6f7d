// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/ops"
	"sentinel/internal/testenv"
)

// clientsOfEach are the SDKs, with the revisions that each speaks.
var clientsOfEach = map[string]string{
	"old":    "2024-11-05,2025-03-26",
	"sdk":    "2025-06-18,2025-11-25",
	"client": "2025-11-25,2026-07-28",
	goSDK:    "2024-11-05,2025-03-26,2025-06-18,2025-11-25,2026-07-28",
}

// goSDK is the one that does not run on Node.js.
const goSDK = "go"

// A peer is a server that conversations are had with.
type peer struct {
	plan    string
	command func(t *testing.T) []string
	wants   []string // to be seen on the wire, or nothing was tried
}

var peers = []peer{
	{"everything", func(t *testing.T) []string {
		return nodeServer(t, "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
	}, []string{"sampling/createMessage", "elicitation/create", "roots/list", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed", "prompts/get"}},
	{"filesystem", func(t *testing.T) []string {
		return nodeServer(t, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", t.TempDir())
	}, []string{"roots/list", `"isError":true`, "structuredContent"}},
	{"memory", func(t *testing.T) []string {
		return nodeServer(t, "node_modules/@modelcontextprotocol/server-memory/dist/index.js")
	}, []string{"structuredContent"}},
	{"go", func(t *testing.T) []string { return []string{program(t, "everything")} },
		[]string{"sampling/createMessage", "elicitation/create", "roots/list", "server/discover", "notifications/message"}},
	{"paged", func(t *testing.T) []string { return nodeServer(t, "guard/paged.mjs") },
		[]string{"nextCursor", `"cursor":`, "notifications/tools/list_changed"}},
	{"sentinel", sentinelThatAsks, []string{"elicitation/create", "notifications/progress", "input_required", "server/discover"}},
}

// answering is a sentinel that tells what a change would do, and answers tools that read once
// somebody has taken its progress and made the file beside it.
const answering = `#!/bin/sh
cat >/dev/null
case "$*" in
*terminate_process*) echo '{"success":true,"action":"%s","dry_run":true,"hostname":"h","details":"It would end it.","asking":{"policy":"required","plan":"p"}}' ;;
*) echo 'progress 5' >&2; until [ -e "$0.go" ]; do sleep 0.02; done; rm "$0.go"; echo '{"success":true,"action":"%s"}' ;;
esac
`

func sentinelThatAsks(t *testing.T) []string {
	kill, _ := ops.ByName("terminate_process")
	top, _ := ops.ByName("get_top_processes")
	script := filepath.Join(t.TempDir(), "sentinel")
	if err := os.WriteFile(script, fmt.Appendf(nil, answering, kill.Action, top.Action), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{program(t, "sentinel-mcp"), "--sentinel", script}
}

// converse has all conversations of one SDK with a server, in a root that is new and has the same
// name each time, and returns what came of each step.
func converse(t *testing.T, client string, p peer, work string, command []string) string {
	t.Helper()
	root := filepath.Join(work, "root")
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"MEMORY_FILE_PATH=" + filepath.Join(root, "memory.jsonl"), "GO=" + command[len(command)-1] + ".go"}
	args := append([]string{clientsOfEach[client], p.plan, root}, command...)
	if client == goSDK {
		return printed(t, env, append([]string{program(t, "converse")}, args...)...)
	}
	return inNode(t, env, "guard/converse.mjs", append([]string{client}, args...)...)
}

// TestNobodyNoticesTheGuard has the same conversations direct and behind the guard: what the client
// is told is the same, the frames are the same, and on both sides of the guard the bytes are.
func TestNobodyNoticesTheGuard(t *testing.T) {
	testenv.NodePackages(t)
	for _, p := range peers {
		t.Run(p.plan, func(t *testing.T) {
			t.Parallel()
			var seen strings.Builder
			for client := range clientsOfEach {
				seen.WriteString(p.unnoticedBy(t, client))
			}
			for _, want := range p.wants {
				if !strings.Contains(seen.String(), want) {
					t.Errorf("no %s was seen", want)
				}
			}
		})
	}
}

// unnoticedBy compares the conversations of one SDK and returns the frames.
func (p peer) unnoticedBy(t *testing.T, client string) (seen string) {
	t.Helper()
	work := t.TempDir()
	server := p.command(t)
	at := func(place string) string { return filepath.Join(work, place, "REVISION") }
	direct := converse(t, client, p, work, tap(t, at("direct"), server...))
	guarded := converse(t, client, p, work, behind(t, at("outside"), at("inside"), server))
	if a, b := frames([]byte(direct)), frames([]byte(guarded)); strings.Join(a, "") != strings.Join(b, "") || len(a) < 2 {
		t.Errorf("%s: only direct: %.2000s\nonly guarded: %.2000s", client, without(a, b), without(b, a))
	}
	if strings.Contains(direct, "right of a thousand") && !strings.Contains(guarded, `"right of a thousand",1000]`) {
		t.Errorf("%s: of a thousand calls in flight not all have the right answer", client)
	}
	for revision := range strings.SplitSeq(clientsOfEach[client], ",") {
		place := func(name string) string { return strings.Replace(at(name), "REVISION", revision, 1) }
		sameBytes(t, place("outside"), place("inside"))
		sameFrames(t, place("direct"), place("outside"))
		seen += string(kept(t, place("direct"), "in")) + string(kept(t, place("direct"), "out"))
	}
	return seen
}
