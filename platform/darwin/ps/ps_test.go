// SPDX-License-Identifier: Apache-2.0

package ps

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

func TestTable(t *testing.T) {
	got, err := Table(t.Context(), replay.New(t, "testdata/table.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	evening := time.Date(2025, 9, 23, 21, 15, 0, 0, time.UTC)
	want := []Process{
		{1, 0, 0, "root", 'S', 123*time.Minute + 45*time.Second + 670*time.Millisecond, 19232 << 10, time.Date(2025, 9, 1, 8, 0, 2, 0, time.UTC), "/sbin/launchd"},
		{412, 1, 88, "_windowserver", 'S', 47*time.Minute + time.Second + 90*time.Millisecond, 101144 << 10, time.Date(2025, 9, 1, 8, 0, 31, 0, time.UTC), "/System/Library/PrivateFrameworks/SkyLight.framework/Resources/WindowServer"},
		{1733, 1, 501, "ana", 'R', 7*time.Minute + 53*time.Second + 610*time.Millisecond, 498788 << 10, time.Date(2025, 9, 23, 21, 14, 9, 0, time.UTC), "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"},
		{1801, 1733, 501, `EXAMPLE\ana maria`, 'S', 970 * time.Millisecond, 1292 << 10, evening, "-zsh"},
		{1802, 1, 501, "ana", 'U', 50 * time.Millisecond, 512 << 10, evening, "nginx: master process /opt/nginx"},
		{1803, 1801, 501, "ana", 'Z', 0, 0, evening.Add(time.Second), "(make)"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if id := got[0].StartID(); id != "1756713602" {
		t.Errorf("the start of launchd is %q", id)
	}
}

func TestName(t *testing.T) {
	for comm, want := range map[string]string{
		"/sbin/launchd": "launchd", "-zsh": "zsh", "(make)": "make", "bash": "bash", "./server": "server", "": "", "-": "",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome": "Google Chrome",
		"nginx: master process /opt/nginx":                             "nginx: master process /opt/nginx",
		"/opt/a: b/tool":                                               "tool",
	} {
		if got := (Process{Comm: comm}).Name(); got != want {
			t.Errorf("%q has the name %q, want %q", comm, got, want)
		}
	}
}

func TestLookup(t *testing.T) {
	got, err := Lookup(t.Context(), replay.New(t, "testdata/lookup.txtar"), 1801, 1802)
	if err != nil || len(got) != 1 || got[0].PID != 1801 || got[0].Name() != "zsh" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Lookup(t.Context(), replay.New(t, "testdata/none.txtar"), 4711); got != nil || err != nil {
		t.Errorf("a process that is not there: %+v, %v", got, err)
	}
}

func TestCommandLines(t *testing.T) {
	got, err := CommandLines(t.Context(), replay.New(t, "testdata/arguments.txtar"))
	want := []CommandLine{
		{1, "1756713602", "/sbin/launchd"},
		{1733, "1758662049", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome --type=renderer"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	lookup := printing{out: "PID STARTED ARGS\n7 Tue Sep 23 21:15:00 2025 a b\n", argv: "-ww -o pid,lstart,args -p 7"}
	if got, err := CommandLines(t.Context(), lookup, 7); err != nil || len(got) != 1 || got[0].Text != "a b" {
		t.Errorf("%+v, %v", got, err)
	}
}

// printing is a ps that prints out and ends with exit.
type printing struct {
	out, errs string
	exit      int
	err       error
	argv      string // expected, if set
}

func (p printing) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if argv := strings.Join(c.Args, " "); c.Path != program || p.argv != "" && p.argv != argv {
		return sysexec.Result{}, errors.New("unexpected: " + argv)
	}
	return sysexec.Result{Stdout: []byte(p.out), Stderr: []byte(p.errs), Exit: p.exit}, p.err
}

const (
	header = "  PID  PPID   UID STAT      TIME    RSS USER             STARTED                      COMM\n"
	zsh    = " 1801  1733   501 S+     0:00.97   1292 ana              Tue Sep 23 21:15:00 2025     -zsh\n"
	victim = "  412     1     0 Ss     0:00.01   1292 root             Tue Sep 23 21:15:00 2025     victim\n"
)

func TestANameWithANewlineForgesNoRow(t *testing.T) {
	forged := strings.Replace(zsh, "-zsh", "x", 1) + strings.Replace(victim, "victim", "other", 1)
	got, err := Table(t.Context(), printing{out: header + victim + forged})
	if err != nil || len(got) != 1 || got[0].PID != 1801 {
		t.Errorf("a PID with two rows was believed: %+v, %v", got, err)
	}
	for name, out := range map[string]string{
		"row of another process": header + forged, "second row": header + zsh + zsh, "rest of a name": header + zsh + "and more\n",
	} {
		if got, err := Lookup(t.Context(), printing{out: out}, 1801); !errors.Is(err, ErrAmbiguous) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	got, err = Table(t.Context(), printing{out: header + zsh + "and more\n" + victim})
	if err != nil || len(got) != 2 {
		t.Errorf("the rest of a name cost rows: %+v, %v", got, err)
	}
}

// Who starts a program with an empty first argument hides it from nobody.
func TestAProcessWithoutANameIsListed(t *testing.T) {
	nameless := strings.Replace(zsh, "-zsh", "", 1)
	got, err := Table(t.Context(), printing{out: header + nameless + victim})
	if err != nil || len(got) != 2 || got[0].PID != 1801 || got[0].Comm != "" || got[0].UID != 501 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Lookup(t.Context(), printing{out: header + nameless}, 1801); err != nil || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFailures(t *testing.T) {
	hang := context.DeadlineExceeded
	for name, p := range map[string]printing{
		"empty":                     {},
		"missing":                   {err: errors.New("no such file")},
		"hanging":                   {err: hang},
		"failed":                    {out: header + zsh, exit: 1},
		"refused":                   {errs: "ps: illegal option -- o\n", exit: 1},
		"header only":               {out: header},
		"localised start":           {out: header + strings.Replace(zsh, "Tue Sep 23 21:15:00 2025", "mar. 23 sept. 21:15:00 2025", 1)},
		"no column of the user":     {out: strings.Replace(header, "USER  ", "LOGIN ", 1) + zsh},
		"a name between other ones": {out: "PID COMM STAT\n1 launchd Ss\n"},
		"short start":               {out: "PID PPID UID STAT TIME RSS USER STARTED COMM\n1 0 0 Ss 0:00.01 5 root 10:11AM launchd\n"},
	} {
		if got, err := Table(t.Context(), p); err == nil {
			t.Errorf("%s: %+v without an error", name, got)
		}
	}
	if _, err := Table(t.Context(), printing{err: hang}); !errors.Is(err, hang) {
		t.Errorf("the cause is lost: %v", err)
	}
	if got, err := Lookup(t.Context(), printing{errs: "ps: Invalid process id: x\n", exit: 1}, 1); err == nil {
		t.Errorf("a complaint is no answer: %+v", got)
	}
}

func TestCPUTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0:00.05": 50 * time.Millisecond, "7:53.61": 7*time.Minute + 53*time.Second + 610*time.Millisecond,
		"1234:56.78": 1234*time.Minute + 56*time.Second + 780*time.Millisecond, "2:07:53.61": 2*time.Hour + 7*time.Minute + 53*time.Second + 610*time.Millisecond,
		"1-02:07:53.61": 26*time.Hour + 7*time.Minute + 53*time.Second + 610*time.Millisecond,
	} {
		if got, err := cpuTime(text); got != want || err != nil {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "0:05", "0:05.1", "0:05,12", "a:05.12", "-1:05.12", "1:2:3:4.55", "99999999999:00.00", "1-0:+5.00", "0:05.1a"} {
		if got, err := cpuTime(text); err == nil {
			t.Errorf("%q is %v without an error", text, got)
		}
	}
}

func TestRecordedOutputs(t *testing.T) {
	type facts struct {
		rows int
		err  error
		last string
	}
	want := map[string]facts{
		"A-o-glpi.txt":                  {66, nil, "ps -A -o user,pid,pcpu,pmem,vsz,tty,etime,command"},
		"Ao-pid-ppid-comm-mem-cpu.txt":  {0, errHeader, ""},
		"arcwwwxo-pid-comm-cpu-mem.txt": {0, errText, ""},
		"axo-inspec.txt":                {4, nil, "some_linux_process"},
	}
	for _, r := range testenv.RecordedOutputs(t, "ps") {
		l, err := parse(r.Raw)
		w, known := want[r.Name]
		switch {
		case !known && err == nil && (len(l.rows) == 0 || l.fragments > 0):
			t.Errorf("%s: %d rows, %d lines that are none", r.Name, len(l.rows), l.fragments)
		case known && (len(l.rows) != w.rows || !errors.Is(err, w.err)):
			t.Errorf("%s: %d rows, %v; want %d, %v", r.Name, len(l.rows), err, w.rows, w.err)
		case w.last != "" && l.rows[w.rows-1].Comm != w.last:
			t.Errorf("%s ends with %q", r.Name, l.rows[w.rows-1].Comm)
		}
		if err == nil && l.complete() == nil {
			t.Errorf("%s has no complete start, but is taken as complete", r.Name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(header + zsh + victim)
	f.Add("PID STARTED ARGS\n7 Tue Sep 23 21:15:00 2025 a b\n")
	f.Add("USER PID %CPU STARTED TIME COMMAND\nroot 1 0.1 10:11AM 0:00.00 x\n")
	f.Fuzz(func(t *testing.T, raw string) {
		l, err := parse([]byte(raw))
		if err != nil {
			return
		}
		seen := map[int]bool{}
		for _, p := range l.single() {
			if seen[p.PID] || p.PID < 0 || p.CPU < 0 || strings.ContainsRune(p.Comm, '\n') || p.Comm == "" {
				t.Errorf("accepted %+v", p)
			}
			seen[p.PID] = true
		}
	})
}
