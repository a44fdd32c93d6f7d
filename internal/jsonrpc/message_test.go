// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file")

// summary renders what a line was taken for, a message a line.
func summary(line []byte) string {
	var b strings.Builder
	f := Parse(line)
	if f.Batch {
		fmt.Fprintf(&b, "batch of %d\n", len(f.Messages))
	}
	for _, m := range f.Messages {
		id := "none"
		if m.ID != nil {
			id = string(m.ID)
		}
		switch {
		case m.Fault != nil:
			fmt.Fprintf(&b, "refused, id %s, code %d: %s\n", id, m.Fault.Code, m.Fault.Reason)
		case m.Request():
			fmt.Fprintf(&b, "request %s, id %s, params %s\n", m.Method, id, m.Params)
		case m.Answer():
			fmt.Fprintf(&b, "answer to %s: result %s, error %s\n", id, m.Result, m.Error)
		default:
			fmt.Fprintf(&b, "notification %s, params %s\n", m.Method, m.Params)
		}
	}
	return b.String()
}

// TestWhatALineIsTakenFor reads testdata/lines.txt, where each line is a text in
// the syntax of Go, and compares testdata/lines.golden.
func TestWhatALineIsTakenFor(t *testing.T) {
	in, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(in)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var text string
		if _, err := fmt.Sscanf(line, "%q", &text); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		fmt.Fprintf(&got, "%s\n%s\n", line, summary([]byte(text)))
	}
	const golden = "testdata/lines.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("what lines are taken for (-want +got):\n%s", diff)
	}
}

func only(t *testing.T, line string) Message {
	t.Helper()
	f := Parse([]byte(line))
	if f.Batch || len(f.Messages) != 1 {
		t.Fatalf("%.80s: %d messages, batch %v", line, len(f.Messages), f.Batch)
	}
	return f.Messages[0]
}

func TestPartsOfAMessageAreItsOwnBytes(t *testing.T) {
	line := []byte(` {"jsonrpc":"2.0", "id" : 7 ,"method":"tools/call","params": {"name":"a\u0062", "arguments":{"n":1e400},"_meta":{"progressToken":"p"}} } ` + "\r\n")
	f := Parse(line)
	m := f.Messages[0]
	if m.Fault != nil {
		t.Fatal(m.Fault.Reason)
	}
	if got, want := string(m.Raw), strings.TrimSpace(string(line)); got != want {
		t.Errorf("raw %s, want %s", got, want)
	}
	for name, part := range map[string][]byte{"7": m.ID, `{"n":1e400}`: m.Members.Get("arguments"), `"p"`: m.Meta.Get("progressToken"), `"a\u0062"`: m.Members.Get("name")} {
		if string(part) != name {
			t.Errorf("%s, want %s", part, name)
		}
	}
	line[bytes.IndexByte(line, '7')] = '8'
	if string(m.ID) != "8" {
		t.Error("the id was copied")
	}
	if name, ok := Text(m.Members.Get("name")); name != "ab" || !ok {
		t.Errorf("name %q, %v", name, ok)
	}
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%d":1,`, i)
	}
	return "{" + b.String() + `"last":1}`
}

func TestDepthAndCountAreBounded(t *testing.T) {
	request := func(arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":` + arguments + `}}`
	}
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for name, test := range map[string]struct{ line, reason string }{
		"as deep as allowed": {request(nested(maxDepth - 2)), ""},
		"a level too deep":   {request(nested(maxDepth - 1)), "nested too deeply"},
		"arrays for ever":    {strings.Repeat("[", 1<<20), "nested too deeply"},
		"objects for ever":   {strings.Repeat(`{"a":`, 1<<18), "nested too deeply"},
		"many values":        {request("[" + strings.Repeat("1,", 2<<20) + "1]"), ""},
		"many names":         {request(manyNames(maxNames - 10)), ""},
		"too many names":     {request(manyNames(maxNames)), "too many names"},
		"many small objects": {request("[" + strings.Repeat(`{"a":1,"b":2},`, maxNames) + "1]"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := Parse([]byte(test.line)).Messages[0].Fault
			if test.reason == "" && f != nil || test.reason != "" && (f == nil || f.Code != ParseError || !strings.Contains(f.Reason, test.reason)) {
				t.Errorf("fault %v, want %q", f, test.reason)
			}
		})
	}
}

func TestManyNamesAreComparedQuickly(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, `"n%d":1,`, i)
	}
	line := `{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":{` + b.String() + `"last":1}}}`
	if m := only(t, line); m.Fault != nil {
		t.Error(m.Fault.Reason)
	}
	if m := only(t, strings.Replace(line, `"last"`, `"n77777"`, 1)); m.Fault == nil || !strings.Contains(m.Fault.Reason, `"n77777" is there twice`) {
		t.Errorf("fault %v", m.Fault)
	}
}

func TestBatchIsBounded(t *testing.T) {
	batch := func(n int) string {
		return "[" + strings.Repeat(`{"jsonrpc":"2.0","method":"a"},`, n-1) + `{"jsonrpc":"2.0","method":"a"}]`
	}
	if f := Parse([]byte(batch(MaxBatch))); len(f.Messages) != MaxBatch || f.Messages[MaxBatch-1].Fault != nil {
		t.Errorf("%d messages", len(f.Messages))
	}
	f := Parse([]byte(batch(MaxBatch + 1)))
	if len(f.Messages) != 1 || f.Messages[0].Fault == nil || !strings.Contains(f.Messages[0].Fault.Reason, "100 messages, not 101") {
		t.Errorf("too large a batch: %+v", f.Messages[0].Fault)
	}
}

func TestIDsAreTheSameOnlyWhenSpelledAlike(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"1", "1.0", "1e0", `"1"`, `"1.0"`, "-0", "0", `""`, "9007199254740992", "-9007199254740992"} {
		key, ok := ID(id).Key()
		if !ok || seen[key] != "" {
			t.Errorf("%s: key %q, %v; also of %q", id, key, ok, seen[key])
		}
		seen[key] = id
	}
	if a, _ := ID(`"1"`).Key(); a != TextKey("1") {
		t.Errorf("key %q", a)
	}
	if a, _ := ID(`"\u0031"`).Key(); a != TextKey("1") {
		t.Errorf("key of an escaped text %q", a)
	}
	for _, id := range []string{
		"", "null", "true", "[]", "{}", "9007199254740993", "-9007199254740993", "0.1", "1e400", "1e-400", "1e-999999999", "9007199254740993.0", "12345678901234567890",
		strings.Repeat("9", 400), "0." + strings.Repeat("0", 40),
	} {
		if key, ok := ID(id).Key(); ok {
			t.Errorf("%s: key %q, want none", id, key)
		}
	}
	for id, want := range map[string]bool{"7": true, "-7": true, "7.0": false, "7e0": false, `"7"`: false} {
		if ID(id).Whole() != want {
			t.Errorf("%s: whole %v", id, !want)
		}
	}
}

func TestIDOfALineThatIsTooLong(t *testing.T) {
	for head, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"xxxx`: "7",
		`{"jsonrpc":"2.0","id":"a","id":"b","method":"xxx`:                     "",
		`{"jsonrpc":"2.0","method":"tools/call","params":{"id":5,"x":"xxxx`:    "",
		`{"jsonrpc":"2.0","method":"a","id":12`:                                "",
		`{"jsonrpc":"2.0","id":7,"result":{"a":"xxx`:                           "",
		`[{"id":7,"method":"xx`:                                                "",
		``:                                                                     "",
	} {
		if got := ParseHead([]byte(head), nil).ID; string(got) != want {
			t.Errorf("%s: id %q, want %q", head, got, want)
		}
	}
}

func TestTheEndOfALineTellsTheID(t *testing.T) {
	for tail, want := range map[string]string{
		`x"},"jsonrpc":"2.0","id":12}`:            "12",
		`x"}, "jsonrpc": "2.0", "id": "a\u0062"}`: `"a\u0062"`,
		`x"},"id":12,"jsonrpc":"2.0"}`:            "12",
		`x"},"id":1,"id":2}`:                      "2", // the line is refused either way
		`x"},"id":{"a":1}}`:                       "",
		`x"},"ID":1}`:                             "",
		`x"}}`:                                    "",
		``:                                        "",
	} {
		got := ParseHead([]byte(`{"result":{"content":"xxx`), []byte(tail))
		if string(got.Fault.Answered) != want || got.ID != nil {
			t.Errorf("%s: answers %q, want %q; id %q", tail, got.Fault.Answered, want, got.ID)
		}
	}
}

func TestAMessageThatIsRefusedSaysWhatItWas(t *testing.T) {
	for line, want := range map[string]struct {
		id, method, answered string
		notification         bool
	}{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":1,"a":2}}`: {"7", "tools/call", "", false},
		`{"jsonrpc":"2.0","id":7,"method":"a","method":"b"}`:                    {"7", "", "", false},
		`{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1,"a":2}}`:   {"", "notifications/x", "", true},
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`:                           {"", "ping", "", false},
		`{"jsonrpc":"2.0","ID":7,"method":"ping"}`:                              {"7", "ping", "", false},
		`{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}`:                       {"", "", "7", false},
		`{"result":{"a":1,"a":2},"jsonrpc":"2.0","id":"x"}`:                     {"", "", `"x"`, false},
		`{"jsonrpc":"2.0","id":7,"id":8,"error":{}}`:                            {"", "", "", false},
		`{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}`:                  {"7", "ping", "", false},
	} {
		m := only(t, line)
		if m.Fault == nil || string(m.ID) != want.id || m.Method != want.method || string(m.Fault.Answered) != want.answered || m.Fault.Notification != want.notification {
			t.Errorf("%s: id %q, method %q, fault %+v", line, m.ID, m.Method, m.Fault)
		}
	}
}

func TestMembersOfAResultAreRead(t *testing.T) {
	m := only(t, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","n":[1]}}`)
	if got, _ := Text(m.Outcome.Get("resultType")); got != "input_required" || string(m.Result) != `{"resultType":"input_required","n":[1]}` {
		t.Errorf("outcome %v, result %s", m.Outcome, m.Result)
	}
}

func TestObjectIsReadStrictly(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":1,"b":{"c":[]}}`: true, ` {"A":1,"a":2} `: true, `{}`: true,
		`{"a":1,"a":2}`: false, `{"a":{"b":1,"\u0062":2}}`: false, `{"a":"\ud800"}`: false, "{\"a\":\"\xff\"}": false, `[]`: false, `{} {}`: false, ``: false, "{}\x00": false,
	} {
		if _, ok := ParseObject([]byte(text)); ok != want {
			t.Errorf("%q: %v, want %v", text, ok, want)
		}
	}
}

func TestNamesThatFoldToOneAreRefused(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":1,"b":{"A":[{"a":2}]}}`: true, `{}`: true, `{"ss":1,"\u00df":2}`: true,
		`{"A":1,"a":2}`: false, `{"a":{"b":1,"\u0042":2}}`: false, `{"a":[[{"ok":1,"o\u212a":2}]]}`: false, `{"success":1,"\u017fuccess":2}`: false, `[]`: false, `{"a":1,"a":2}`: false,
	} {
		if _, ok := ParseFolded([]byte(text)); ok != want {
			t.Errorf("%q: %v, want %v", text, ok, want)
		}
	}
}

// loose is the message that encoding/json sees: names in any case, the last of
// equal ones.
type loose struct {
	ID     json.RawMessage
	Method any
	Params json.RawMessage
}

// FuzzAllReadersAgree compares what was accepted with a reader that folds case
// and takes the last of equal names, and with one that takes names as they are.
func FuzzAllReadersAgree(f *testing.F) {
	in, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(in)) {
		var text string
		if _, err := fmt.Sscanf(line, "%q", &text); err == nil {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		frame := Parse(line)
		if frame.Batch {
			return
		}
		m := frame.Messages[0]
		if m.Fault != nil {
			if m.Fault.Code == ParseError && json.Valid(line) && len(line) < maxDepth {
				t.Fatalf("%q is JSON: %s", line, m.Fault.Reason)
			}
			return
		}
		if !utf8.Valid(line) || !json.Valid(m.Raw) {
			t.Fatalf("%q is no JSON", line)
		}
		agree(t, m)
	})
}

func agree(t *testing.T, m Message) {
	t.Helper()
	var folding loose
	if err := json.Unmarshal(m.Raw, &folding); err != nil {
		t.Fatalf("%s: %v", m.Raw, err)
	}
	var exact map[string]json.RawMessage
	if err := json.Unmarshal(m.Raw, &exact); err != nil {
		t.Fatalf("%s: %v", m.Raw, err)
	}
	method, _ := folding.Method.(string)
	if method != m.Method || string(folding.Params) != string(m.Params) || string(exact["params"]) != string(m.Params) {
		t.Errorf("%s: method %q, params %s; others read %q, %s", m.Raw, m.Method, m.Params, method, folding.Params)
	}
	if m.ID != nil && (string(folding.ID) != string(m.ID) || string(exact["id"]) != string(m.ID)) {
		t.Errorf("%s: id %s; others read %s", m.Raw, m.ID, folding.ID)
	}
	var params map[string]json.RawMessage
	if json.Unmarshal(m.Params, &params) != nil {
		return
	}
	for _, member := range m.Members {
		if string(params[member.Name]) != string(member.Value) {
			t.Errorf("%s: %q is %s; others read %s", m.Raw, member.Name, member.Value, params[member.Name])
		}
	}
}

func FuzzFoldAgreesWithEqualFold(f *testing.F) {
	f.Add("id", "ID")
	f.Add("params", "param\u017f")
	f.Add("\u212a", "k")
	f.Add("stra\u00dfe", "STRASSE")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			return
		}
		if got, want := fold(a) == fold(b), strings.EqualFold(a, b); got != want {
			t.Errorf("%q and %q: %v, want %v", a, b, got, want)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_top_processes","arguments":{"count":5},"_meta":{"progressToken":1}}}`)
	b.ReportAllocs()
	for b.Loop() {
		Parse(line)
	}
}
