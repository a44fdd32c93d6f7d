// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestMessageIsSortedByWhatItIs(t *testing.T) {
	for _, test := range []struct {
		name, line         string
		id, method, cancel string
	}{
		{"request", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, "number 7", "tools/list", ""},
		{"text id", `{"id":"7","method":"ping"}`, "text 7", "ping", ""},
		{"escaped id is the same id", `{"id":"\u0037","method":"ping"}`, "text 7", "ping", ""},
		{"empty id", `{"id":"","method":"ping"}`, "text ", "ping", ""},
		{"negative id", `{"id":-1,"method":"ping"}`, "number -1", "ping", ""},
		{"largest id", `{"id":9007199254740992,"method":"ping"}`, "number 9007199254740992", "ping", ""},
		{"notification", `{"method":"notifications/initialized"}`, "", "notifications/initialized", ""},
		{"cancel of a number", `{"method":"notifications/cancelled","params":{"requestId":7}}`, "", "notifications/cancelled", "number 7"},
		{"cancel of a text", `{"method":"notifications/cancelled","params":{"requestId":"7"}}`, "", "notifications/cancelled", "text 7"},
		{"cancel of nothing", `{"method":"notifications/cancelled"}`, "", "notifications/cancelled", ""},
		{"cancel of an object", `{"method":"notifications/cancelled","params":{"requestId":{}}}`, "", "notifications/cancelled", ""},
		{"cancel as a request", `{"id":1,"method":"notifications/cancelled","params":{"requestId":7}}`, "number 1", "notifications/cancelled", ""},
		{"answer", `{"id":1,"result":{}}`, "number 1", "", ""},
		{"failed answer", `{"id":null,"error":{"code":1,"message":"x"}}`, "", "", ""},
		{"blanks around", " \t{\"id\":7,\"method\":\"ping\"}\r\n", "number 7", "ping", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, refused := parseMessage([]byte(test.line))
			if refused != nil {
				t.Fatalf("refused: %s", refused.sentence)
			}
			if m.id != test.id || m.method != test.method || m.cancel != test.cancel {
				t.Errorf("id %q, method %q, cancel %q; want %q, %q, %q", m.id, m.method, m.cancel, test.id, test.method, test.cancel)
			}
			if diff := cmp.Diff(strings.TrimSpace(test.line), string(m.raw)); diff != "" {
				t.Errorf("raw (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadLineIsRefusedWithASentence(t *testing.T) {
	for _, test := range []struct {
		name, line string
		id         string
		code       int
		sentence   string
	}{
		{"no JSON", `hello`, "", -32700, "exactly one JSON object"},
		{"cut off", `{"id":1,"method":"ping"`, "", -32700, "exactly one JSON object"},
		{"two on one line", `{"id":1,"method":"ping"}{"id":2,"method":"ping"}`, "", -32700, "exactly one JSON object"},
		{"cut off batch", `[{"id":1}`, "", -32700, "exactly one JSON object"},
		{"batch", `[{"id":1,"method":"ping"}]`, "", -32600, "batches are not supported"},
		{"empty batch", `[]`, "", -32600, "batches are not supported"},
		{"text", `"ping"`, "", -32600, "a request is a JSON object"},
		{"number", `7`, "", -32600, "a request is a JSON object"},
		{"null", `null`, "", -32600, "a request is a JSON object"},
		{"null id", `{"id":null,"method":"ping"}`, "", -32600, "id must be"},
		{"float id", `{"id":1.5,"method":"ping"}`, "1.5", -32600, "id must be"},
		{"id with an exponent", `{"id":1e2,"method":"ping"}`, "1e2", -32600, "id must be"},
		{"id beyond 2^53", `{"id":9007199254740993,"method":"ping"}`, "9007199254740993", -32600, "id must be"},
		{"id below -2^53", `{"id":-9007199254740993,"method":"ping"}`, "-9007199254740993", -32600, "id must be"},
		{"endless id", `{"id":` + strings.Repeat("9", 65) + `,"method":"ping"}`, "", -32600, "id must be"},
		{"boolean id", `{"id":true,"method":"ping"}`, "", -32600, "id must be"},
		{"object as id", `{"id":{"a":1},"method":"ping"}`, "", -32600, "id must be"},
		{"no method", `{"id":1}`, "1", -32600, "method must be"},
		{"empty method", `{"id":1,"method":""}`, "1", -32600, "method must be"},
		{"number as method", `{"id":1,"method":5}`, "1", -32600, "method must be"},
		{"request and answer", `{"id":"a","method":"ping","result":{}}`, `"a"`, -32600, "method and an answer"},
		{"empty object", `{}`, "", -32600, "method must be"},
		{"key twice", `{"id":1,"id":2,"method":"ping"}`, "", -32600, `the key "id" is there twice`},
		{"key twice, escaped", `{"id":1,"\u0069d":2,"method":"ping"}`, "", -32600, `the key "id" is there twice`},
		{"key twice in two cases", `{"id":1,"method":"ping","Method":"tools/call"}`, "", -32600, `the key "Method" is there twice`},
		{"key in another case", `{"ID":1,"method":"ping"}`, "", -32600, `the key "ID" must be written "id"`},
		{"key with a letter that folds", `{"id":1,"method":"ping","param\u017f":{}}`, "", -32600, `must be written "params"`},
		{"unknown key twice", `{"id":1,"method":"ping","x":1,"X":1}`, "", -32600, `the key "X" is there twice`},
		{"params: key twice", `{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`, "1", -32600, `the key "name" is there twice`},
		{"params: key in another case", `{"id":1,"method":"tools/call","params":{"Name":"a"}}`, "1", -32600, `the key "Name" must be written "name"`},
		{"params: arguments twice", `{"id":1,"method":"tools/call","params":{"name":"a","arguments":{},"ARGUMENTS":{}}}`, "1", -32600, "is there twice"},
		{"params of a cancellation", `{"method":"notifications/cancelled","params":{"requestId":1,"requestid":2}}`, "", -32600, "is there twice"},
		{"too deep", strings.Repeat("[", 20_000), "", -32700, "exactly one JSON object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, refused := parseMessage([]byte(test.line))
			if refused == nil {
				t.Fatal("not refused")
			}
			if string(refused.id) != test.id || refused.code != test.code || !strings.Contains(refused.sentence, test.sentence) {
				t.Errorf("id %s, code %d, sentence %q; want %s, %d, … %q …",
					refused.id, refused.code, refused.sentence, test.id, test.code, test.sentence)
			}
		})
	}
}

// What an argument is called is the business of its tool.
func TestKeysBelowParamsAreNotJudged(t *testing.T) {
	for _, line := range []string{
		`{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"Name":1,"name":2,"ID":3}}}`,
		`{"id":1,"method":"ping","params":[1]}`, `{"id":1,"method":"ping","params":null}`, `{"id":1,"method":"ping","extra":{"a":1,"A":2}}`,
	} {
		if _, refused := parseMessage([]byte(line)); refused != nil {
			t.Errorf("%s: %s", line, refused.sentence)
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
