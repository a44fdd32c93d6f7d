// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"sentinel/internal/elevation"
	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/sysexec"
)

// A fakeRunner answers every command with do and keeps what it was asked.
type fakeRunner struct {
	mu   sync.Mutex
	seen []sysexec.Command
	do   func(context.Context, sysexec.Command) (sysexec.Result, error)
}

func (f *fakeRunner) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	f.mu.Lock()
	f.seen = append(f.seen, c)
	f.mu.Unlock()
	return f.do(ctx, c)
}

// argv returns the command lines that were run.
func (f *fakeRunner) argv() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, c := range f.seen {
		lines = append(lines, strings.Join(append([]string{c.Path}, c.Args...), " "))
	}
	return lines
}

func printing(stdout string) *fakeRunner {
	return ending(sysexec.Result{Stdout: []byte(stdout)}, nil)
}

func ending(r sysexec.Result, err error) *fakeRunner {
	return &fakeRunner{do: func(context.Context, sysexec.Command) (sysexec.Result, error) { return r, err }}
}

const (
	binary  = "/opt/sentinel/bin/sentinel"
	printed = `{"success":true,"action":"top_processes","big":12345678901234567890,"ratio":1.10,"text":"a<b&c"}`
)

func testHandler(runner sysexec.Runner) *handler {
	return &handler{
		questions: make(chan struct{}, maxQuestions),
		locate:    func() (string, error) { return binary, nil },
		sudo:      newSudoRunner(elevation.Machine{}, runner, true, func(string) error { return nil }, time.Now, quiet()),
		limit:     testLimit,
		log:       quiet(),
	}
}

func topProcesses(t *testing.T) ops.Operation {
	t.Helper()
	op, ok := ops.ByName("get_top_processes")
	if !ok {
		t.Fatal("the table has no get_top_processes")
	}
	return op
}

// A toolResult is the result of a call as a client reads it.
type toolResult struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

// callTool calls get_top_processes through a whole server.
func callTool(t *testing.T, h *handler, params string) toolResult {
	t.Helper()
	s := newServer(ops.All(), nil, h.toolHandler)
	var out bytes.Buffer
	line := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	if err := newTransport(s, &out, testLimit, quiet()).serve(t.Context(), strings.NewReader(line)); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result toolResult
		Error  json.RawMessage
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || answer.Error != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	return answer.Result
}

func callWith(t *testing.T, h *handler, arguments string) toolResult {
	t.Helper()
	return callTool(t, h, `{"name":"get_top_processes","arguments":`+arguments+`}`)
}

// failure returns the failed document of a result, after checking that it is
// one: the same as structured content and as text.
func failure(t *testing.T, r toolResult) fault.Document {
	t.Helper()
	var d fault.Document
	if err := json.Unmarshal(r.StructuredContent, &d); err != nil {
		t.Fatal(err)
	}
	if !r.IsError || d.Success || d.Action != "top_processes" || d.Error == "" || d.Fix == "" {
		t.Errorf("not a failed document: isError %v, %s", r.IsError, r.StructuredContent)
	}
	if len(r.Content) != 1 || compact(t, []byte(r.Content[0].Text)) != compact(t, r.StructuredContent) {
		t.Errorf("text %v differs from structured content %s", r.Content, r.StructuredContent)
	}
	return d
}

func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	var unescaped bytes.Buffer
	e := json.NewEncoder(&unescaped)
	e.SetEscapeHTML(false)
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(b.String())
}

func TestDocumentPassesUnchanged(t *testing.T) {
	for name, stdout := range map[string]string{
		"success":           printed,
		"with blanks":       "\n  " + printed + " \n",
		"failure":           `{"success":false,"action":"top_processes","error_code":"UNAVAILABLE","error":"no /proc","fix":"mount it","n":1e400}`,
		"failure, exit 1":   `{"success":false,"action":"top_processes"}`,
		"odd order of keys": `{"z":1,"success":true,"a":[],"action":"top_processes"}`,
	} {
		t.Run(name, func(t *testing.T) {
			runner := printing(stdout)
			if name == "failure, exit 1" {
				runner = ending(sysexec.Result{Stdout: []byte(stdout), Exit: 1}, nil)
			}
			r := callWith(t, testHandler(runner), `{}`)
			if diff := cmp.Diff(strings.TrimSpace(stdout), compact(t, r.StructuredContent)); diff != "" {
				t.Errorf("structured content (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(strings.TrimSpace(stdout), r.Content[0].Text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if want := !strings.Contains(stdout, "true"); r.IsError != want {
				t.Errorf("isError %v, want %v", r.IsError, want)
			}
		})
	}
}

func TestRunIsOneLiteralCommandWithArgumentsOnStdin(t *testing.T) {
	runner := printing(printed)
	callWith(t, testHandler(runner), `{"sort":"memory","count":5.0}`)
	if diff := cmp.Diff([]string{binary + " --request get_top_processes"}, runner.argv()); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
	want := `{"_context":{"caller":"unnamed client"},"count":5.0,"sort":"memory"}`
	if diff := cmp.Diff(want, string(runner.seen[0].Stdin)); diff != "" {
		t.Errorf("stdin (-want +got):\n%s", diff)
	}
	if _, err := topProcesses(t).ParseRequest(runner.seen[0].Stdin); err != nil {
		t.Errorf("sentinel would refuse the request: %v", err)
	}
}

func TestCallWithoutArgumentsRuns(t *testing.T) {
	for _, params := range []string{
		`{"name":"get_top_processes"}`, `{"name":"get_top_processes","arguments":null}`, `{"name":"get_top_processes","arguments":{}}`,
	} {
		runner := printing(printed)
		if r := callTool(t, testHandler(runner), params); r.IsError {
			t.Errorf("%s: %s", params, r.StructuredContent)
		}
		if got := string(runner.seen[0].Stdin); got != `{"_context":{"caller":"unnamed client"}}` {
			t.Errorf("%s: stdin %s", params, got)
		}
	}
}

func TestWrongArgumentsAreRefusedWithASentenceAndRunNothing(t *testing.T) {
	for _, test := range []struct{ name, arguments, sentence string }{
		{"text for a number", `{"count":"5"}`, "whole number from 1 to 100"},
		{"fraction", `{"count":5.7}`, "not 5.7"},
		{"too small", `{"count":0}`, "not 0"},
		{"negative", `{"count":-1}`, "not -1"},
		{"too large", `{"count":101}`, "not 101"},
		{"huge, to the digit", `{"count":9007199254740993}`, "not 9007199254740993"},
		{"beyond any number", `{"count":1e400}`, "not 1e400"},
		{"null", `{"count":null}`, "not null"},
		{"boolean", `{"count":true}`, "not true"},
		{"list", `{"count":[5]}`, "not [5]"},
		{"unknown word", `{"sort":"disk"}`, "one of cpu, memory"},
		{"number for a text", `{"sort":5}`, "one of cpu, memory"},
		{"unknown key", `{"pid":5}`, `no argument "pid"`},
		{"key in another case", `{"Count":5}`, `no argument "Count"`},
		{"caller of its own", `{"_context":{"caller":"root"}}`, `no argument "_context"`},
		{"caller of its own, malformed", `{"_context":5}`, `no argument "_context"`},
		{"caller of its own, escaped", `{"\u005fcontext":{}}`, `no argument "_context"`},
		{"list of arguments", `[5]`, "one JSON object"},
		{"text as arguments", `"count=5"`, "one JSON object"},
		{"number as arguments", `5`, "one JSON object"},
		{"boolean as arguments", `false`, "one JSON object"},
		{"too long", `{"sort":"` + strings.Repeat("x", ops.MaxRequest) + `"}`, "larger than 64 KiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			runner := printing(printed)
			d := failure(t, callWith(t, testHandler(runner), test.arguments))
			if d.ErrorCode != fault.InvalidArgument || !strings.Contains(d.Error, test.sentence) {
				t.Errorf("%s: %q, want INVALID_ARGUMENT with %q", d.ErrorCode, d.Error, test.sentence)
			}
			if len(runner.seen) != 0 {
				t.Errorf("ran %v", runner.argv())
			}
		})
	}
}

func TestOutputThatIsNoDocumentIsBadOutput(t *testing.T) {
	for _, test := range []struct {
		name     string
		result   sysexec.Result
		sentence string
	}{
		{"nothing", sysexec.Result{}, "printed no document (exit status 0)."},
		{"nothing but a reason", sysexec.Result{Stderr: []byte("\n  panic: boom\nmore"), Exit: 2}, "(exit status 2). It said: panic: boom"},
		{"hostile reason", sysexec.Result{Stderr: []byte("a\x1b[2Jb"), Exit: 2}, "It said: a\uFFFD[2Jb"},
		{"text", sysexec.Result{Stdout: []byte("hello")}, "not one JSON document"},
		{"cut off", sysexec.Result{Stdout: []byte(`{"success":true`)}, "not one JSON document"},
		{"two documents", sysexec.Result{Stdout: []byte(`{"success":true}{"success":true}`)}, "not one JSON document"},
		{"list", sysexec.Result{Stdout: []byte(`[{"success":true}]`)}, "not one JSON document"},
		{"null", sysexec.Result{Stdout: []byte(`null`)}, "not one JSON document"},
		{"no success", sysexec.Result{Stdout: []byte(`{"action":"x"}`)}, "not one JSON document"},
		{"success in another case", sysexec.Result{Stdout: []byte(`{"Success":true}`)}, "not one JSON document"},
		{"success as text", sysexec.Result{Stdout: []byte(`{"success":"true"}`)}, "not one JSON document"},
		{"success as number", sysexec.Result{Stdout: []byte(`{"success":1}`)}, "not one JSON document"},
		{"not UTF-8", sysexec.Result{Stdout: []byte("{\"success\":true,\"action\":\"top_processes\",\"x\":\"\xff\"}")}, "not one JSON document"},
		{"success twice", sysexec.Result{Stdout: []byte(`{"success":false,"action":"top_processes","success":true}`)}, "not one JSON document"},
		{"other key twice", sysexec.Result{Stdout: []byte(`{"success":true,"action":"top_processes","a":1,"\u0061":1}`)}, "not one JSON document"},
		{"no action", sysexec.Result{Stdout: []byte(`{"success":true}`)}, `printed a document of the action "", not "top_processes"`},
		{"another action", sysexec.Result{Stdout: []byte(`{"success":true,"action":"asset_info"}`)}, `of the action "asset_info"`},
		{"failure of another action", sysexec.Result{Stdout: []byte(`{"success":false,"action":"usage"}`), Exit: 2}, `of the action "usage"`},
		{"action that is no text", sysexec.Result{Stdout: []byte(`{"success":true,"action":5}`)}, "not one JSON document"},
		{"success, then a failure", sysexec.Result{Stdout: []byte(`{"success":true,"action":"top_processes"}`), Exit: 1}, "reported a success and then failed (exit status 1)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := failure(t, callWith(t, testHandler(ending(test.result, nil)), `{}`))
			if d.ErrorCode != fault.BadOutput || !strings.Contains(d.Error, test.sentence) {
				t.Errorf("%s: %q, want BAD_OUTPUT with %q", d.ErrorCode, d.Error, test.sentence)
			}
		})
	}
}

func TestRunThatFailsHasItsCode(t *testing.T) {
	missing := &fs.PathError{Op: "fork/exec", Path: binary, Err: fs.ErrNotExist}
	for _, test := range []struct {
		name string
		err  error
		want fault.Code
	}{
		{"cannot be started", fmt.Errorf("run: %w", missing), fault.SentinelNotFound},
		{"no process is left", fmt.Errorf("run: %w", &fs.PathError{Op: "fork/exec", Path: binary, Err: syscall.EAGAIN}), fault.Unavailable},
		{"printed too much", fmt.Errorf("run: %w", sysexec.ErrOutputTooLarge), fault.BadOutput},
		{"left something behind", errors.New("run: WaitDelay expired"), fault.BadOutput},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := failure(t, callWith(t, testHandler(ending(sysexec.Result{}, test.err)), `{}`))
			if d.ErrorCode != test.want {
				t.Errorf("%s (%s), want %s", d.ErrorCode, d.Error, test.want)
			}
		})
	}
}

func TestMissingBinaryIsSaidInEveryCall(t *testing.T) {
	h := testHandler(printing(printed))
	h.locate = locate(t.TempDir() + "/sentinel")
	d := failure(t, callWith(t, h, `{}`))
	if d.ErrorCode != fault.SentinelNotFound || !strings.Contains(d.Fix, "--sentinel") {
		t.Errorf("%s with fix %q", d.ErrorCode, d.Fix)
	}
}

func TestEndOfContextIsCancelledOrTimeout(t *testing.T) {
	h := testHandler(&fakeRunner{do: func(ctx context.Context, _ sysexec.Command) (sysexec.Result, error) {
		<-ctx.Done()
		return sysexec.Result{}, ctx.Err()
	}})
	for name, test := range map[string]struct {
		ctx  func() (context.Context, context.CancelFunc)
		want fault.Code
		says string
	}{
		"cancelled": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			return ctx, cancel
		}, fault.Cancelled, "was cancelled and did not finish"},
		"cancelled before": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx, cancel
		}, fault.Cancelled, "was cancelled and did not begin"},
		"timeout": {func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), time.Millisecond)
		}, fault.Timeout, "did not finish within 10s"},
	} {
		ctx, cancel := test.ctx()
		r, err := h.toolHandler(topProcesses(t))(ctx, mcp.CallToolRequest{})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := r.Content[0].(mcp.TextContent)
		var d fault.Document
		if err := json.Unmarshal([]byte(text.Text), &d); err != nil {
			t.Fatal(err)
		}
		if d.ErrorCode != test.want || !strings.Contains(d.Error, test.says) {
			t.Errorf("%s: %s %q, want %s %q", name, d.ErrorCode, d.Error, test.want, test.says)
		}
	}
}

// What a program that was asked to end says of it wins over the server's own
// word, if it says it in time.
func TestDocumentOfACancelledProgramIsTheAnswer(t *testing.T) {
	kill, _ := ops.ByName("terminate_process")
	for name, test := range map[string]struct {
		said sysexec.Result
		want string
	}{
		"finished all the same": {sysexec.Result{Stdout: []byte(`{"success":true,"action":"terminate_process","own":1}`)}, `"own":1`},
		"rolled back":           {sysexec.Result{Stdout: []byte(`{"success":false,"action":"terminate_process","error_code":"CANCELLED","own":1}`), Exit: 130}, `"own":1`},
		"nothing said":          {sysexec.Result{}, "see what became of it with: get_action_history\""},
		"cut off":               {sysexec.Result{Stdout: []byte(`{"success":true,"action":"termin`)}, `"error_code":"CANCELLED"`},
		"of another action":     {sysexec.Result{Stdout: []byte(`{"success":true,"action":"top_processes"}`)}, `"error_code":"CANCELLED"`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			runner := &fakeRunner{do: func(ctx context.Context, _ sysexec.Command) (sysexec.Result, error) {
				cancel()
				return test.said, fmt.Errorf("run: %w", ctx.Err())
			}}
			ctx = context.WithValue(ctx, argumentsKey{}, json.RawMessage(`{"pid":4242}`))
			h := testHandler(runner)
			h.tools = []string{"get_action_history"}
			r, err := h.toolHandler(kill)(ctx, mcp.CallToolRequest{})
			if err != nil {
				t.Fatal(err)
			}
			text, _ := r.Content[0].(mcp.TextContent)
			if !strings.Contains(text.Text, test.want) {
				t.Errorf("answer %s, want %s in it", text.Text, test.want)
			}
			if strings.Contains(test.want, "own") && len(runner.seen) != 1 {
				t.Errorf("ran %v", runner.argv())
			}
		})
	}
}

func TestPanicBecomesAFixedSentence(t *testing.T) {
	h := testHandler(&fakeRunner{do: func(context.Context, sysexec.Command) (sysexec.Result, error) { panic("secret") }})
	d := failure(t, callWith(t, h, `{}`))
	if d.ErrorCode != fault.Internal || strings.Contains(d.Error, "secret") {
		t.Errorf("%s: %q", d.ErrorCode, d.Error)
	}
}

func TestCallerIsWhoTheClientSaysItIs(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":%s}}` + "\n"
	for _, test := range []struct{ name, in, want string }{
		{"handshake", fmt.Sprintf(hello, `{"name":"Desk","version":"1.2"}`) + call("1", "get_asset_info", ""), "Desk/1.2"},
		{"no version", fmt.Sprintf(hello, `{"name":"Desk","version":""}`) + call("1", "get_asset_info", ""), "Desk"},
		{"no handshake", call("1", "get_asset_info", ""), "unnamed client"},
		{"hostile", fmt.Sprintf(hello, `{"name":"a\u001b[2J\u202e\nb","version":"1"}`) + call("1", "get_asset_info", ""), "a\uFFFD[2J\uFFFD b/1"},
		{"long", fmt.Sprintf(hello, `{"name":"`+strings.Repeat("é", 5000)+`","version":"1"}`) + call("1", "get_asset_info", ""),
			strings.Repeat("é", 199) + "…"},
		{"stateless", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_asset_info","arguments":{},` + modern + `}}`, "c/1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			runner := printing(printed)
			s := newServer(ops.All(), nil, testHandler(runner).toolHandler)
			in := strings.ReplaceAll(test.in, `"arguments":{"name":""}`, `"arguments":{}`)
			if err := newTransport(s, new(bytes.Buffer), testLimit, quiet()).serve(t.Context(), strings.NewReader(in)); err != nil {
				t.Fatal(err)
			}
			if len(runner.seen) != 1 {
				t.Fatalf("%d runs, want 1", len(runner.seen))
			}
			op, _ := ops.ByName("get_asset_info")
			got, err := op.ParseRequest(runner.seen[0].Stdin)
			if err != nil || got.Caller != test.want {
				t.Errorf("caller %q, %v; want %q", got.Caller, err, test.want)
			}
		})
	}
}

// sentinel names tools in its fixes, and only those that are on offer here.
func TestARunIsToldWhichToolsAreOnOffer(t *testing.T) {
	runner := printing(printed)
	h := testHandler(runner)
	h.tools = []string{"get_top_processes", "security_audit"}
	callWith(t, h, `{}`)
	const want = `{"_context":{"caller":"unnamed client","tools":["get_top_processes","security_audit"]}}`
	if got := string(runner.seen[0].Stdin); got != want {
		t.Errorf("stdin %s, want %s", got, want)
	}
}

// What another machine leaves unanswered is no matter of a disk of this one.
func TestATimeoutOnAnotherMachineIsAboutThatOne(t *testing.T) {
	h := testHandler(printing(printed))
	op, _ := ops.ByName("get_system_health")
	err := h.ended(op, "web-1", context.DeadlineExceeded, "did not finish")
	if !strings.HasPrefix(err.Message, "get_system_health on web-1 did not finish within ") || !strings.Contains(err.Fix, "that machine") || strings.Contains(err.Fix, "disk") {
		t.Errorf("%s; %s", err.Message, err.Fix)
	}
}

// A call that took too long here is not answered with one more: what it names could be off, or be
// the tool itself.
func TestATimeoutNamesNoTool(t *testing.T) {
	h := testHandler(printing(printed))
	h.tools = namesOf(ops.All())
	for _, op := range ops.All() {
		said := fmt.Sprintf("%s", h.failed(op, h.ended(op, "", context.DeadlineExceeded, "did not finish")).StructuredContent)
		_, fix, _ := strings.Cut(said, `"fix":`)
		if !strings.Contains(said, `"TIMEOUT"`) || !strings.Contains(fix, "tell the user") || slices.ContainsFunc(h.tools, func(tool string) bool { return strings.Contains(fix, tool) }) {
			t.Errorf("%s: %s", op.Name, said)
		}
	}
}
