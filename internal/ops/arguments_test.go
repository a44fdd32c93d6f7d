// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func top(t testing.TB) Operation {
	t.Helper()
	op, ok := ByName("get_top_processes")
	if !ok {
		t.Fatal("get_top_processes is not in the table")
	}
	return op
}

func TestParseRequestTakesWhatTheSchemaAllows(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want Request
	}{
		{``, Request{Arguments: Arguments{"count": int64(10), "sort": "cpu"}}},
		{" \n", Request{Arguments: Arguments{"count": int64(10), "sort": "cpu"}}},
		{`{}`, Request{Arguments: Arguments{"count": int64(10), "sort": "cpu"}}},
		{`{"count":1}`, Request{Arguments: Arguments{"count": int64(1), "sort": "cpu"}}},
		{`{"count":100,"sort":"memory"}` + "\n", Request{Arguments: Arguments{"count": int64(100), "sort": "memory"}}},
		{`{"count":5.0}`, Request{Arguments: Arguments{"count": int64(5), "sort": "cpu"}}},
		{`{"count":5e0}`, Request{Arguments: Arguments{"count": int64(5), "sort": "cpu"}}},
		{`{"_context":{"caller":"a chat"}}`, Request{Arguments: Arguments{"count": int64(10), "sort": "cpu"}, Context: Context{Caller: "a chat"}}},
		{`{"_context":{"caller":"c","asking":true}}`, Request{Arguments: Arguments{"count": int64(10), "sort": "cpu"}, Context: Context{Caller: "c", Asking: true}}},
		{`{"_context":{"asked":"accepted","plan":"77ab"}}`, Request{Arguments: Arguments{"count": int64(10), "sort": "cpu"}, Context: Context{Asked: Accepted, Plan: "77ab"}}},
		{`{"_context":{}}`, Request{Arguments: Arguments{"count": int64(10), "sort": "cpu"}}},
		{`{"_context":{"tools":["a","b"]}}`, Request{Arguments: Arguments{"count": int64(10), "sort": "cpu"}, Context: Context{Tools: []string{"a", "b"}}}},
		{`{"_context":{"tools":[]}}`, Request{Arguments: Arguments{"count": int64(10), "sort": "cpu"}, Context: Context{Tools: []string{}}}},
	} {
		got, err := top(t).ParseRequest([]byte(c.raw))
		if err != nil {
			t.Errorf("%s: %v", c.raw, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.raw, diff)
		}
	}
}

func TestParseRequestRefusesTheRestInASentence(t *testing.T) {
	const range100 = "count must be a whole number from 1 to 100, not "
	for _, c := range []struct{ raw, want string }{
		{`{"count":0}`, range100 + "0."},
		{`{"count":-1}`, range100 + "-1."},
		{`{"count":101}`, range100 + "101."},
		{`{"count":5.7}`, range100 + "5.7."},
		{`{"count":1e400}`, range100 + "1e400."},
		{`{"count":99999999999999999999999}`, range100 + "99999999999999999999999."},
		{`{"count":9223372036854775808.0}`, range100 + "9223372036854775808.0."},
		{`{"count":"5"}`, range100 + `"5".`},
		{`{"count":null}`, range100 + "null."},
		{`{"count":true}`, range100 + "true."},
		{`{"count":[5]}`, range100 + "[5]."},
		{`{"sort":"name"}`, `sort must be one of cpu, memory, not "name".`},
		{`{"sort":""}`, `sort must be one of cpu, memory, not "".`},
		{`{"sort":5}`, "sort must be one of cpu, memory, not 5."},
		{`{"sort":null}`, "sort must be one of cpu, memory, not null."},
		{`{"Count":5}`, `get_top_processes has no argument "Count".`},
		{`{"limit":5}`, `get_top_processes has no argument "limit".`},
		{`{"count":5,"count":6}`, `The argument "count" is there twice.`},
		{`{"count":5,"\u0063ount":6}`, `The argument "count" is there twice.`},
		{`{"_context":"me"}`, "_context holds only caller (a text of at most 200 characters), tools (a list of at most 100 names), asking (true or false), asked (accepted or typed) and plan."},
		{`{"_context":{"uid":0}}`, wrongContext().Error()},
		{`{"_context":{"asked":"by root"}}`, wrongContext().Error()},
		{`{"_context":{"tools":null}}`, wrongContext().Error()},
		{`{"_context":{"tools":[1]}}`, wrongContext().Error()},
		{`{"_context":{"tools":["x"` + strings.Repeat(`,"x"`, 100) + `]}}`, wrongContext().Error()},
		{`{"_context":{"asking":"yes"}}`, wrongContext().Error()},
		{`{"_context":{"asking":null}}`, wrongContext().Error()},
		{`{"_context":{"Asked":"accepted"}}`, wrongContext().Error()},
		{`{"_context":{"plan":"` + strings.Repeat("a", 65) + `"}}`, wrongContext().Error()},
		{`{"_context":{"caller":7}}`, wrongContext().Error()},
		{`{"_context":{"caller":"` + strings.Repeat("x", 201) + `"}}`, wrongContext().Error()},
		{`[]`, "The arguments must be one JSON object, and it does not begin with {."},
		{`null`, "The arguments must be one JSON object, and it does not begin with {."},
		{`"x"`, "The arguments must be one JSON object, and it does not begin with {."},
		{`{`, "The arguments must be one JSON object, and it is cut off."},
		{`{"count":5`, "The arguments must be one JSON object, and it is cut off."},
		{`{"count":}`, "The arguments must be one JSON object, and it is not valid JSON."},
		{`{"count" 5}`, "The arguments must be one JSON object, and it is not valid JSON."},
		{`{} {}`, "The arguments must be one JSON object, and something follows the object."},
		{`{}x`, "The arguments must be one JSON object, and something follows the object."},
		{"{\"sort\":\"\xff\"}", "The arguments must be one JSON object, and it is not valid UTF-8."},
	} {
		_, err := top(t).ParseRequest([]byte(c.raw))
		wrong, ok := errors.AsType[*ArgumentError](err)
		if !ok {
			t.Errorf("%s: got %v, want an ArgumentError", c.raw, err)
			continue
		}
		if wrong.Message != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.raw, wrong.Message, c.want)
		}
		if wrong.Fix == "" {
			t.Errorf("%s: no fix", c.raw)
		}
	}
}

func TestAWrongValueIsShortenedInTheSentence(t *testing.T) {
	_, err := top(t).ParseRequest([]byte(`{"sort":"` + strings.Repeat("x", 60000) + `"}`))
	if err == nil || len(err.Error()) > 120 {
		t.Errorf("got %d bytes of error", len(err.Error()))
	}
}

func TestRequiredArgumentsAreAskedFor(t *testing.T) {
	op, _ := ByName("terminate_process")
	for raw, want := range map[string]string{
		`{}`:              "pid is missing.",
		``:                "pid is missing.",
		`{"reason":"x"}`:  "pid is missing.",
		`{"pid":null}`:    "pid must be a whole number from 1 to 4194304, not null.",
		`{"pid":4194305}`: "pid must be a whole number from 1 to 4194304, not 4194305.",
		`{"pid":"7"}`:     `pid must be a whole number from 1 to 4194304, not "7".`,
	} {
		_, err := op.ParseRequest([]byte(raw))
		wrong, ok := errors.AsType[*ArgumentError](err)
		if !ok || wrong.Message != want || wrong.Code != "INVALID_PID" || wrong.Fix == "" {
			t.Errorf("%s: %#v, want %q", raw, err, want)
		}
	}
	for raw, want := range map[string]string{
		`{"pid":7,"graceful":"yes"}`:                            `graceful must be true or false, not "yes".`,
		`{"pid":7,"graceful":1}`:                                "graceful must be true or false, not 1.",
		`{"pid":7,"reason":5}`:                                  "reason must be a text of at most 200 characters, not 5.",
		`{"pid":7,"reason":"` + strings.Repeat("ä", 201) + `"}`: "reason must be a text of at most 200 characters, not 201.",
	} {
		if _, err := op.ParseRequest([]byte(raw)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
	got, err := op.ParseRequest([]byte(`{"pid":7,"graceful":true,"reason":"` + strings.Repeat("ä", 200) + `"}`))
	if err != nil || got.Arguments.Int("pid") != 7 || !got.Arguments.Bool("graceful") || len(got.Arguments.Text("reason")) != 400 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestParseFlagsReadsNumbersAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64 // 0 means rejected
	}{
		{"1", 1}, {"100", 100}, {"0", 0}, {"-1", 0}, {"101", 0}, {"010", 0}, {"0x10", 0}, {"1_0", 0}, {"+5", 0},
		{" 5", 0}, {"5.0", 0}, {"5e0", 0}, {"", 0}, {"ten", 0}, {"99999999999999999999", 0}, {"٥", 0},
	} {
		args, err := top(t).ParseFlags(map[string]string{"top-count": c.text})
		switch {
		case c.want == 0 && err == nil:
			t.Errorf("%q was taken as %v", c.text, args["count"])
		case c.want == 0 && !strings.HasPrefix(err.Error(), "--top-count must be a whole number from 1 to 100"):
			t.Errorf("%q: %v", c.text, err)
		case c.want != 0 && (err != nil || args["count"] != c.want):
			t.Errorf("%q: got %v, %v", c.text, args["count"], err)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{`{}`, `{"count":5}`, `{"sort":"memory","_context":{"caller":"x"}}`, `{"count":5,"count":6}`, `[`, `{"count":1e9}`} {
		f.Add([]byte(seed))
	}
	op := top(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		request, err := op.ParseRequest(raw)
		if err != nil {
			if wrong, ok := errors.AsType[*ArgumentError](err); !ok || wrong.Fix == "" {
				t.Fatalf("%q: %v is no sentence with a fix", raw, err)
			}
			return
		}
		if n := request.Arguments.Int("count"); n < 1 || n > 100 {
			t.Fatalf("%q: count %d was let through", raw, n)
		}
		if s := request.Arguments.Text("sort"); s != "cpu" && s != "memory" {
			t.Fatalf("%q: sort %q was let through", raw, s)
		}
	})
}
