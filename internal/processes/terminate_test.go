// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/progress"
	"sentinel/internal/sessions"
	"sentinel/internal/sshserver"
)

// A victim is a process on paper, and the system it lives in.
type victim struct {
	facts        []Facts // one for each read, the last one for all that follow
	factsErr     error
	pinErr       error
	probeErr     error
	signalErr    map[Signal]error
	endsBy       Signal
	endsAfter    time.Duration
	waitErr      error
	leftZombie   bool
	systemFile   bool
	lent         bool
	diskHangs    bool
	obstacle     Obstacle
	lineage      []Relative
	lineageErr   error
	model        *sessions.Model
	modelErr     error
	policy       RestartPolicy
	policyErr    error
	managerHangs bool
	parents      map[int]Pinned // and all others that it is not itself
	below        []Relative
	belowErr     error

	reads    int
	holdings []int // of how many processes they were asked, each time
	people   bool  // and of people, the last time
	along    []int // with which others, the last time
	sent     []Signal
	closed   int
}

func (v *victim) Pin(pid int) (Pinned, error) {
	if parent, known := v.parents[pid]; known {
		return parent, nil
	}
	if pid == v.facts[0].Parent.PID {
		return nil, ErrNoProcess
	}
	if v.pinErr != nil {
		return nil, v.pinErr
	}
	return v, nil
}

// Critical are a few rules of every kind.
func (v *victim) Critical() []CriticalRule {
	return []CriticalRule{
		{Names: sshserver.Names(), Login: true, Why: "people reach this machine through it"},
		{Names: []string{"auditd"}, Why: "it guards this machine, or keeps the record of what happens on it"},
		{Names: []string{"multipathd"}, Restart: true, Why: "the storage depends on it"},
		{Names: []string{"sway"}, SystemFile: true, Why: "a desktop session ends with it"},
	}
}

func (v *victim) Holdings(_ context.Context, of map[int]*Facts, along []int, people bool) {
	v.holdings = append(v.holdings, len(of))
	v.people, v.along = people, along
}

func (v *victim) Below(context.Context, int) ([]Relative, error) { return v.below, v.belowErr }

func (v *victim) Sessions(context.Context) (*sessions.Model, error) {
	if v.model == nil {
		return &sessions.Model{}, v.modelErr
	}
	return v.model, v.modelErr
}

func (v *victim) Lineage(context.Context) ([]Relative, error) { return v.lineage, v.lineageErr }

func (v *victim) RestartPolicy(ctx context.Context, _ string) (RestartPolicy, error) {
	if v.managerHangs {
		<-ctx.Done()
	}
	return v.policy, v.policyErr
}

func (v *victim) Facts(context.Context) (Facts, error) {
	v.reads++
	return v.facts[min(v.reads, len(v.facts))-1], v.factsErr
}

func (v *victim) Probe() error { return v.probeErr }

func (v *victim) Signal(s Signal) error {
	if err := v.signalErr[s]; err != nil {
		return err
	}
	v.sent = append(v.sent, s)
	return nil
}

func (v *victim) Wait(limit time.Duration) (bool, error) {
	ends := v.endsBy != "" && slices.Contains(v.sent, v.endsBy) && v.endsAfter < limit
	if ends {
		limit = v.endsAfter
	}
	<-time.After(limit)
	return ends, v.waitErr
}

func (v *victim) Collected(limit time.Duration) bool {
	if v.leftZombie {
		<-time.After(limit)
	}
	return !v.leftZombie
}

func (v *victim) ProgramFile() (ProgramFile, error) {
	if v.diskHangs {
		<-time.After(hang)
	}
	return ProgramFile{System: v.systemFile, Lent: v.lent}, nil
}

func (v *victim) Obstacle() Obstacle { return v.obstacle }

func (v *victim) Close() error {
	v.closed++
	return nil
}

// hang is longer than anything is waited for.
const hang = time.Hour

// ffmpeg is what most tests are about.
func ffmpeg() Facts {
	return Facts{
		Name: "ffmpeg", Arguments: []string{"ffmpeg", "-i", "a.mkv"}, Start: "6b1f0c2e.3999", UserID: 1000, User: "bob",
		Executable: "/usr/bin/ffmpeg", Parent: Relative{17, "bash"},
	}
}

func killable() *victim { return &victim{facts: []Facts{ffmpeg()}, endsBy: SignalKill} }

var protected = []string{"postgres"}

// do plans and ends on the clock of the test.
func do(t *testing.T, v *victim, target Target) (done Terminated, took time.Duration, err error) {
	t.Helper()
	target.PID = 4242
	synctest.Test(t, func(t *testing.T) {
		defer func() { <-time.After(hang) }() // what was left behind ends
		began := time.Now()
		p, failed := PlanTermination(t.Context(), v, target, protected)
		if took = time.Since(began); failed != nil {
			err = failed
			return
		}
		defer p.Close()
		if len(v.sent) > 0 {
			t.Errorf("planning sent %v", v.sent)
		}
		done, err = p.Do(t.Context())
		took = time.Since(began)
	})
	if v.pinErr == nil && v.closed != 1 {
		t.Errorf("closed %d times", v.closed)
	}
	return done, took, err
}

// fails checks the code, the sentence and the fix of a failure, and which
// signals were sent before it.
func fails(t *testing.T, v *victim, target Target, code fault.Code, message, fix string, sent ...Signal) {
	t.Helper()
	_, _, err := do(t, v, target)
	var known *fault.Error
	if !errors.As(err, &known) {
		t.Errorf("%+v: %v", target, err)
		return
	}
	if known.Code != code || !strings.Contains(known.Message, message) || !strings.Contains(known.Fix, fix) {
		t.Errorf("%+v:\n%s: %s\nfix: %s\nwant %s: %s\nfix: %s", target, known.Code, known.Message, known.Fix, code, message, fix)
	}
	if diff := cmp.Diff(sent, v.sent); diff != "" {
		t.Errorf("signals: %s", diff)
	}
}

func TestDoEndsWithTheSignalThatWorks(t *testing.T) {
	subject := Subject{PID: 4242, ProcessName: "ffmpeg", StartID: "6b1f0c2e.3999", User: "bob"}
	for _, c := range []struct {
		target Target
		endsBy Signal
		after  time.Duration
		want   Terminated
		sent   []Signal
	}{
		{Target{}, SignalKill, 0, Terminated{Subject: subject, Signal: SignalKill}, []Signal{SignalKill}},
		{Target{}, SignalKill, 2999 * time.Millisecond, Terminated{Subject: subject, Signal: SignalKill, ExitedAfterMS: 2999}, []Signal{SignalKill}},
		{Target{Graceful: true}, SignalTerm, 4999 * time.Millisecond, Terminated{Subject: subject, Signal: SignalTerm, ExitedAfterMS: 4999}, []Signal{SignalTerm}},
		{Target{Graceful: true}, SignalKill, 1500 * time.Microsecond, Terminated{Subject: subject, Signal: SignalKill, ExitedAfterMS: 5001.5}, []Signal{SignalTerm, SignalKill}},
		{Target{Graceful: true, Grace: time.Second}, SignalKill, 0, Terminated{Subject: subject, Signal: SignalKill, ExitedAfterMS: 1000}, []Signal{SignalTerm, SignalKill}},
	} {
		v := killable()
		v.endsBy, v.endsAfter = c.endsBy, c.after
		got, _, err := do(t, v, c.target)
		if diff := cmp.Diff(c.want, got) + cmp.Diff(c.sent, v.sent); diff != "" || err != nil {
			t.Errorf("%+v: %v\n%s", c.target, err, diff)
		}
	}
}

func TestDoSaysWhoLeavesAZombie(t *testing.T) {
	v := killable()
	v.leftZombie = true
	got, took, err := do(t, v, Target{})
	if diff := cmp.Diff(&Relative{17, "bash"}, got.UncollectedBy); diff != "" || err != nil || took != collectPeriod {
		t.Errorf("%v after %v\n%s", err, took, diff)
	}
}

func TestProcessThatIsGoneIsNotFound(t *testing.T) {
	v := killable()
	v.pinErr = ErrNoProcess
	fails(t, v, Target{}, fault.ProcessNotFound, "no process with the ID 4242", "")
	v = killable()
	v.factsErr = ErrNoProcess
	fails(t, v, Target{}, fault.ProcessNotFound, "no process with the ID 4242", "")
	v = killable()
	v.probeErr = ErrNoProcess
	fails(t, v, Target{}, fault.ProcessNotFound, "no process with the ID 4242", "")
	v = killable()
	v.signalErr = map[Signal]error{SignalKill: ErrNoProcess}
	fails(t, v, Target{}, fault.ProcessNotFound, "ended by itself before it was signalled", "Nothing")
	dead := ffmpeg()
	dead.Ended, dead.Arguments = true, nil
	v = killable()
	v.facts = append(v.facts, dead)
	fails(t, v, Target{}, fault.ProcessNotFound, "ended by itself before it was signalled", "Nothing")
	v = killable()
	v.facts[0] = dead
	fails(t, v, Target{ExpectName: "another"}, fault.ProcessNotFound, "its parent \"bash\" (PID 17) has not collected it", "\"bash\" (PID 17) collects it")
	v = killable()
	dead.Parent = Relative{}
	v.facts[0] = dead
	fails(t, v, Target{}, fault.ProcessNotFound, "\"ffmpeg\" (PID 4242) has ended already and is a zombie.", "")
}

// It ended between the last moment of its grace and SIGKILL.
func TestProcessThatEndsBeforeSIGKILLWasEndedBySIGTERM(t *testing.T) {
	v := killable()
	v.signalErr = map[Signal]error{SignalKill: ErrNoProcess}
	got, took, err := do(t, v, Target{Graceful: true})
	if got.Signal != SignalTerm || err != nil || took != gracePeriod {
		t.Errorf("%+v, %v after %v", got, err, took)
	}
}

func TestSystemThatCannotIsToldApartFromTheUserWhoMayNot(t *testing.T) {
	v := killable()
	v.pinErr = &ThreadError{4240, "ffm\x1b[31mpeg"}
	fails(t, v, Target{}, fault.InvalidPID, "4242 is the ID of a thread of \"ffm\uFFFD[31mpeg\" (PID 4240)", "4240")
	v = killable()
	v.pinErr = fault.New(fault.Unsupported, "This system is too old.").WithFix("Use a newer one.")
	fails(t, v, Target{}, fault.Unsupported, "too old", "a newer one")
	v = killable()
	v.pinErr = fs.ErrPermission
	fails(t, v, Target{}, fault.Unavailable, "cannot be held", "")
	v = killable()
	v.factsErr = fs.ErrPermission
	fails(t, v, Target{}, fault.Unavailable, "What process 4242 is cannot be read", "")
	v = killable()
	v.probeErr = fs.ErrPermission
	fails(t, v, Target{}, fault.PermissionDenied, "may not end \"ffmpeg\" (PID 4242)", "sudo sentinel --kill 4242")
	v = killable()
	v.signalErr = map[Signal]error{SignalKill: fs.ErrPermission}
	fails(t, v, Target{}, fault.PermissionDenied, "may not end \"ffmpeg\" (PID 4242)", "sudo")
	v = killable()
	v.waitErr = errTable
	fails(t, v, Target{}, fault.Unavailable, "was sent SIGKILL, and cannot be watched", "", SignalKill)
}

func TestStillRunningSaysWhy(t *testing.T) {
	for want, o := range map[string]Obstacle{
		"state D, in rpc_wait_bit_killable).":           {Uninterruptible: true, Wait: "rpc_wait_bit_killable"},
		"(state D).":                                    {Uninterruptible: true, Tracer: Relative{9, "gdb"}},
		"it is being traced by \"gdb\" (PID 9).":        {Tracer: Relative{9, "gdb"}},
		"still there 3s later, though it does not wait": {},
	} {
		v := killable()
		v.endsBy, v.obstacle = "", o
		fails(t, v, Target{}, fault.StillRunning, want, "", SignalKill)
	}
	v := killable()
	v.endsBy = ""
	if _, took, err := do(t, v, Target{Graceful: true}); took != 0 && took != gracePeriod+killPeriod || err == nil {
		t.Errorf("%v after %v", err, took)
	}
}

func TestProcessThatIsAnotherIsLeft(t *testing.T) {
	fails(t, killable(), Target{ExpectStart: "6b1f0c2e.4000"}, fault.ProcessChanged, `its start_id is "6b1f0c2e.3999", not "6b1f0c2e.4000"`, "")
	fails(t, killable(), Target{ExpectName: "ffplay"}, fault.ProcessChanged, `its name is "ffmpeg", not "ffplay"`, "")
	fails(t, killable(), Target{ExpectName: "ffmpe"}, fault.ProcessChanged, `its name is "ffmpeg", not "ffmpe"`, "")
	other := ffmpeg()
	other.Name, other.Arguments = "bash", nil
	v := killable()
	v.facts = append(v.facts, other)
	fails(t, v, Target{ExpectName: "ffmpeg"}, fault.ProcessChanged, `its name is "bash", not "ffmpeg"`, "")
}

func TestExpectedNameIsTheOneThatWasShown(t *testing.T) {
	for _, c := range []struct {
		kernel    string
		arguments []string
		want      []string
		not       []string
	}{
		{"containerd-shim", []string{"/usr/bin/containerd-shim-runc-v2"}, []string{"containerd-shim-runc-v2", "containerd-shim"}, []string{"containerd-shim-runc", "containerd"}},
		{"containerd-shim", nil, []string{"containerd-shim-runc-v2", "containerd-shim"}, []string{"containerd-shi"}},
		{"a)\n\x1b[31m\u202eb", nil, []string{"a) \uFFFD[31m\uFFFDb", "a)\n\x1b[31m\u202eb"}, []string{"a)"}},
		{"short", nil, []string{"short"}, []string{"shorter"}},
	} {
		f := ffmpeg()
		f.Name, f.Arguments, f.Executable = c.kernel, c.arguments, ""
		for _, name := range c.want {
			v := killable()
			v.facts[0] = f
			if _, _, err := do(t, v, Target{ExpectName: name}); err != nil {
				t.Errorf("%q for %q: %v", name, c.kernel, err)
			}
		}
		for _, name := range c.not {
			v := killable()
			v.facts[0] = f
			fails(t, v, Target{ExpectName: name}, fault.ProcessChanged, "its name is", "")
		}
	}
}

func TestCancelStopsBeforeTheFirstSignalAndNotAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		v := killable()
		p, err := PlanTermination(ctx, v, Target{PID: 4242, Graceful: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if done, err := p.Do(ctx); err != nil || done.Signal != SignalKill || done.ExitedAfterMS != 5000 {
			t.Errorf("%+v, %v", done, err)
		}
		v.sent = nil
		if _, err := p.Do(ctx); !errors.Is(err, context.DeadlineExceeded) || v.sent != nil {
			t.Errorf("%v, sent %v", err, v.sent)
		}
		if _, err := PlanTermination(ctx, killable(), Target{PID: 4242}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestNumbersThatAreNeverEnded(t *testing.T) {
	for pid, want := range map[int]fault.Code{
		0: fault.InvalidPID, -1: fault.InvalidPID, 4194305: fault.InvalidPID,
		1: fault.ProtectedProcess, os.Getpid(): fault.ProtectedProcess,
	} {
		v := killable()
		var known *fault.Error
		if _, err := PlanTermination(t.Context(), v, Target{PID: pid, Force: true}, nil); !errors.As(err, &known) || known.Code != want || v.reads > 0 {
			t.Errorf("%d: %v after %d reads", pid, err, v.reads)
		}
	}
}

func TestSummarySaysWhatWouldBeDone(t *testing.T) {
	service := ffmpeg()
	service.Unit = Unit{Name: "stream.service", Service: true, RestartName: "stream.service", StopCommand: "systemctl stop stream.service"}
	nobody := ffmpeg()
	nobody.User = ""
	named := ffmpeg()
	named.Name = `"x" sentinel --kill 1`
	other := ffmpeg()
	other.Name, other.Served = `nginx" (PID 77`, []Served{{Point: `/home/bob/a", "/srv`}}
	other.Unit = Unit{Name: `a" (PID 77).service`, Service: true, User: true}
	for _, c := range []struct {
		facts  Facts
		target Target
		want   string
	}{
		{other, Target{}, `"nginx' (PID 77" (PID 4242, user bob) would be sent SIGKILL. It serves what is mounted at "/home/bob/a', '/srv", which cannot be used without it. ` +
			`"a' (PID 77).service" is run by the service manager of the user, which may start it again.`},
		{ffmpeg(), Target{}, `"ffmpeg" (PID 4242, user bob) would be sent SIGKILL.`},
		{nobody, Target{}, `"ffmpeg" (PID 4242) would be sent SIGKILL.`},
		{ffmpeg(), Target{Graceful: true}, `"ffmpeg" (PID 4242, user bob) would be sent SIGTERM, and SIGKILL if it is still there 5s later.`},
		{named, Target{}, `"'x' sentinel --kill 1" (PID 4242, user bob) would be sent SIGKILL.`},
		{service, Target{}, `"ffmpeg" (PID 4242, user bob) would be sent SIGKILL. stream.service will start it again (Restart=on-failure); ` +
			"to restart it: sudo sentinel --restart-service stream.service, and to keep it off: systemctl stop stream.service."},
	} {
		v := killable()
		v.facts[0], v.policy, c.target.PID = c.facts, RestartPolicy{MainPID: 4242, OnKill: ComesBack, Cause: "(Restart=on-failure)"}, 4242
		p, err := PlanTermination(t.Context(), v, c.target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Summary(); got != c.want || v.sent != nil {
			t.Errorf("%s\nsent %v", got, v.sent)
		}
		p.Close()
	}
}

func TestAGracefulEndSaysThatItWaits(t *testing.T) {
	v := killable()
	v.endsBy, v.endsAfter = SignalTerm, time.Second
	said := ""
	synctest.Test(t, func(t *testing.T) {
		ctx := progress.With(t.Context(), func(_ int, words string) { said += words + "\n" })
		p, err := PlanTermination(ctx, v, Target{PID: 4242, Graceful: true}, protected)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if _, err = p.Do(ctx); err != nil {
			t.Error(err)
		}
		<-time.After(hang)
	})
	if want := "asked to end; waiting up to 5s for it\n"; said != want {
		t.Errorf("%q, want %q", said, want)
	}
}
