// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

const app = 4242

// end plans and ends a process of the fake Mac, on the clock of the test.
func end(t *testing.T, w *fakeMac, target processes.Target) (done processes.Terminated, err error) {
	t.Helper()
	if target.PID == 0 {
		target.PID = app
	}
	synctest.Test(t, func(t *testing.T) {
		var p *processes.Termination
		if p, err = processes.PlanTermination(t.Context(), w.terminator(), target, nil); err == nil {
			if len(w.sent) > 0 {
				t.Errorf("planning sent %v", w.sent)
			}
			done, err = p.Do(t.Context())
			p.Close()
		}
		<-time.After(time.Minute) // what was left behind ends
	})
	return done, err
}

func refused(t *testing.T, w *fakeMac, target processes.Target, code fault.Code, why, fix string) {
	t.Helper()
	done, err := end(t, w, target)
	if err == nil || fault.From(err).Code != code || !strings.Contains(err.Error(), why) {
		t.Errorf("%+v, %v; want %s with %q", done, err, code, why)
		return
	}
	if got := fault.NewDocument("", err).Fix; !strings.Contains(got, fix) {
		t.Errorf("fix %q, want %q", got, fix)
	}
}

func TestKillEndsAProcess(t *testing.T) {
	w := newFakeMac()
	got, err := end(t, w, processes.Target{ExpectName: "My App", ExpectStart: "1767333845"})
	want := processes.Terminated{Subject: processes.Subject{PID: app, ProcessName: "My App", StartID: "1767333845", User: "ana"}, Signal: processes.SignalKill}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || w.all[app] != nil || !slices.Equal(w.sent, []syscall.Signal{syscall.SIGKILL}) {
		t.Errorf("%v, sent %v: %s", err, w.sent, diff)
	}
}

func TestGracefulSaysWhichSignalEndedIt(t *testing.T) {
	w := newFakeMac()
	if got, err := end(t, w, processes.Target{Graceful: true}); err != nil || got.Signal != processes.SignalTerm || got.ExitedAfterMS > 100 {
		t.Errorf("%+v, %v", got, err)
	}
	w = newFakeMac()
	w.all[app].stubborn = true
	got, err := end(t, w, processes.Target{Graceful: true})
	if err != nil || got.Signal != processes.SignalKill || got.ExitedAfterMS < 5000 || got.ExitedAfterMS > 5400 || !slices.Equal(w.sent, []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}) {
		t.Errorf("%+v, %v, sent %v", got, err, w.sent)
	}
	if w.looks > 60 {
		t.Errorf("ps was run %d times", w.looks)
	}
}

// The PID of a process that ended may be given to another one at any moment. That
// one is left alone, whichever look it was that found the first one.
func TestReusedPIDIsNeverSignalled(t *testing.T) {
	reused := 0
	for at := 1; at <= 20; at++ {
		w, given := newFakeMac(), false
		w.before = func(w *fakeMac) {
			if w.looks == at && len(w.sent) == 0 {
				w.reuse(app)
				given = true
			}
		}
		_, err := end(t, w, processes.Target{ExpectStart: "1767333845"})
		if !given { // it was ended before that
			if err != nil {
				t.Errorf("at look %d: %v", at, err)
			}
			continue
		}
		reused++
		if err == nil || len(w.sent) > 0 || w.all[app].user != "bob" {
			t.Errorf("at look %d: %v, sent %v", at, err, w.sent)
			continue
		}
		if code := fault.From(err).Code; code != fault.ProcessNotFound && code != fault.ProcessChanged {
			t.Errorf("at look %d: %v", at, err)
		}
	}
	if reused < 6 {
		t.Errorf("only %d looks before the signal", reused)
	}
}

// A stubborn process ends just before SIGKILL, and its PID is given away.
func TestReusedPIDIsNotKilledAfterSIGTERM(t *testing.T) {
	for _, after := range []int{1, 2, 5, 20} { // looks since SIGTERM
		w := newFakeMac()
		w.all[app].stubborn = true
		seen := 0
		w.before = func(w *fakeMac) {
			if len(w.sent) == 0 {
				return
			}
			if seen++; seen == after {
				w.reuse(app)
			}
		}
		got, err := end(t, w, processes.Target{Graceful: true})
		if err != nil || got.Signal != processes.SignalTerm || !slices.Equal(w.sent, []syscall.Signal{syscall.SIGTERM}) || w.all[app].user != "bob" {
			t.Errorf("after %d: %+v, %v, sent %v", after, got, err, w.sent)
		}
	}
	// The last look of all is the one right before SIGKILL.
	w := newFakeMac()
	w.all[app].stubborn = true
	h, err := w.terminator().Pin(app)
	if err != nil {
		t.Fatal(err)
	}
	w.reuse(app)
	if err := h.Signal(processes.SignalKill); !errors.Is(err, processes.ErrNoProcess) || len(w.sent) > 0 {
		t.Errorf("%v, sent %v", err, w.sent)
	}
}

func TestProcessesThatEndByThemselves(t *testing.T) {
	refused(t, newFakeMac(), processes.Target{PID: 4243}, fault.ProcessNotFound, "There is no process with the ID 4243", "")
	w := newFakeMac()
	w.before = func(w *fakeMac) {
		if w.looks == 8 {
			delete(w.all, app)
		}
	}
	refused(t, w, processes.Target{}, fault.ProcessNotFound, "ended by itself before it was signalled", "Nothing needs to be done")
	w = newFakeMac()
	w.all[app].state, w.all[app].comm = "Z", "(My App)"
	refused(t, w, processes.Target{}, fault.ProcessNotFound, `"My App" (PID 4242) has ended already and is a zombie: its parent "launchd" (PID 1)`, "")
	w = newFakeMac()
	w.all[app].stays = true
	got, err := end(t, w, processes.Target{})
	if diff := cmp.Diff(&processes.Relative{PID: 1, Name: "launchd"}, got.UncollectedBy); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestProcessesThatStay(t *testing.T) {
	w := newFakeMac()
	w.all[app].stuck = true
	refused(t, w, processes.Target{}, fault.StillRunning, "was sent SIGKILL and is still there 3s later, though", "sentinel --top")
	w = newFakeMac()
	w.all[app].stuck, w.all[app].state = true, "U"
	refused(t, w, processes.Target{}, fault.StillRunning, "it waits in the kernel and cannot be interrupted (state U)", "reboot")
}

func TestPermission(t *testing.T) {
	w := newFakeMac()
	w.root, w.all[app].uid, w.all[app].user = false, 502, "bob"
	refused(t, w, processes.Target{}, fault.PermissionDenied, `This user may not end "My App" (PID 4242)`, "sudo sentinel --kill 4242")
	w = newFakeMac()
	w.guarded = true
	refused(t, w, processes.Target{Force: true}, fault.ProtectedProcess, "macOS lets nobody signal it, root included", "Leave it running")
}

func TestExpectations(t *testing.T) {
	refused(t, newFakeMac(), processes.Target{ExpectStart: "1"}, fault.ProcessChanged, `its start_id is "1767333845", not "1"`, "")
	refused(t, newFakeMac(), processes.Target{ExpectName: "Other"}, fault.ProcessChanged, `its name is "My App", not "Other"`, "")
	w := newFakeMac()
	w.all[app].comm = "/opt/com.example.helper"
	refused(t, w, processes.Target{ExpectName: "com.example.helper-two"}, fault.ProcessChanged, `not "com.example.helper-two"`, "")
}

func TestOwnAncestorsAreRefused(t *testing.T) {
	for pid, why := range map[int]string{700: "the parent of this sentinel run", 611: "2 levels up", 610: "3 levels up", 600: "4 levels up", 1: "every other process"} {
		refused(t, newFakeMac(), processes.Target{PID: pid}, fault.ProtectedProcess, why, "")
	}
	for name, change := range map[string]func(*fakeMac){
		"not listed":    func(w *fakeMac) { delete(w.all, 900) },
		"parent hidden": func(w *fakeMac) { delete(w.all, 611) },
		"in a circle":   func(w *fakeMac) { w.all[600].parent = 700 },
	} {
		w := newFakeMac()
		change(w)
		if _, err := w.terminator().Lineage(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
		refused(t, w, processes.Target{}, fault.Unavailable, "The ancestors of this sentinel run cannot be read", "")
	}
}

func TestSessionsOfOthersAreRefused(t *testing.T) {
	w := newFakeMac()
	w.all[620] = &fakeProcess{parent: 600, user: "root", start: boot.Add(time.Hour), state: "Ss", comm: "sshd-session: bob [priv]"}
	w.all[621] = &fakeProcess{parent: 620, uid: 502, user: "bob", start: boot.Add(time.Hour), state: "S", comm: "sshd-session: bob@ttys002"}
	refused(t, w, processes.Target{PID: 620}, fault.ProtectedProcess, "people reach this machine through it", "--force")
	refused(t, w, processes.Target{PID: 621}, fault.ProtectedProcess, "an SSH server of root runs it for somebody who logs in", "--force")
}

// What Apple's programs are called counts where Apple puts them.
func TestProgramsOfApple(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"usr/libexec/logd": "", "usr/libexec/trustd": "", "System/Library/CoreServices/loginwindow.app/Contents/MacOS/loginwindow": "",
	})
	if err := os.Chmod(root+"/usr/libexec/trustd", 0o777); err != nil {
		t.Fatal(err)
	}
	owned := os.Getuid() == 0
	for _, c := range []struct {
		what string
		uid  int
		comm string
		want bool
	}{
		{"a program of Apple", 0, "/usr/libexec/logd", owned},
		{"one that anybody may change", 0, "/usr/libexec/trustd", false},
		{"one that cannot be looked at", 0, "/usr/libexec/opendirectoryd", true},
		{"one of a session", 501, "/System/Library/CoreServices/loginwindow.app/Contents/MacOS/loginwindow", owned},
		{"the same name elsewhere", 0, "/opt/homebrew/bin/logd", false},
		{"the same name in a folder of a person", 501, "/Users/ana/usr/libexec/logd", false},
		{"a way out of the folders", 501, "/usr/libexec/../../Users/ana/logd", false},
		{"an account that shows no path", 88, "WindowServer", true},
		{"a person who shows no path", 501, "WindowServer", false},
		{"a VPN", 0, "/usr/local/bin/tailscaled", true},
		{"a VPN of a person", 501, "/usr/local/bin/tailscaled", false},
		{"a name of Linux", 0, "/usr/local/bin/rsyslogd", false},
	} {
		w := newFakeMac()
		w.all[app].uid, w.all[app].comm = c.uid, c.comm
		terminator := w.terminator()
		terminator.mac.Root = root
		synctest.Test(t, func(t *testing.T) {
			p, err := processes.PlanTermination(t.Context(), terminator, processes.Target{PID: app}, nil)
			if err == nil {
				p.Close()
			}
			if got := err != nil && fault.From(err).Code == fault.ProtectedProcess; got != c.want || err != nil && !got {
				t.Errorf("%s: %v", c.what, err)
			}
		})
	}
}

func TestJobsThatComeBack(t *testing.T) {
	const running = "system/com.example.web = {\n\tstate = running\n\tpid = 4242\n"
	for name, c := range map[string]struct {
		print string
		will  *bool
		note  string
	}{
		"kept alive":      {running + "\tproperties = keepalive | runatload\n}\n", new(true), "com.example.web will start it again (KeepAlive); to restart it: sudo sentinel --restart-service system/com.example.web, and to keep it off: sudo launchctl bootout system/com.example.web."},
		"on failure":      {running + "\tsemaphores = {\n\t\tsuccessful exit => 0\n\t}\n}\n", new(true), "will start it again (KeepAlive)"},
		"on demand":       {running + "\tendpoints = {\n\t\t\"a\" = {\n\t\t}\n\t}\n}\n", nil, "com.example.web may start it again when it is needed"},
		"not":             {running + "\tproperties = runatload\n}\n", new(false), ""},
		"another process": {strings.Replace(running, "4242", "4243", 1) + "}\n", nil, "whose main process may start another"},
		"not said":        {"", nil, "com.example.web may start it again: the service manager did not say"},
	} {
		w := newFakeMac()
		w.all[app].comm, w.all[app].user, w.all[app].uid = "/usr/local/bin/web", "_www", 70
		w.jobs, w.print = "4242\t0\tcom.example.web\n-\t0\tcom.example.other\n", c.print
		got, err := end(t, w, processes.Target{})
		if err != nil || got.Unit != "com.example.web" || cmp.Diff(c.will, got.WillRestart) != "" || !strings.HasPrefix(got.RestartNote, c.note) && !strings.Contains(got.RestartNote, c.note) || c.note == "" && got.RestartNote != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	// Who has another parent than launchd is none of its jobs.
	child := newFakeMac()
	child.all[app].parent, child.jobs = 700, "4242\t0\tcom.example.web\n"
	if got, err := end(t, child, processes.Target{}); err != nil || got.Unit != "" {
		t.Errorf("%+v, %v", got, err)
	}
	w := newFakeMac()
	w.root = false
	w.jobs = "4242\t0\tcom.example.agent\n"
	if got, err := end(t, w, processes.Target{}); err != nil || got.WillRestart != nil || !strings.Contains(got.RestartNote, "run by the service manager of the user") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestMachineWithoutPS(t *testing.T) {
	w := newFakeMac()
	w.psFails = true
	refused(t, w, processes.Target{}, fault.Unavailable, "Process 4242 cannot be held", "")
	w = newFakeMac()
	w.before = func(w *fakeMac) { w.psFails = len(w.sent) > 0 }
	w.all[app].stuck = true
	if _, err := end(t, w, processes.Target{}); fault.From(err).Code != fault.Unavailable || !strings.Contains(err.Error(), "was sent SIGKILL, and cannot be watched") {
		t.Errorf("%v", err)
	}
}

func TestPSThatHangsIsGivenUp(t *testing.T) {
	for _, failure := range []string{"hang", "missing", "flood"} {
		m, err := replay.OpenMachine(testenv.Plant(t, map[string]string{
			"ps.txtar": "argv: /bin/ps -ww -o pid,ppid,uid,state,time,rss,user,lstart,comm -p 4242\nerror: " + failure + "\n",
		}))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			terminator := NewTerminator(Mac{Runner: m, Kill: newFakeMac().kill, PID: 900})
			if _, err := processes.PlanTermination(t.Context(), terminator, processes.Target{PID: app}, nil); fault.From(err).Code != fault.Unavailable || time.Since(began) > lookLimit {
				t.Errorf("%s: after %v: %v", failure, time.Since(began), err)
			}
		})
	}
}

func TestNamesThatAreHostile(t *testing.T) {
	w := newFakeMac()
	w.all[app].comm = "/tmp/\x1b[2Jevil\u202e"
	got, err := end(t, w, processes.Target{})
	if err != nil || strings.ContainsAny(got.ProcessName, "\x1b\u202e") {
		t.Errorf("%+v, %v", got, err)
	}
	w = newFakeMac()
	w.all[app].comm = "a\n    1     0     0 Ss     0:01.00   1292 root             Fri Jan  2 03:04:05 2026     /sbin/launchd"
	if _, err := end(t, w, processes.Target{}); fault.From(err).Code != fault.Unavailable || len(w.sent) > 0 {
		t.Errorf("%v, sent %v", err, w.sent)
	}
}

func TestCancelBeforeTheSignal(t *testing.T) {
	w := newFakeMac()
	p, err := processes.PlanTermination(t.Context(), w.terminator(), processes.Target{PID: app}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Do(ctx); !errors.Is(err, context.Canceled) || len(w.sent) > 0 {
		t.Errorf("%v, sent %v", err, w.sent)
	}
}

// kill(2) is called and not kill(1), whose words say what its errors are.
func TestRecordedRefusalsOfKill(t *testing.T) {
	for _, out := range testenv.RecordedOutputs(t, "kill") {
		text := string(bytes.TrimSpace(out.Raw))
		text = text[strings.LastIndex(text, ": ")+1:]
		if text = strings.TrimSpace(text); !strings.EqualFold(text, syscall.ESRCH.Error()) && !strings.EqualFold(text, syscall.EPERM.Error()) {
			t.Errorf("%s: %q", out.Name, text)
		}
	}
}
