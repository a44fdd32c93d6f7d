// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/guard/stage"
	"sentinel/internal/guard/stages"
	"sentinel/internal/testenv"
)

// A rig is a relay with both of its sides in the hands of a test.
type rig struct {
	t              *testing.T
	relay          *Relay
	client, server side
	served         chan struct{}

	mu    sync.Mutex
	notes []string
}

// A side is what a client or a server has: it writes to the relay, and reads from it.
type side struct {
	t  *testing.T
	w  *io.PipeWriter
	r  *bufio.Reader
	rp *io.PipeReader
}

func newRig(t *testing.T, options Options) *rig {
	t.Helper()
	testenv.HangGuard(t)
	g := &rig{t: t, served: make(chan struct{})}
	fromClient, clientWrites := io.Pipe()
	clientReads, toClient := io.Pipe()
	fromServer, serverWrites := io.Pipe()
	serverReads, toServer := io.Pipe()
	if options.Stages == nil {
		options.Stages = stages.All(stages.Settings{})
	}
	options.Note = func(kind, _ string) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.notes = append(g.notes, kind)
	}
	g.relay = New(context.Background(), Endpoint{fromClient, toClient}, Endpoint{fromServer, toServer}, options)
	g.client = side{t, clientWrites, bufio.NewReader(clientReads), clientReads}
	g.server = side{t, serverWrites, bufio.NewReader(serverReads), serverReads}
	go func() {
		g.relay.Serve()
		toClient.Close()
		close(g.served)
	}()
	t.Cleanup(func() {
		clientWrites.Close()
		serverWrites.Close()
		clientReads.Close()
		serverReads.Close()
		<-g.served
		<-g.relay.ClientEnded()
		g.relay.pumps[stage.Server].to.close()
	})
	return g
}

// send writes text beside what the test does next.
func (s side) send(text string) {
	go io.WriteString(s.w, text)
}

// line writes one line and returns when it was read.
func (s side) line(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.w, text+"\n"); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
}

func (s side) read() string {
	s.t.Helper()
	line, err := s.r.ReadString('\n')
	if err != nil {
		s.t.Fatalf("read: %v after %q", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

func (s side) wants(text string) {
	s.t.Helper()
	if got := s.read(); got != text {
		s.t.Fatalf("got  %.500s\nwant %.500s", got, text)
	}
}

// refused reads an answer and returns the code in it, after checking its form.
func (s side) refused(id string) string {
	s.t.Helper()
	got := s.read()
	gotID, code, err := refusalIn(got)
	if err != nil || gotID != id {
		s.t.Fatalf("%.500s: id %s, want %s (%v)", got, gotID, id, err)
	}
	return code
}

type refusalFields struct{ Guard, Code, Rule, Reason, Fix, Event string }

// refusalIn returns id and code of an answer that the guard made.
func refusalIn(line string) (id, code string, err error) {
	var a struct {
		JSONRPC string
		ID      json.RawMessage
		Result  *struct {
			IsError bool
			Content []struct{ Type, Text string }
			Meta    refusalFields `json:"_meta"`
		}
		Error *struct {
			Code    int
			Message string
			Data    refusalFields
		}
	}
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		return "", "", err
	}
	var f refusalFields
	switch {
	case a.JSONRPC != "2.0":
		return "", "", errors.New("not JSON-RPC 2.0")
	case a.Result != nil && a.Error == nil && a.Result.IsError && len(a.Result.Content) == 1 && a.Result.Content[0].Text != "":
		f = a.Result.Meta
	case a.Error != nil && a.Result == nil && a.Error.Message != "" && a.Error.Code >= 4400 && a.Error.Code < 4600:
		f = a.Error.Data
	default:
		return "", "", errors.New("no refusal")
	}
	if f.Guard == "" || f.Code == "" || f.Rule == "" || f.Reason == "" || f.Fix == "" || f.Event == "" {
		return "", "", fmt.Errorf("fields are missing: %+v", f)
	}
	return string(a.ID), f.Code, nil
}

const ping = `{"jsonrpc":"2.0","id":9000,"method":"ping"}`

// lives checks that a request still gets its answer.
func (g *rig) lives() {
	g.t.Helper()
	g.client.send(ping + "\n")
	g.server.wants(ping)
	g.server.send(`{"jsonrpc":"2.0","id":9000,"result":{}}` + "\n")
	g.client.wants(`{"jsonrpc":"2.0","id":9000,"result":{}}`)
}

func call(id, name, arguments string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
}

func TestWhatCanBeReadInOneWayArrivesAsItCame(t *testing.T) {
	for name, line := range map[string]string{
		"blanks":                      ` { "jsonrpc" : "2.0" ,"id":1 , "method":"ping" } `,
		"CRLF":                        `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r",
		"escapes":                     `{"jsonrpc":"2.0","id":1,"method":"\u0070ing"}`,
		"names of arguments":          call("1", "a", `{"q":1,"Q":2,"Name":3}`),
		"a whole number of 20 digits": call("1", "a", `{"n":12345678901234567890}`),
		"1e400":                       call("1", "a", `{"n":-1e400}`),
		"separators of lines":         call("1", "a", "{\"n\":\"a\u2028b\u0085\"}"),
		"an id with a fraction":       call("2.0", "a", `{}`),
		"an id that is a text":        call(`"7"`, "a", `{}`),
		"unknown methods":             `{"jsonrpc":"2.0","id":1,"method":"x/y","params":[1,{"Method":2}],"more":{"a":1}}`,
		"unknown notifications":       `{"jsonrpc":"2.0","method":"notifications/x/y","params":{"z":1}}`,
		"progress":                    `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}`,
		"no arguments":                `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Options{})
			g.client.send(line + "\n")
			g.server.wants(line)
			g.lives()
		})
	}
}

// Other readers take the first of two names, or the last, or one with another case.
func TestWhatCanBeReadInTwoWaysIsAnswered(t *testing.T) {
	deep := `{"a":{"b":[{"c":{"host":"x","host":"y"}}]}}`
	for line, id := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","name":"delete"}}`:                           "1",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","Name":"delete"}}`:                           "1",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","Params":{"name":"read"},"params":{"name":"delete"}}`:                "1",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"},"param` + "\u017f" + `":{"name":"delete"}}`: "1",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"},"params\u0000":{"name":"delete"}}`:          "1",
		`{"jsonrpc":"2.0","id":1,"METHOD":"tools/call","params":{"name":"read"}}`:                                           "1",
		call(`"x"`, "read", deep):                                               `"x"`,
		call("2.0", "read", `{"p":"\udfff"}`):                                   "2.0",
		call("1", "read", "{\"p\":\"\x80\"}"):                                   "1",
		call("1", "read", `[1]`):                                                "1",
		call("1", "read", `"x"`):                                                "1",
		call("1", "", `{}`):                                                     "1",
		call("1", strings.Repeat("n", 10_000), `{}`):                            "1",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`:    "1",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["name"]}`:      "1",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`:                        "1",
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":1}}`: "1",
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`:                 "1",
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`:                       "null",
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`:                           "null",
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                           "null",
		`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`:                          "1e400",
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                              "1",
		`{"id":1,"method":"ping"}`:                                              "1",
		`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`:                  "1",
		"\ufeff" + ping:  "null",
		ping + ping:      "null",
		ping[:30]:        "null",
		`hello`:          "null",
		`"hello"`:        "null",
		`[]`:             "null",
		`[` + ping + `]`: "null",
	} {
		t.Run(line[:min(len(line), 60)], func(t *testing.T) {
			g := newRig(t, Options{})
			g.client.send(line + "\n")
			if code := g.client.refused(id); code != "MESSAGE_MALFORMED" {
				t.Errorf("code %s", code)
			}
			g.lives() // and nothing of the line came before
		})
	}
}

func TestARefusedNotificationIsNotAnswered(t *testing.T) {
	g := newRig(t, Options{})
	g.client.line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestId":2}}`)
	g.lives()
}

// withAsked has the client ask for something that the server then answers.
func (g *rig) withAsked(id string) {
	g.t.Helper()
	line := call(id, "read", `{}`)
	g.client.send(line + "\n")
	g.server.wants(line)
}

func TestAnAnswerThatCannotBeReadIsReplaced(t *testing.T) {
	for name, line := range map[string]string{
		"a name twice":        `{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"shown","text":"read"}]}}`,
		"the id at the end":   `{"result":{"content":[],"content":[]},"jsonrpc":"2.0","id":5}`,
		"no UTF-8":            "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"a\":\"\xfe\"}}",
		"half a surrogate":    `{"jsonrpc":"2.0","id":5,"result":{"a":"\ud800"}}`,
		"a control character": "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"a\":\"\x01\"}}",
		"two lines in one":    `{"jsonrpc":"2.0","id":5,"result":{}}{"jsonrpc":"2.0","id":6,"result":{}}`,
		"result and error":    `{"jsonrpc":"2.0","id":5,"result":{},"error":{}}`,
		"another version":     `{"jsonrpc":"1.0","id":5,"result":{}}`,
		"a batch":             `[{"jsonrpc":"2.0","id":5,"result":{}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Options{})
			g.withAsked("5")
			g.server.send(line + "\n")
			if code := g.client.refused("5"); code != "MESSAGE_MALFORMED" {
				t.Errorf("code %s", code)
			}
			g.lives()
		})
	}
}

func TestNoiseOfTheServerIsDropped(t *testing.T) {
	for _, line := range []string{
		"Server listening on stdio", `{"level":"info","msg":"listening","id":5}`, `"x"`, "\x1b[31mred", "", "  ", "[1,2", `[]`, "null", "\ufeff{}",
	} {
		t.Run(line, func(t *testing.T) {
			g := newRig(t, Options{})
			g.withAsked("5")
			g.server.line(line)
			g.server.send(`{"jsonrpc":"2.0","id":5,"result":{}}` + "\n")
			g.client.wants(`{"jsonrpc":"2.0","id":5,"result":{}}`)
			g.lives()
		})
	}
}

func TestAnAnswerThatNobodyAskedForIsDropped(t *testing.T) {
	g := newRig(t, Options{})
	g.withAsked("5")
	for _, id := range []string{`"5"`, "5.0", "6", "null"} {
		g.server.line(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	}
	g.client.line(`{"jsonrpc":"2.0","id":5,"result":{}}`)
	g.server.send(`{"jsonrpc":"2.0","id":5,"result":{"a":1}}` + "\n" + `{"jsonrpc":"2.0","id":5,"result":{"a":2}}` + "\n")
	g.client.wants(`{"jsonrpc":"2.0","id":5,"result":{"a":1}}`)
	g.lives()
}

func TestIDsDifferByKindAndSpelling(t *testing.T) {
	g := newRig(t, Options{})
	ids := []string{"1", "1.0", `"1"`, "10", "1e1"}
	for _, id := range ids {
		g.withAsked(id)
	}
	for _, id := range ids {
		answer := `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`
		g.server.send(answer + "\n")
		g.client.wants(answer)
	}
	g.lives()
}

func TestAnIDInFlightIsNotUsedAgain(t *testing.T) {
	g := newRig(t, Options{})
	g.withAsked("5")
	g.client.send(call("5", "other", `{}`) + "\n")
	if code := g.client.refused("5"); code != "MESSAGE_MALFORMED" {
		t.Errorf("code %s", code)
	}
	g.server.send(`{"jsonrpc":"2.0","id":5,"method":"roots/list"}` + "\n") // the same number the other way
	g.client.wants(`{"jsonrpc":"2.0","id":5,"method":"roots/list"}`)
	g.client.send(`{"jsonrpc":"2.0","id":5,"result":{"roots":[]}}` + "\n")
	g.server.wants(`{"jsonrpc":"2.0","id":5,"result":{"roots":[]}}`)
	g.server.send(`{"jsonrpc":"2.0","id":5,"result":{}}` + "\n")
	g.client.wants(`{"jsonrpc":"2.0","id":5,"result":{}}`)
	g.withAsked("5")
}

func TestTheServersRequestsAreAnsweredToo(t *testing.T) {
	g := newRig(t, Options{})
	g.server.send(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"a":1,"a":2}}` + "\n")
	if code := g.server.refused("1"); code != "MESSAGE_MALFORMED" {
		t.Errorf("code %s", code)
	}
	ask := `{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"message":"x"}}`
	g.server.send(ask + "\n")
	g.client.wants(ask)
	g.client.send(`{"jsonrpc":"2.0","id":2,"result":{"action":"accept","action":"decline"}}` + "\n")
	if code := g.server.refused("2"); code != "MESSAGE_MALFORMED" {
		t.Errorf("code %s", code)
	}
	g.lives()
}

func TestALineThatIsTooLongIsSkippedAndAnswered(t *testing.T) {
	const most = 1000
	long := `{"text":"` + strings.Repeat("z", 3*most) + `"}`
	for name, line := range map[string]string{
		"the id first":         call("5", "write", long),
		"the id last":          `{"method":"tools/call","params":{"name":"write","arguments":` + long + `},"jsonrpc":"2.0","id":5}`,
		"the id after jsonrpc": `{"method":"tools/call", "params":{"name":"write", "arguments":` + long + `}, "id": 5, "jsonrpc": "2.0"}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Options{MaxLine: most})
			g.client.send(line + "\n")
			if code := g.client.refused("5"); code != "MESSAGE_TOO_LARGE" {
				t.Errorf("code %s", code)
			}
			g.lives()
		})
	}
	for name, line := range map[string]string{
		"the id first":             `{"jsonrpc":"2.0","id":5,"result":` + long + `}`,
		"the id last":              `{"result":` + long + `,"jsonrpc":"2.0","id":5}`,
		"the id where nobody sees": `{"result":` + long + `,"id":5,"x":` + long + `}`,
	} {
		t.Run("an answer with "+name, func(t *testing.T) {
			g := newRig(t, Options{MaxLine: most})
			g.withAsked("5")
			g.server.send(line + "\n")
			if code := g.client.refused("5"); code != "MESSAGE_TOO_LARGE" {
				t.Errorf("code %s", code)
			}
			g.lives()
		})
	}
	t.Run("no id to be seen", func(t *testing.T) {
		g := newRig(t, Options{MaxLine: most})
		g.client.send(`{"x":` + long + `}` + "\n")
		if code := g.client.refused("null"); code != "MESSAGE_TOO_LARGE" {
			t.Errorf("code %s", code)
		}
		g.client.send(`{"jsonrpc":"2.0","method":"notifications/x","params":` + long + `}` + "\n")
		g.server.send(`{"jsonrpc":"2.0","method":"notifications/x","params":` + long + `}` + "\n")
		g.lives()
	})
}

// agree goes through a handshake.
func (g *rig) agree(revision string) {
	g.t.Helper()
	ask := `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	answer := `{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"` + revision + `","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
	g.client.send(ask + "\n")
	g.server.wants(ask)
	g.server.send(answer + "\n")
	g.client.wants(answer)
}

func TestBatchesAreOfOneRevisionAlone(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
		g := newRig(t, Options{})
		g.agree(revision)
		g.client.send("[" + ping + "]\n")
		if code := g.client.refused("null"); code != "MESSAGE_MALFORMED" {
			t.Errorf("%s: code %s", revision, code)
		}
		g.lives()
	}
}

func TestABatchIsJudgedElementByElement(t *testing.T) {
	g := newRig(t, Options{})
	g.agree("2025-03-26")
	whole := ` [ ` + ping + ` , {"jsonrpc":"2.0","method":"notifications/x"} ] `
	g.client.send(whole + "\n")
	g.server.wants(whole)
	g.server.send(`[{"jsonrpc":"2.0","id":9000,"result":{}}]` + "\n")
	g.client.wants(`[{"jsonrpc":"2.0","id":9000,"result":{}}]`)

	bad := `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"a","name":"b"}}`
	good := ` {"jsonrpc" :"2.0","id":7,"method":"ping"}`
	g.client.send("[" + bad + "," + good + ", 5]\n")
	g.server.wants("[" + strings.TrimSpace(good) + "]")
	var answers []json.RawMessage
	if err := json.Unmarshal([]byte(g.client.read()), &answers); err != nil || len(answers) != 2 {
		t.Fatalf("%s, %v", answers, err)
	}
	for i, want := range []string{"8", "null"} {
		if id, code, err := refusalIn(string(answers[i])); id != want || code != "MESSAGE_MALFORMED" || err != nil {
			t.Errorf("%s: %v", answers[i], err)
		}
	}
	g.server.send(`[{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}},{"jsonrpc":"2.0","id":99,"result":{}},{"jsonrpc":"2.0","method":"notifications/y"}]` + "\n")
	if err := json.Unmarshal([]byte(g.client.read()), &answers); err != nil || len(answers) != 2 {
		t.Fatalf("%s, %v", answers, err)
	}
	if id, _, err := refusalIn(string(answers[0])); id != "7" || err != nil || string(answers[1]) != `{"jsonrpc":"2.0","method":"notifications/y"}` {
		t.Errorf("%s: %v", answers, err)
	}
	g.client.send("[]\n")
	g.client.refused("null")
	g.client.send("[" + bad + "]\n")
	g.client.read()
	g.lives()
}

// Servers of the newest revision send requests all the same, which it does not have: that is
// between the two.
func TestTheRevisionIsToldByTheTraffic(t *testing.T) {
	g := newRig(t, Options{})
	discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	g.client.send(discover + "\n")
	g.server.wants(discover)
	if got := g.relay.session.spoken(); got != "2026-07-28" {
		t.Errorf("revision %s", got)
	}
	g.server.send(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}` + "\n")
	g.client.wants(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`)
	g.server.send(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}` + "\n")
	g.client.wants(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`)
	g.agree("2025-03-26") // the client falls back, and that holds
	line := strings.Replace(discover, `"id":1`, `"id":2`, 1)
	g.client.send("[" + line + "]\n")
	g.server.wants("[" + line + "]")
	if got := g.relay.session.spoken(); got != "2025-03-26" {
		t.Errorf("revision %s", got)
	}
}

// seen returns a stage that notes the calls that it judges.
func seen(calls *[]stage.Call) stage.Stage {
	return stage.Stage{Name: "seen", Judge: func(m *stage.Message) (stage.Verdict, error) {
		if m.Request() && m.From == stage.Client {
			*calls = append(*calls, *m.Call)
		}
		return stage.Verdict{}, nil
	}}
}

func TestARepetitionWithTheInputThatWasAskedForIsTheSameCall(t *testing.T) {
	var calls []stage.Call
	g := newRig(t, Options{Stages: append(stages.All(stages.Settings{}), seen(&calls))})
	exchange := func(id, arguments, more, result string) {
		t.Helper()
		ask := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"a","arguments":` + arguments + more + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","n":` + id + `}}}`
		answer := `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
		g.client.send(ask + "\n")
		g.server.wants(ask)
		g.server.send(answer + "\n")
		g.client.wants(answer)
	}
	const needs = `{"resultType":"input_required","requestState":"s1","inputRequests":{}}`
	const input = `,"inputResponses":{"x":{"action":"accept"}}`
	exchange("1", `{"p":1}`, "", needs)
	exchange("2", `{"p":2}`, input+`,"requestState":"s1"`, `{}`) // other arguments
	exchange("3", `{"p":1}`, input+`,"requestState":"s2"`, `{}`) // another state
	exchange("4", `{"p":1}`, "", `{}`)                           // the same again, from the beginning
	exchange("5", `{"p":1}`, input+`,"requestState":"s1"`, `{}`) // the repetition
	exchange("6", `{"p":1}`, input+`,"requestState":"s1"`, `{}`) // once alone
	var got []string
	for _, c := range calls {
		got = append(got, fmt.Sprintf("%d %v %s", c.Number, c.Retry, c.Name))
	}
	want := []string{"1 false a", "2 false a", "3 false a", "4 false a", "1 true a", "5 false a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
