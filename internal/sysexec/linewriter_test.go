// SPDX-License-Identifier: Apache-2.0

package sysexec

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// listened runs text with the shell and returns the first n lines that were
// passed, with the result.
func listened(t *testing.T, text string, n int) ([]string, Result) {
	t.Helper()
	c := script(text)
	heard := make(chan string, 1000)
	c.OnStderrLine = func(line string) { heard <- line }
	r := run(t, c)
	var lines []string
	for range n {
		select {
		case line := <-heard:
			lines = append(lines, line)
		case <-time.After(10 * time.Second):
			t.Fatalf("heard only %q", lines)
		}
	}
	return lines, r
}

func TestLinesOfStderrAreTold(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"in order", "echo out; echo one >&2; echo two >&2", []string{"one", "two"}},
		{"in pieces", `printf on >&2; sleep 0.05; printf 'e\ntw' >&2; sleep 0.05; printf 'o\n' >&2`, []string{"one", "two"}},
		{"empty", `printf '\n\nend\n' >&2`, []string{"", "", "end"}},
		{"as long as may be", "echo " + long + " >&2; echo end >&2", []string{long, "end"}},
		{"too long", "echo " + long + "x >&2; echo end >&2", []string{"end"}},
		{"far too long", "head -c 300000 /dev/zero >&2; echo >&2; echo end >&2", []string{"end"}},
		{"without an end", "echo end >&2; printf 'progress 5' >&2", []string{"end"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, r := listened(t, c.text, len(c.want))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("passed (-want +got):\n%s", diff)
			}
			if alone := run(t, script(c.text)); !cmp.Equal(r, alone) {
				t.Error("the result is not what it is without a listener")
			}
		})
	}
}

// TestTellingBeginsWhileTheProgramRuns runs a program that continues only once its line was
// received.
func TestTellingBeginsWhileTheProgramRuns(t *testing.T) {
	answer := fifo(t)
	c := script("echo ready >&2; read word <" + answer + "; echo $word")
	c.OnStderrLine = func(string) {
		if err := os.WriteFile(answer, []byte("heard\n"), 0); err != nil {
			t.Error(err)
		}
	}
	if got := string(run(t, c).Stdout); got != "heard\n" {
		t.Errorf("the program read %q", got)
	}
}

func TestListenerThatBlocksDoesNotHoldTheProgramUp(t *testing.T) {
	free, passed := make(chan struct{}), make(chan string, 1000)
	c := script("i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); echo line $i >&2; done; echo done")
	c.OnStderrLine = func(line string) {
		<-free
		passed <- line
	}
	r := run(t, c)
	if string(r.Stdout) != "done\n" || strings.Count(string(r.Stderr), "\n") != 20000 {
		t.Errorf("the program printed %q and %d lines", r.Stdout, strings.Count(string(r.Stderr), "\n"))
	}
	close(free)
	var lines []string
	for range maxQueued + 1 {
		lines = append(lines, <-passed)
	}
	if lines[0] != "line 1" || lines[maxQueued] != "line 20000" {
		t.Errorf("passed %q", lines)
	}
}

func TestStderrIsCutWhileItIsToldOn(t *testing.T) {
	c := script("head -c 2000 /dev/zero >&2; echo >&2; echo end >&2")
	c.MaxOutput = 1000
	heard := make(chan string, 1)
	c.OnStderrLine = func(line string) { heard <- line }
	if r, err := (Host{}).Run(t.Context(), c); err == nil || len(r.Stderr) != 1000 {
		t.Errorf("%d bytes kept, %v", len(r.Stderr), err)
	}
	if got := <-heard; got != "end" {
		t.Errorf("passed %q", got)
	}
}

func FuzzTold(f *testing.F) {
	f.Add("one\ntwo\n", uint8(3))
	f.Add(strings.Repeat("x", maxLine+1)+"\nend\n", uint8(7))
	f.Fuzz(func(t *testing.T, text string, step uint8) {
		var want []string
		for line := range strings.Lines(text) {
			if rest, ended := strings.CutSuffix(line, "\n"); ended && len(rest) <= maxLine {
				want = append(want, rest)
			}
		}
		s := &lineWriter{kept: newCapped(0), queued: make(chan string, len(want)+1)}
		s.lines = Lines{Longest: maxLine, Line: s.line}
		for rest := []byte(text); len(rest) > 0; {
			n := min(len(rest), max(1, int(step)))
			s.Write(rest[:n])
			rest = rest[n:]
		}
		s.close()
		var got []string
		for line := range s.queued {
			got = append(got, line)
		}
		if !slices.Equal(want, got) || s.kept.kept.String() != text {
			t.Errorf("passed %q, want %q", got, want)
		}
	})
}
