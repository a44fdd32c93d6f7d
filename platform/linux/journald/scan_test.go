// SPDX-License-Identifier: Apache-2.0

package journald

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var scanCases = []struct {
	line string
	want Entry
}{
	{`{"MESSAGE":"cannot bind","SYSLOG_IDENTIFIER":"nginx","_PID":"7","_UID":"33","PRIORITY":"3","__REALTIME_TIMESTAMP":"1772600767123456","_BOOT_ID":"fe","_SYSTEMD_UNIT":"nginx.service","_TRANSPORT":"stdout"}`,
		Entry{DumpOf: -1, UID: 33, Realtime: 1772600767123456, Priority: 3, PID: 7, Message: []byte("cannot bind"), Unit: []byte("nginx.service"), Identifier: []byte("nginx"), Boot: []byte("fe")}},
	{`{"UNIT":"a.service","_SYSTEMD_UNIT":"init.scope","_PID":"1","_TRANSPORT":"kernel"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 1, Unit: []byte("a.service"), Kernel: true}},
	{`{"_PID":"1","_SYSTEMD_UNIT":"init.scope","UNIT":"a.service"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 1, Unit: []byte("a.service")}},
	// A user sends a line in the name of a service.
	{`{"UNIT":"a.service","_SYSTEMD_UNIT":"session-3.scope","_PID":"812"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 812, Unit: []byte("session-3.scope")}},
	{`{"UNIT":"a.service"}`, Entry{DumpOf: -1, UID: -1, Priority: -1}},
	{` { "MESSAGE" : "a" , "_PID" : "2" } `, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 2, Message: []byte("a")}},
	{`{"MESSAGE":[104,105,255]}`, Entry{DumpOf: -1, UID: -1, Priority: -1, Message: []byte("hi\xff")}},
	{`{"MESSAGE":["first","second"],"_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3, Message: []byte("first")}},
	{`{"MESSAGE":[[104,105],[1]],"_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3, Message: []byte("hi")}},
	{`{"MESSAGE":[],"_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3}},
	{`{"MESSAGE":[1e99,-1,300,104],"_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3, Message: []byte("h")}},
	{`{"MESSAGE":null,"_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3, TooLong: true, Message: tooLong}},
	{`{"MESSAGE" : [ null, "second" ],"_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3, TooLong: true, Message: tooLong}},
	{`{"MESSAGE":[[null]],"_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3}},
	{`{"MESSAGE":["first",null],"_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3, Message: []byte("first")}},
	{`{"SYSLOG_IDENTIFIER":null,"_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3}},
	{`{"MESSAGE":{"a":[1,"}"]},"X":true,"Y":1.5,"_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3}},
	{`{"MESSAGE":"a \"b\" \\ \n \u00e9 \ud83d\ude00 \ud83d x","_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3, Message: []byte("a \"b\" \\ \n é 😀 \ufffd x")}},
	{`{"MESSAGE":"a\\","_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3, Message: []byte(`a\`)}},
	{`{"_PID":"-3","PRIORITY":"8","__REALTIME_TIMESTAMP":"x"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, Realtime: -1}},
	{`{"_PID":"3","MESSAGE":"cut o`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3, Message: []byte("cut o")}},
	{`{"_PID":"3","MESSAGE":[104,105,`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3, Message: []byte("hi")}},
	{`{"_PID":"3","_UID":"0"}`, Entry{DumpOf: -1, UID: 0, Priority: -1, PID: 3}},
	{`{"_PID":"3","_UID":["1500","0"]}`, Entry{DumpOf: -1, UID: 1500, Priority: -1, PID: 3}},
	{`{"_PID":"3","_UID":"4294967295"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3}},
	{`{"_PID":"3","_UID":"-1","UID":"0"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3}},
	{`{"COREDUMP_UID":"1500","_UID":"0","COREDUMP_COMM":"app"}`, Entry{DumpOf: 1500, Dumped: []byte("app"), UID: 0, Priority: -1}},
	{`{"COREDUMP_UID":["x","0"],"_PID":"3"}`, Entry{DumpOf: -1, UID: -1, Priority: -1, PID: 3}},
	{`{}`, Entry{DumpOf: -1, UID: -1, Priority: -1}},
	{`{"MESSAGE":` + strings.Repeat("[", 100_000), Entry{DumpOf: -1, UID: -1, Priority: -1}},
}

func TestEntriesAreScanned(t *testing.T) {
	var s scanner
	for _, c := range scanCases {
		var got Entry
		if !s.scan([]byte(c.line), &got) {
			t.Errorf("%.80s is no entry", c.line)
		}
		if diff := cmp.Diff(readable(c.want), readable(got)); diff != "" {
			t.Errorf("%.80s (-want +got):\n%s", c.line, diff)
		}
	}
	for _, line := range []string{"", "-- No entries --", "[]", "null", "x{}"} {
		var e Entry
		if s.scan([]byte(line), &e) {
			t.Errorf("%q is an entry", line)
		}
	}
}

// readable lets an empty text and none compare equal.
func readable(e Entry) map[string]any {
	return map[string]any{
		"realtime": e.Realtime, "priority": e.Priority, "pid": e.PID, "uid": e.UID, "message": string(e.Message), "unit": string(e.Unit), "identifier": string(e.Identifier), "boot": string(e.Boot), "kernel": e.Kernel, "long": e.TooLong, "dump of": e.DumpOf,
	}
}

// leftOut reports whether journalctl printed null for a field, or for the first of its values.
func leftOut(raw json.RawMessage) bool {
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) == nil && len(several) > 0 {
		raw = several[0]
	}
	return string(bytes.TrimSpace(raw)) == "null"
}

// plain reads a field in the way of encoding/json.
func plain(raw json.RawMessage, nested bool) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) != nil || len(several) == 0 {
		return ""
	}
	if first := several[0][0]; !nested && (first == '"' || first == '[') {
		return plain(several[0], true)
	}
	var b []byte
	for _, one := range several {
		var n uint8
		if json.Unmarshal(one, &n) == nil && one[0] != 'n' {
			b = append(b, n)
		}
	}
	return string(b)
}

func FuzzScan(f *testing.F) {
	for _, c := range scanCases {
		f.Add([]byte(c.line))
	}
	var s scanner
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		var e Entry
		ok := s.scan(line, &e)
		if !bytes.Equal(before, line) {
			t.Fatal("the line was changed")
		}
		members := map[string]json.RawMessage{}
		if json.Unmarshal(line, &members) != nil || members == nil || !utf8.Valid(line) || twice(line) {
			return
		}
		if !ok {
			t.Fatalf("%q is no entry", line)
		}
		message := plain(members["MESSAGE"], false)
		if long := leftOut(members["MESSAGE"]); long {
			message = string(tooLong)
		} else if e.TooLong {
			t.Errorf("%q is said to be too long", line)
		}
		want := plain(members["_SYSTEMD_UNIT"], false)
		if about := plain(members["UNIT"], false); e.PID == Manager && about != "" {
			want = about
		}
		for name, pair := range map[string][2]string{
			"message": {message, string(e.Message)}, "unit": {want, string(e.Unit)},
			"identifier": {plain(members["SYSLOG_IDENTIFIER"], false), string(e.Identifier)}, "boot": {plain(members["_BOOT_ID"], false), string(e.Boot)},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%q: %s is %q, want %q", line, name, pair[1], pair[0])
			}
		}
	})
}

// twice reports whether a field is there twice, or has a name with an escape: the journal has
// neither.
func twice(line []byte) bool {
	if bytes.ContainsRune(line, '\\') && bytes.Contains(line, []byte(`\u`)) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.Token()
		for d.More() {
			key, _ := d.Token()
			name, _ := key.(string)
			if !bytes.Contains(line, []byte(`"`+name+`"`)) {
				return true
			}
			var skipped json.RawMessage
			d.Decode(&skipped)
		}
	}
	var names []string
	d := json.NewDecoder(bytes.NewReader(line))
	d.Token()
	for d.More() {
		key, _ := d.Token()
		name, _ := key.(string)
		if slices.Contains(names, name) {
			return true
		}
		names = append(names, name)
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return true
		}
	}
	return false
}

func BenchmarkScan(b *testing.B) {
	line := []byte(`{"MESSAGE":"Started session-199998.scope - Session 199998 of User ann.","_SYSTEMD_UNIT":"init.scope","__CURSOR":"s=641613d083b843829b022a787197a0d9;i=30d3f;b=fedcba9876543210fedcba9876543210;m=1312c39;t=660e8ed6b6d78;x=5d6067c3d49da4e9","__MONOTONIC_TIMESTAMP":"19999801","_PID":"1038","_BOOT_ID":"fedcba9876543210fedcba9876543210","SYSLOG_IDENTIFIER":"systemd","_TRANSPORT":"stdout","__REALTIME_TIMESTAMP":"1795403392183672","PRIORITY":"6"}`)
	var s scanner
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for range b.N {
		var e Entry
		s.scan(line, &e)
	}
}
