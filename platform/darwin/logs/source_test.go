// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/logs"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
)

var until = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// end is what log(1) prints last.
const end = `{"count":1,"finished":1}` + "\n"

func line(stamp, kind, text string) string {
	return fmt.Sprintf(`{"timezoneName":"","messageType":%q,"eventType":"logEvent","processImagePath":"\/usr\/libexec\/sshd-session","timestamp":%q,"processID":812,"subsystem":"com.openssh.sshd","bootUUID":"A","eventMessage":%q}`+"\n", kind, stamp, text)
}

func read(t *testing.T, run *replay.Sequence, s logs.Selection, euid int) ([]string, logs.Coverage) {
	t.Helper()
	var got []string
	c, err := Source{Runner: run, EUID: euid}.Read(t.Context(), s, func(e logs.Entry) bool {
		got = append(got, fmt.Sprintf("%s %d %s %s %d %s", e.Time.UTC().Format(time.TimeOnly), e.Priority, e.Unit, e.Program, e.PID, e.Text))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, c
}

func TestTheNewestWindowIsAskedForFirst(t *testing.T) {
	run := &replay.Sequence{Results: []sysexec.Result{
		{Stdout: []byte(line("2026-03-04 12:59:00.000000+0100", "Error", "late") + line("2026-03-04 13:00:30.000000+0100", "Error", "after the end") + end)},
		{Stdout: []byte(line("2026-03-04 11:00:00.000000+0000", "Default", "earlier") + end)},
		{Stdout: []byte(line("2026-03-04 09:30:00.000000+0000", "Strange", "first") + end)},
	}}
	got, c := read(t, run, logs.Selection{Since: until.Add(-3 * time.Hour), Until: until, Priority: logs.NoPriority, Unit: "com.openssh.sshd"}, 0)
	want := []string{"11:59:00 3  sshd-session 812 late", "11:00:00 5  sshd-session 812 earlier", "09:30:00 -1  sshd-session 812 first"}
	if !slices.Equal(got, want) || c.Logs[0].Entries != 3 || c.Logs[0].Stopped {
		t.Errorf("%q, %+v", got, c)
	}
	const predicate = ` --predicate (process == "com.openssh.sshd" OR process == "sshd" OR subsystem == "com.openssh.sshd" OR (process == "launchd" AND eventMessage CONTAINS "com.openssh.sshd"))`
	for i, ends := range [][2]int64{{1772625000, 1772625601}, {1772618400, 1772625001}, {1772614800, 1772618401}} {
		if want := fmt.Sprintf("/usr/bin/log show --style ndjson --start @%d --end @%d", ends[0], ends[1]) + predicate; run.Ran[i] != want {
			t.Errorf("ran  %s\nwant %s", run.Ran[i], want)
		}
	}
}

// A program chooses the subsystem of its lines. No job of launchd is named by it, and who asks for one is
// told by what its lines were found.
func TestALineNamesNoJobOfItsOwnChoice(t *testing.T) {
	for unit, told := range map[string]bool{"": false, "com.example.web": true} {
		run := &replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(strings.Replace(line("2026-03-04 12:59:00.000000+0100", "Error", "x"), "com.openssh.sshd", "com.example.web", 1) + end)}}}
		got, c := read(t, run, logs.Selection{Since: until.Add(-time.Minute), Until: until, Priority: 6, Unit: unit}, 0)
		if !slices.Equal(got, []string{"11:59:00 3  sshd-session 812 x"}) || c.Incomplete {
			t.Errorf("%q: %q, %+v", unit, got, c)
		}
		if says := strings.Contains(fmt.Sprint(c.Gaps), "by the name of their process or subsystem, which any program chooses"); says != told {
			t.Errorf("%q: %+v", unit, c.Gaps)
		}
	}
}

func TestPriorityBecomesTypes(t *testing.T) {
	for priority, want := range map[int]string{2: " --predicate messageType == fault", 3: " --predicate (messageType == error OR messageType == fault)", 5: "", 6: " --info", 7: " --info --debug"} {
		run := &replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(end)}}}
		read(t, run, logs.Selection{Since: until.Add(-time.Minute), Until: until, Priority: priority}, 0)
		if got := strings.SplitAfterN(run.Ran[0], "@1772625601", 2)[1]; got != want {
			t.Errorf("%d: %q", priority, got)
		}
	}
}

func TestWhoMayNotReadTheLogIsTold(t *testing.T) {
	run := &replay.Sequence{Results: []sysexec.Result{{Exit: 77, Stderr: []byte("log: Must be admin to run 'show' command\n")}}}
	_, c := read(t, run, logs.Selection{Since: until.Add(-time.Hour), Until: until, Priority: 6}, 501)
	if len(c.Gaps) != 1 || !c.Incomplete || len(c.Logs) != 0 || !strings.Contains(c.Gaps[0].Why, "not readable without root or an administrator: log: Must be admin") || len(run.Ran) != 1 {
		t.Errorf("%+v after %q", c, run.Ran)
	}
}

// An output that ended early is not taken for all there is.
func TestAnOutputThatEndsEarlyIsAGap(t *testing.T) {
	run := &replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(line("2026-03-04 12:59:00.000000+0100", "Error", "x"))}}}
	got, c := read(t, run, logs.Selection{Since: until.Add(-time.Minute), Until: until, Priority: 6}, 0)
	if len(got) != 1 || len(c.Gaps) != 1 || !c.Incomplete || len(c.Logs) != 1 {
		t.Errorf("%q, %+v", got, c)
	}
}

func TestNamesThatCouldEndAStringAreRefused(t *testing.T) {
	for typed, want := range map[string]string{"sshd": "sshd", "system/com.example.web": "com.example.web", "Google Chrome": "Google Chrome", `a" OR "1`: "", "": "", "-x": "", "a\nb": "", "a*": "", strings.Repeat("x", 300): ""} {
		if got, err := (Source{}).Unit(typed); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", typed, got, err)
		}
	}
}

func FuzzEntries(f *testing.F) {
	f.Add([]byte(line("2026-03-04 12:59:00.000000+0100", "Error", "x")))
	f.Add([]byte(`{"timestamp":"2026-03-04 12:59:00+0100","processID":-5}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, _, ok := parse(b); ok && (e.PID < 0 || e.Priority < -1 || e.Priority > 7) {
			t.Errorf("%q: %+v", b, e)
		}
	})
}
