// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/sysexec"
)

const scanned = `{"success":true,"action":"scan_ports"}`

// A talker is a run of sentinel that says lines on stderr, each after a pause,
// and then prints a document.
type talker struct {
	pause time.Duration
	lines []string
	late  []string // said when the run is over
	heard chan bool
}

func (s *talker) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if s.heard != nil {
		s.heard <- c.OnStderrLine != nil
	}
	say := c.OnStderrLine
	if say == nil {
		say = func(string) {}
	}
	for _, line := range s.lines {
		select {
		case <-time.After(s.pause):
			say(line)
		case <-ctx.Done():
			say("progress 99")
			return sysexec.Result{}, ctx.Err()
		}
	}
	time.AfterFunc(time.Millisecond, func() {
		for _, line := range s.late {
			say(line)
		}
	})
	return sysexec.Result{Stdout: []byte(scanned), Stderr: []byte(strings.Join(s.lines, "\n"))}, nil
}

func connectScanner(t *testing.T, s *talker) *peer {
	t.Helper()
	return connectTo(t, newServer(ops.All(), nil, testHandler(s).toolHandler))
}

// scan is a call of scan_ports with id 1 and what stands in its _meta.
func scan(meta string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"scan_ports","arguments":{"target":"127.0.0.1"}` + meta + `}}`
}

// until returns the lines of the server up to the answer, that in short.
func (p *peer) until() []string {
	p.t.Helper()
	for lines := []string{}; ; {
		line := p.raw()
		var r reply
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			p.t.Fatal(err)
		}
		if r.Method == "" {
			return append(lines, r.short())
		}
		lines = append(lines, line)
	}
}

func notified(token string, percent int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":100,"message":"Scan ports: %d percent done"}}`, token, percent, percent)
}

func percents(n ...int) (lines []string) {
	for _, percent := range n {
		lines = append(lines, fmt.Sprintf("progress %d", percent))
	}
	return lines
}

const scanAnswer = "1: " + scanned

func TestProgressComesBeforeTheAnswer(t *testing.T) {
	for _, token := range []string{`"a"`, `7`, `-7`, `""`, `"\u0061\n"`, `9007199254740992`, `1.0`, `1e2`} {
		synctest.Test(t, func(t *testing.T) {
			p := connectScanner(t, &talker{pause: time.Second, lines: percents(0, 42, 99, 100), late: percents(99)})
			p.send(scan(`,"_meta":{"progressToken":` + token + `}`))
			if diff := cmp.Diff([]string{notified(token, 0), notified(token, 42), notified(token, 99), scanAnswer}, p.until()); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgressOnlyGrowsAndIsWellFormed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectScanner(t, &talker{pause: time.Second, lines: []string{
			"progress 5", "progress 5", "progress 4", "warning: 7", "progress 101", "progress 1e1", " progress 8", "progress 6\r", "progress 9", "progress -1",
		}})
		p.send(scan(`,"_meta":{"progressToken":1}`))
		if diff := cmp.Diff([]string{notified("1", 5), notified("1", 9), scanAnswer}, p.until()); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	})
}

func TestProgressComesAFewTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &talker{pause: 7 * time.Millisecond}
		for percent := range 101 {
			s.lines = append(s.lines, percents(percent)...)
		}
		p := connectScanner(t, s)
		p.send(scan(`,"_meta":{"progressToken":1}`))
		want := []string{notified("1", 0), notified("1", 35), notified("1", 71), scanAnswer}
		if diff := cmp.Diff(want, p.until()); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	})
}

// TestNewestOfABurstIsTold has a scan that settles many ports at once and then
// waits for the rest.
func TestNewestOfABurstIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectScanner(t, &talker{pause: time.Millisecond, lines: append(percents(1, 2, 3, 4, 5, 6), make([]string, 500)...)})
		p.send(scan(`,"_meta":{"progressToken":1}`))
		if diff := cmp.Diff([]string{notified("1", 1), notified("1", 6), scanAnswer}, p.until()); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	})
}

func TestAnswerKeepsADistanceFromTheLastProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectScanner(t, &talker{pause: time.Second, lines: percents(5)})
		began := time.Now()
		p.send(scan(`,"_meta":{"progressToken":1}`))
		p.until()
		if took := time.Since(began); took != time.Second+answerPace {
			t.Errorf("the answer came after %v", took)
		}
	})
}

func TestNothingIsToldAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectScanner(t, &talker{pause: time.Second, lines: percents(5), late: percents(50)})
		p.send(scan(`,"_meta":{"progressToken":1}`))
		p.until()
		<-time.After(time.Second)
		p.send(ping("2"))
		p.expect("2: ok")
	})
}

// TestClosedTrackerIsSilent is about the moment between the end of a call and
// its answer.
func TestClosedTrackerIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		tr := &tracker{token: json.RawMessage("1"), percent: -1, send: func(any) error { sent++; return nil }, read: func() {}}
		tr.note(5, "at once")
		tr.note(6, "in a moment")
		tr.close()
		tr.note(7, "too late")
		<-time.After(time.Second)
		if tr.note(8, "too late"); sent != 1 {
			t.Errorf("%d notifications, want the first alone", sent)
		}
	})
}

func TestCancelledCallIsToldNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectScanner(t, &talker{pause: time.Second, lines: percents(5, 10, 15)})
		p.send(scan(`,"_meta":{"progressToken":1}`))
		<-time.After(1500 * time.Millisecond)
		if got := p.raw(); got != notified("1", 5) {
			t.Errorf("first %s", got)
		}
		p.send(cancelOf("1"))
		<-time.After(time.Minute)
		p.send(ping("2"))
		p.expect("2: ok")
	})
}

func TestWithoutATokenNobodyListens(t *testing.T) {
	for _, meta := range []string{
		"", `,"_meta":{}`, `,"_meta":null`, `,"_meta":{"other":1}`, `,"_meta":{"progressToken":null}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &talker{pause: time.Second, lines: percents(5), heard: make(chan bool, 1)}
			p := connectScanner(t, s)
			p.send(scan(meta))
			if diff := cmp.Diff([]string{scanAnswer}, p.until()); diff != "" || <-s.heard {
				t.Errorf("%s: lines (-want +got):\n%s", meta, diff)
			}
		})
	}
}

func TestCallsSideBySideHaveTheirOwnTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectScanner(t, &talker{pause: time.Second, lines: percents(5)})
		p.send(scan(`,"_meta":{"progressToken":"a"}`), strings.Replace(scan(`,"_meta":{"progressToken":"b"}`), `"id":1`, `"id":2`, 1))
		got := map[string]int{}
		for range 4 {
			got[p.raw()]++
		}
		if got[notified(`"a"`, 5)] != 1 || got[notified(`"b"`, 5)] != 1 {
			t.Errorf("lines %v", got)
		}
	})
}

func TestProgressIsNoReasonForAFailure(t *testing.T) {
	r := sysexec.Result{Stderr: []byte("progress 1\nprogress 2\npanic: boom\nprogress 3\n"), Exit: 2}
	d := failure(t, callWith(t, testHandler(ending(r, nil)), `{}`))
	if d.ErrorCode != fault.BadOutput || !strings.HasSuffix(d.Error, "(exit status 2). It said: panic: boom") {
		t.Errorf("%s: %q", d.ErrorCode, d.Error)
	}
}

// Words come with numbers that rise, as the protocol asks, also where the share that is done does not.
func TestProgressSaysWhatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectScanner(t, &talker{pause: time.Second, lines: []string{
			"progress 5 reading the package lists", "progress 5 reading the package lists (2 s so far)", "progress 5 reading the package lists (4 s so far)",
			"progress 3 looking whether a reboot is due", "progress 70 looking whether a reboot is due", "progress 70 looking whether a reboot is due", "progress 50", "progress x y",
		}})
		p.send(scan(`,"_meta":{"progressToken":7}`))
		want := []string{
			notice(5, "Scan ports: reading the package lists"), notice(6, "Scan ports: reading the package lists (2 s so far)"), notice(7, "Scan ports: reading the package lists (4 s so far)"),
			notice(8, "Scan ports: looking whether a reboot is due"), notice(70, "Scan ports: looking whether a reboot is due"),
		}
		got := p.until()
		if diff := cmp.Diff(want, got[:len(got)-1]); diff != "" {
			t.Errorf("notifications (-want +got):\n%s", diff)
		}
	})
}

// notice is a notification for the token 7.
func notice(percent int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":%d,"total":100,"message":%q}}`, percent, message)
}
