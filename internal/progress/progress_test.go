// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLineIsReadAsItWasWritten(t *testing.T) {
	for percent := range 101 {
		for _, words := range []string{"", "checking 12 of 41: SSH"} {
			line := strings.TrimSuffix(Line(percent, words), "\n")
			if got, said, ok := Parse(line); !ok || got != percent || said != words {
				t.Errorf("%q: %d, %q, %v", line, got, said, ok)
			}
		}
	}
	for words, want := range map[string]string{
		"": "progress 42\n", "reading the lists": "progress 42 reading the lists\n", "a\nprogress 99": "progress 42 a progress 99\n",
	} {
		if got := Line(42, words); got != want {
			t.Errorf("%q", got)
		}
	}
	if got := Line(1, strings.Repeat("ä", 500)); len(got) > 300 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestOtherTextIsNoProgress(t *testing.T) {
	for _, line := range []string{
		"", "progress", "progress ", "progress  4", "progress 4 ", " progress 4", "Progress 4", "progress 04", "progress +4", "progress -0",
		"progress -1", "progress 101", "progress 4.5", "progress 4\n", "progress 4%", "progress ٤", "progress 99999999999999999999", "x progress 4",
		"progress 4 a\x1b[31mb", "progress 4 a\u202eb", "progress 4 " + strings.Repeat("x", 200), "progress x y",
	} {
		if percent, words, ok := Parse(line); ok {
			t.Errorf("%q is taken for %d, %q", line, percent, words)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("progress 42")
	f.Add("progress 042")
	f.Add("progress 42 reading the lists")
	f.Fuzz(func(t *testing.T, line string) {
		if percent, words, ok := Parse(line); ok && (percent < 0 || percent > 100 || Line(percent, words) != line+"\n") {
			t.Errorf("%q: %d", line, percent)
		}
	})
}

func TestWorkIsReportedToWhoeverWaits(t *testing.T) {
	Say(t.Context(), 1, "to nobody")
	var got []string
	ctx := With(t.Context(), func(percent int, words string) { got = append(got, Line(percent, words)) })
	under, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	Say(under, 5, "reading")
	if diff := cmp.Diff([]string{"progress 5 reading\n"}, got); diff != "" {
		t.Error(diff)
	}
}

// What hangs on a slow disk says nothing itself.
func TestAReporterSaysThatItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		r := NewReporter(&out)
		stop := r.Start()
		<-time.After(2500 * time.Millisecond)
		r.Say(30, "asking hops 1 to 3")
		<-time.After(4 * time.Second)
		stop()
		stop()
		<-time.After(10 * time.Second)
		want := "progress 0 working (2 s so far)\nprogress 30 asking hops 1 to 3\nprogress 30 asking hops 1 to 3 (4 s so far)\nprogress 30 asking hops 1 to 3 (6 s so far)\n"
		if out.String() != want {
			t.Errorf("%q", out.String())
		}
	})
	var none *Reporter
	none.Say(1, "x")
	none.Start()()
}

func TestWithoutProgressTheReasonIsLeft(t *testing.T) {
	for stderr, want := range map[string]string{
		"progress 1\nprogress 2 reading": "", "progress 1 reading\npanic: boom\nprogress x\n": "panic: boom\nprogress x\n",
	} {
		if got := Without(stderr); got != want {
			t.Errorf("%q leaves %q, want %q", stderr, got, want)
		}
	}
}

// Whoever starts a run chooses when its standard error is read, and not when it goes on.
func TestNobodyWhoDoesNotReadHoldsUpARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unread, w := io.Pipe()
		defer unread.Close()
		r, over := NewReporter(w), make(chan struct{})
		go func() {
			stop := r.Start()
			r.Say(20, "one")
			<-time.After(time.Minute)
			r.Say(40, "two")
			stop()
			close(over)
		}()
		select {
		case <-over:
		case <-time.After(2 * time.Minute):
			t.Error("the run waits for its reader")
		}
	})
}
