// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sentinel/internal/ops"
	"sentinel/internal/testenv"
)

// answering is a sentinel that tells what a change would do, and answers tools that
// read once somebody has taken its progress and says so in the pipe "go".
const answering = `#!/bin/sh
cat >/dev/null
case "$*" in
*terminate_process*) echo '{"success":true,"action":"%s","dry_run":true,"hostname":"h","details":"It would end it.","asking":{"policy":"required","plan":"p"}}' ;;
*) echo 'progress 5' >&2; read -r _ <"${0%%/*}/go"; echo '{"success":true,"action":"%s"}' ;;
esac
`

// A published is the schema of one revision.
type published struct {
	compiler *jsonschema.Compiler
	root     string // of its definitions
	defs     map[string]definition
}

type definition struct {
	Properties struct {
		Method struct{ Const string }
	}
}

// publishedSchemas returns the schemas by revision. That of 2024-11-05 is not among them;
// its frames are held against the next one, which only adds to it.
func publishedSchemas(t *testing.T) map[string]published {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testenv.Node(t), "schemas.mjs").Output()
	if err != nil {
		t.Fatal(err)
	}
	var schemas map[string]json.RawMessage
	if err := json.Unmarshal(out, &schemas); err != nil {
		t.Fatal(err)
	}
	all := map[string]published{}
	for revision, raw := range schemas {
		all[revision] = newPublished(t, revision, raw)
	}
	all["2024-11-05"] = all["2025-03-26"]
	return all
}

func newPublished(t *testing.T, revision string, raw json.RawMessage) published {
	t.Helper()
	var schema struct {
		Defs        map[string]definition `json:"$defs"`
		Definitions map[string]definition
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	p := published{compiler: jsonschema.NewCompiler(), root: revision + "#/$defs/", defs: schema.Defs}
	if p.defs == nil {
		p.root, p.defs = revision+"#/definitions/", schema.Definitions
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.compiler.AddResource(revision, document); err != nil {
		t.Fatal(err)
	}
	return p
}

// first returns the first name that the revision defines.
func (p published) first(names ...string) string {
	for _, name := range names {
		if _, ok := p.defs[name]; ok {
			return name
		}
	}
	return ""
}

// ofMethod returns the definition of the messages of a method.
func (p published) ofMethod(method string) string {
	for name, d := range p.defs {
		if d.Properties.Method.Const == method {
			return name
		}
	}
	return ""
}

// holds checks a value against a definition.
func (p published) holds(t *testing.T, name string, value []byte) {
	t.Helper()
	if name == "" {
		t.Errorf("the revision has no definition for %.300s", value)
		return
	}
	schema, err := p.compiler.Compile(p.root + name)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		t.Fatalf("%v in %s", err, value)
	}
	if err := schema.Validate(decoded); err != nil {
		t.Errorf("%s: %v\n%.1000s", name, err, value)
	}
}

// A frame is one line of the server, as far as it says what it is.
type frame struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  *struct{ Code int }
}

// check holds one line to the definitions that are about it. methods are those of
// the requests, by id.
func (p published) check(t *testing.T, revision string, line []byte, methods map[string]string) (kind string) {
	t.Helper()
	if line[0] == '[' {
		p.holds(t, p.first("JSONRPCBatchResponse"), line)
		return "batch"
	}
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	switch {
	case f.Method != "":
		p.holds(t, p.ofMethod(f.Method), line)
		return f.Method
	case f.Error != nil:
		return p.checkError(t, revision, line, f)
	}
	method := methods[string(f.ID)]
	p.holds(t, p.first("JSONRPCResultResponse", "JSONRPCResponse"), line)
	if strings.Contains(string(f.Result), `"resultType":"input_required"`) {
		p.holds(t, "InputRequiredResult", f.Result)
		return "input_required"
	}
	p.holds(t, p.first(strings.TrimSuffix(p.ofMethod(method), "Request")+"Result", "EmptyResult"), f.Result)
	return method
}

func (p published) checkError(t *testing.T, revision string, line []byte, f frame) string {
	t.Helper()
	if f.Error.Code == -32022 {
		p.holds(t, "UnsupportedProtocolVersionError", line)
	}
	if revision < "2025-11-25" && string(f.ID) == "null" {
		// These schemas have no error without an id; JSON-RPC asks for null.
		line = bytes.Replace(line, []byte(`"id":null`), []byte(`"id":0`), 1)
	}
	p.holds(t, p.first("JSONRPCErrorResponse", "JSONRPCError"), line)
	return fmt.Sprint(f.Error.Code)
}

// requests are what the server is sent in a revision, by id: every method that it
// serves and mistakes of every kind.
func requests(revision, meta string) (lines []string, methods map[string]string) {
	methods = map[string]string{}
	add := func(method, params string) {
		id := fmt.Sprint(len(methods))
		methods[id] = method
		if meta != "" {
			params = strings.TrimPrefix(params+","+meta, ",")
		}
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, id, method, params))
	}
	if meta == "" {
		add("initialize", `"protocolVersion":"`+revision+`","capabilities":{"elicitation":{}},"clientInfo":{"name":"frames","version":"1"}`)
		add("ping", "")
	} else {
		add("server/discover", "")
		add("subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
	}
	add("tools/list", "")
	add("prompts/list", "")
	add("prompts/get", `"name":"health-check"`)
	add("prompts/get", `"name":"nothing"`)
	add("tools/call", `"name":"get_top_processes","arguments":{"count":0}`)
	add("tools/call", `"name":"nothing"`)
	add("tools/call", `"name":5`)
	add("tools/call", `"name":"terminate_process","arguments":{"pid":4194304}`)
	add("tools/list", `"cursor":"x"`)
	add("nothing/such", "")
	call := `"name":"get_top_processes","_meta":{"progressToken":"p"}`
	if meta != "" {
		call = strings.Replace(meta, "{", `{"progressToken":"p",`, 1) + `,"name":"get_top_processes"`
		meta = ""
	}
	add("tools/call", call)
	return lines, methods
}

const metaOf2026 = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"frames","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`

// kindsOf are the frames that each revision has to show at least.
var kindsOf = map[string][]string{
	"2024-11-05": {"initialize", "ping"},
	"2025-03-26": {"initialize", "ping", "batch"},
	"2025-06-18": {"initialize", "ping", "elicitation/create"},
	"2025-11-25": {"initialize", "ping", "elicitation/create"},
	"2026-07-28": {"server/discover", "subscriptions/listen", "notifications/subscriptions/acknowledged", "input_required", "-32022"},
}

// TestFramesFitThePublishedSchemas holds every kind of line that the server sends
// to the schema of each revision.
func TestFramesFitThePublishedSchemas(t *testing.T) {
	t.Parallel()
	testenv.NodePackages(t)
	schemas := publishedSchemas(t)
	dir := binaries(t)
	kill, _ := ops.ByName("terminate_process")
	top, _ := ops.ByName("get_top_processes")
	program := filepath.Join(t.TempDir(), "sentinel")
	if err := os.WriteFile(program, fmt.Appendf(nil, answering, kill.Action, top.Action), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(filepath.Dir(program), "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	for revision, wanted := range kindsOf {
		t.Run(revision, func(t *testing.T) {
			seen := map[string]bool{}
			meta := ""
			if revision == "2026-07-28" {
				meta = metaOf2026
			}
			lines, methods := requests(revision, meta)
			lines = append(lines, "no JSON", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":true,"method":"ping"}`)
			if meta != "" {
				lines = append(lines, strings.Replace(`{"jsonrpc":"2.0","id":"u","method":"tools/list","params":{`+meta+`}}`, "2026-07-28", "zzz", 1))
			}
			lines = append(lines, `[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"nothing"}]`)
			for _, line := range exchange(t, filepath.Join(dir, "real", "sentinel-mcp"), program, lines, len(methods)) {
				seen[schemas[revision].check(t, revision, line, methods)] = true
			}
			for _, kind := range append(wanted, "tools/list", "prompts/list", "prompts/get", "tools/call", "notifications/progress", "-32700", "-32600", "-32601", "-32602") {
				if !seen[kind] {
					t.Errorf("no %s was seen; seen %v", kind, seen)
				}
			}
		})
	}
}

// exchange sends lines and returns those of the server. It closes the input when
// as many requests as were sent are answered, and declines every question.
func exchange(t *testing.T, server, program string, lines []string, answers int) (received [][]byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.HangLimit) // of an answer that never comes
	defer cancel()
	cmd := exec.CommandContext(ctx, server, "--sentinel", program)
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
	if _, err := io.WriteString(in, strings.Join(lines, "\n")+"\n"); err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(out)
	s.Buffer(nil, 4<<20)
	for s.Scan() {
		line := bytes.Clone(s.Bytes())
		received = append(received, line)
		var f frame
		switch err := json.Unmarshal(line, &f); {
		case err == nil && f.Method == "elicitation/create":
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`+"\n", f.ID)
		case err == nil && f.Method == "notifications/progress":
			if err := os.WriteFile(filepath.Join(filepath.Dir(program), "go"), []byte("on\n"), 0o600); err != nil {
				t.Error(err)
			}
		case err == nil && f.Method == "" && len(f.ID) > 0 && f.ID[0] >= '0' && f.ID[0] <= '9':
			if answers--; answers == 0 {
				in.Close()
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server: %v", err)
	}
	return received
}
