// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
)

var journalCases = []struct {
	json string
	want []string
}{
	{"", []string{}},
	{`{"MESSAGE":"cannot bind","SYSLOG_IDENTIFIER":"nginx","_PID":"7"}` + "\n", []string{"nginx: cannot bind"}},
	{`{"MESSAGE":"a"}` + "\n" + `{"MESSAGE":"b","SYSLOG_IDENTIFIER":"x"}` + "\n", []string{"a", "x: b"}},
	{`{"MESSAGE":[104,105,255],"SYSLOG_IDENTIFIER":"x"}` + "\n", []string{"x: hi\xff"}},
	{`{"MESSAGE":["first","second"]}` + "\n", []string{"first"}},
	{`{"MESSAGE":[[104,105],[1]]}` + "\n", []string{"hi"}},
	{`{"MESSAGE":null,"SYSLOG_IDENTIFIER":"x"}` + "\n", []string{}},
	{`{"SYSLOG_IDENTIFIER":"x"}` + "\n", []string{}},
	{`{"MESSAGE":"  "}` + "\n", []string{}},
	{`{"MESSAGE":[]}` + "\n", []string{}},
	{`{"MESSAGE":{"a":1}}` + "\n" + `{"MESSAGE":7}` + "\n", []string{}},
	{`{"MESSAGE":[1e99]}` + "\n" + `{"MESSAGE":[-1,300]}` + "\n", []string{"\xff,"}},
	{`{"MESSAGE":"line\nline"}` + "\n", []string{"line\nline"}},
	{`{"MESSAGE":"whole"}` + "\n" + `{"MESSAGE":"cut o`, []string{"whole"}},
	{"-- No entries --\nnot json\n{}\n[]\nnull\n", []string{}},
}

func TestEntriesOfTheJournal(t *testing.T) {
	for _, c := range journalCases {
		if diff := cmp.Diff(c.want, parseJournal([]byte(c.json))); diff != "" {
			t.Errorf("%s: %s", c.json, diff)
		}
	}
}

func FuzzJournal(f *testing.F) {
	for _, c := range journalCases {
		f.Add([]byte(c.json))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		texts := parseJournal(b)
		if texts == nil || len(texts) > strings.Count(string(b), "\n")+1 {
			t.Errorf("%d texts of %d lines", len(texts), strings.Count(string(b), "\n")+1)
		}
		for _, text := range texts {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%q", text)
			}
		}
	})
}

// A runner returns the same result for every command.
type runner struct {
	result sysexec.Result
	asked  sysexec.Command
}

func (r *runner) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	r.asked = c
	return r.result, nil
}

func TestJournalIsAskedWithoutAnythingThatCouldBeAnOption(t *testing.T) {
	run := &runner{result: sysexec.Result{Stdout: []byte(`{"MESSAGE":"a"}`)}}
	m := manager{runner: run}
	got, err := m.Log(t.Context(), "nginx.service", time.Unix(1000, 5000), 10)
	if diff := cmp.Diff([]string{"a"}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	want := []string{"--quiet", "--no-pager", "--output=json", "--lines=10", "--since=@1000.000005", "--unit=nginx.service"}
	if diff := cmp.Diff(want, run.asked.Args); diff != "" || run.asked.Path != journalctl || run.asked.Timeout == 0 || run.asked.MaxOutput == 0 {
		t.Errorf("%+v %s", run.asked, diff)
	}
	run.result.Exit = 1
	if got, err := m.Log(t.Context(), "nginx.service", time.Unix(1000, 0), 10); err == nil {
		t.Errorf("status 1: %q", got)
	}
}
