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
		"by name, in a list": {`{"token":["abc"]}`, `{"token":["[redacted]"]}`, false},
		"by form":            {`{"text":"use AKIAIOSFODNN7EXAMPLE now"}`, `{"text":"use [redacted] now"}`, false},
		"as a name":          {`{"AKIAIOSFODNN7EXAMPLE":1}`, `{"[redacted]":"[redacted]"}`, false},
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
