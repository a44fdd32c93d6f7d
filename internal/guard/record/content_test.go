// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValuesAreKeptWithoutSecrets(t *testing.T) {
	for name, test := range map[string]struct {
		raw, want string
		whole     bool
	}{
		"plain":              {`{"path":"/a b","n":1.50,"deep":[{"x":null,"y":true}]}`, `{"deep":[{"x":null,"y":true}],"n":1.50,"path":"/a b"}`, true},
		"by name":            {`{"password":"hunter2","user":"ann"}`, `{"password":"[redacted]","user":"ann"}`, false},
		"by name, a number":  {`{"api_key":12345678901234}`, `{"api_key":"[redacted]"}`, false},
		"by name, a list":    {`{"token":["abc"]}`, `{"token":"[redacted]"}`, false},
		"by name, an object": {`{"password":{"value":"hunter2","n":[1]}}`, `{"password":"[redacted]"}`, false},
		"a header":           {`{"headers":{"Authorization":["Bearer a"],"X-Auth":"b","Accept":"c"}}`, `{"headers":{"Accept":"c","Authorization":"[redacted]","X-Auth":"[redacted]"}}`, false},
		"name and value":     {`{"env":[{"name":"DB_PASS","value":"hunter2"},{"key":"A","value":"b"}]}`, `{"env":[{"name":"DB_PASS","value":"[redacted]"},{"key":"A","value":"b"}]}`, false},
		"pairs":              {`{"headers":[["Cookie","sid"],["Accept","c"]]}`, `{"headers":[["Cookie","[redacted]"],["Accept","c"]]}`, false},
		"a command line":     {`{"args":["mysql","--password","hunter2","-phunter2","db"]}`, `{"args":["mysql","--password","[redacted]","-p[redacted]","db"]}`, false},
		"an option of curl":  {`{"argv":["curl","-u","a:hunter2","https://b.example"]}`, `{"argv":["curl","-u","[redacted]","https://b.example"]}`, false},
		"a line of a shell":  {`{"command":"PGPASSWORD=hunter2 psql -h a"}`, `{"command":"PGPASSWORD=[redacted]"}`, false},
		"in an address":      {`{"url":"https://a:hunter2@b.example/?token=hunter2&x=1"}`, `{"url":"https://[redacted]@b.example/?token=[redacted]\u0026x=1"}`, false},
		"in base64":          {`{"auth":"Basic YTpodW50ZXIy","note":"basic settings"}`, `{"auth":"Basic [redacted]","note":"basic settings"}`, false},
		"JSON in a text":     {`{"body":"{\"password\":{\"value\":\"hunter2\"},\"n\":1}"}`, `{"body":"{\"n\":1,\"password\":\"[redacted]\"}"}`, false},
		"twice over":         {`{"body":"[\"{\\\"token\\\":[\\\"hunter2\\\"]}\"]"}`, `{"body":"[\"{\\\"token\\\":\\\"[redacted]\\\"}\"]"}`, false},
		"harmless JSON":      {`{"body":" { \"b\":1, \"a\":\"x\"}"}`, `{"body":" { \"b\":1, \"a\":\"x\"}"}`, true},
		"nothing by name":    {`{"password":null,"token":"","secret":false}`, `{"password":null,"secret":false,"token":""}`, true},
		"by form":            {`{"text":"use AKIAIOSFODNN7EXAMPLE now"}`, `{"text":"use [redacted] now"}`, false},
		"as a name":          {`{"AKIAIOSFODNN7EXAMPLE":1}`, `{"[redacted]":1}`, false},
		"controls":           {`{"text":"a\u001b[2Jb"}`, "", false},
		"too long":           {`"` + strings.Repeat("x", maxContent) + `"`, "", false},
		"no JSON":            {`{`, "", false},
	} {
		got, whole := content([]byte(test.raw))
		if name == "controls" {
			if strings.Contains(string(got), "\\u001b") || whole {
				t.Errorf("controls stay: %s", got)
			}
			continue
		}
		if string(got) != test.want || whole != test.whole {
			t.Errorf("%s: %s, whole %v, want %s", name, got, whole, test.want)
		}
	}
}

// Without being asked for, no value is kept; asked for, that of the arguments and of the result is.
func TestValuesAreKeptWhenAskedFor(t *testing.T) {
	for _, asked := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "log")
		l := Open(Options{Dir: dir, Session: "AAAA", Server: "files", BestEffort: func() bool { return false }, Values: func() bool { return asked }, Note: func(text string) { t.Error(text) }})
		if err := called(l, `{"path":"/home/ann/plan"}`); err != nil {
			t.Fatal(err)
		}
		l.Close(0)
		events, err := Newest(t.Context(), dir, 10, func(e Event) bool { return e.Arguments != nil })
		if err != nil || len(events) != 1 {
			t.Fatal(events, err)
		}
		want := Value{Content: json.RawMessage(`{"path":"/home/ann/plan"}`), Whole: true}
		if !asked {
			want = Value{}
		}
		got := Value{Content: events[0].Arguments.Content, Whole: events[0].Arguments.Whole}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		names, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		for _, name := range names {
			raw, err := os.ReadFile(name)
			if err != nil || strings.Contains(string(raw), "/home/ann/plan") != asked {
				t.Errorf("asked %v: %s %v", asked, raw, err)
			}
		}
	}
}

// A call may come before the key is read.
func TestTheFirstValueHasTheDigestOfTheKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "guard", "log")
	for range 20 {
		l := begin(t, dir, "AAAA")
		first := l.value([]byte(`{"path":"/x"}`), true).Digest
		l.Close(0)
		if again := l.value([]byte(`{"path":"/x"}`), true).Digest; first == "" || first != again {
			t.Fatalf("%q, then %q", first, again)
		}
	}
}
