// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/elevation"
	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// host plays sudo and sentinel: what sudo says to the question, and what comes
// of a run with and without it.
type host struct {
	asked       sysexec.Result
	elevated    sysexec.Result
	elevatedErr error
	plain       sysexec.Result
	untrusted   error
	trustAsked  int
}

func (h *host) do(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	switch {
	case c.Path != elevation.Sudo:
		return h.plain, nil
	case c.Args[1] == "-l":
		return h.asked, nil
	default:
		return h.elevated, h.elevatedErr
	}
}

func (h *host) trusted(string) error {
	h.trustAsked++
	return h.untrusted
}

// member is a machine with the rules of sudo, whose user they are for.
func member(t *testing.T) elevation.Machine {
	t.Helper()
	return elevation.Machine{OS: "linux", UID: 1000, Groups: []int{1000, 990}, Root: testenv.Plant(t, map[string]string{
		"usr/bin/sudo": "x", "etc/sudoers.d/sentinel": "x", "etc/passwd": "ann:x:1000:1000::/home/ann:/bin/sh\n", "etc/group": "sentinel:x:990:ann\n",
	})}
}

func out(text string) sysexec.Result { return sysexec.Result{Stdout: []byte(text)} }

const (
	asRoot = `{"success":true,"as":"root"}`
	asUser = `{"success":true,"as":"user"}`

	askLine      = "/usr/bin/sudo -n -l " + binary + " --request tool"
	elevatedLine = "/usr/bin/sudo -n " + binary + " --request tool"
	plainLine    = binary + " --request tool"
)

func operation(p ops.Privilege, e ops.Effect) ops.Operation {
	return ops.Operation{Name: "tool", Action: "tool", Privilege: p, Effect: e}
}

func TestPrivilegeOfARun(t *testing.T) {
	denied := sysexec.Result{Stderr: []byte("sudo: a password is required\n"), Exit: 1}
	for _, test := range []struct {
		name string
		op   ops.Operation
		root bool
		host host
		want []string // commands
		says string   // stdout of the result
	}{
		{"any user needs no sudo", operation(ops.AnyUser, ops.Read), false,
			host{plain: out(asUser)}, []string{plainLine}, asUser},
		{"root needs no sudo", operation(ops.BetterRoot, ops.Read), true,
			host{plain: out(asRoot)}, []string{plainLine}, asRoot},
		{"allowed", operation(ops.BetterRoot, ops.Read), false,
			host{elevated: out(asRoot)}, []string{askLine, elevatedLine}, asRoot},
		{"refused", operation(ops.BetterRoot, ops.Read), false,
			host{asked: denied, plain: out(asUser)}, []string{askLine, plainLine}, asUser},
		{"someone else owns the binary", operation(ops.BetterRoot, ops.Read), false,
			host{untrusted: errors.New("owner"), plain: out(asUser)}, []string{plainLine}, asUser},
		{"allowed, then refused", operation(ops.BetterRoot, ops.Read), false,
			host{elevated: denied, plain: out(asUser)}, []string{askLine, elevatedLine, plainLine}, asUser},
		{"allowed, then not run", operation(ops.BetterRoot, ops.Read), false,
			host{elevatedErr: errors.New("start"), plain: out(asUser)}, []string{askLine, elevatedLine, plainLine}, asUser},
		{"a failed document is an answer", operation(ops.BetterRoot, ops.Read), false,
			host{elevated: sysexec.Result{Stdout: []byte(`{"success":false}`), Exit: 1}}, []string{askLine, elevatedLine}, `{"success":false}`},
		{"what changes something never runs twice", operation(ops.NeedsRoot, ops.Write), false,
			host{elevated: sysexec.Result{Stdout: []byte("noise"), Exit: 1}}, []string{askLine, elevatedLine}, "noise"},
		{"nor what sends something out", operation(ops.BetterRoot, ops.SendsOut), false,
			host{elevated: sysexec.Result{Stdout: []byte("noise"), Exit: 1}}, []string{askLine, elevatedLine}, "noise"},
		{"a program that broke off was not refused", operation(ops.NeedsRoot, ops.Write), false,
			host{elevated: sysexec.Result{Stderr: []byte("panic: x\nsudo: \n"), Exit: 2}}, []string{askLine, elevatedLine}, ""},
		{"needed and refused: sentinel says so", operation(ops.NeedsRoot, ops.Destructive), false,
			host{asked: denied, plain: out(asUser)}, []string{askLine, plainLine}, asUser},
		{"a read that needs root, allowed and then refused", operation(ops.NeedsRoot, ops.Read), false,
			host{elevated: denied, plain: out(asUser)}, []string{askLine, elevatedLine, plainLine}, asUser},
	} {
		t.Run(test.name, func(t *testing.T) {
			runner := &fakeRunner{do: test.host.do}
			s := newSudoRunner(member(t), runner, test.root, test.host.trusted, time.Now, quiet())
			r, err := s.run(t.Context(), test.op, binary, []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, runner.argv()); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
			if string(r.Stdout) != test.says {
				t.Errorf("printed %q, want %q", r.Stdout, test.says)
			}
			for _, c := range runner.seen {
				if ask := strings.Contains(strings.Join(c.Args, " "), "-l"); !ask && string(c.Stdin) != "{}" {
					t.Errorf("%v got stdin %q", c.Args, c.Stdin)
				}
			}
		})
	}
}

func TestSudoIsAskedOnceInFiveMinutes(t *testing.T) {
	for name, asked := range map[string]sysexec.Result{"allowed": {}, "refused": {Exit: 1}} {
		t.Run(name, func(t *testing.T) {
			h := host{asked: asked, elevated: out(asRoot), plain: out(asUser)}
			runner := &fakeRunner{do: h.do}
			now := time.Unix(1000, 0)
			s := newSudoRunner(member(t), runner, false, h.trusted, func() time.Time { return now }, quiet())
			questions := func() (n int) {
				t.Helper()
				if _, err := s.run(t.Context(), operation(ops.BetterRoot, ops.Read), binary, nil); err != nil {
					t.Fatal(err)
				}
				for _, line := range runner.argv() {
					if line == askLine {
						n++
					}
				}
				return n
			}
			questions()
			now = now.Add(permissionTTL - time.Second)
			if got := questions(); got != 1 {
				t.Errorf("%d questions within five minutes, want 1", got)
			}
			now = now.Add(time.Second)
			if got := questions(); got != 2 {
				t.Errorf("%d questions after five minutes, want 2", got)
			}
		})
	}
}

func TestEveryToolIsAskedForItself(t *testing.T) {
	h := host{elevated: out(asRoot)}
	runner := &fakeRunner{do: h.do}
	s := newSudoRunner(member(t), runner, false, h.trusted, time.Now, quiet())
	for _, name := range []string{"one", "two"} {
		op := operation(ops.BetterRoot, ops.Read)
		op.Name = name
		if _, err := s.run(t.Context(), op, binary, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"/usr/bin/sudo -n -l " + binary + " --request one", "/usr/bin/sudo -n " + binary + " --request one",
		"/usr/bin/sudo -n -l " + binary + " --request two", "/usr/bin/sudo -n " + binary + " --request two",
	}
	if diff := cmp.Diff(want, runner.argv()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestOwnerOfTheBinaryIsCheckedAtEveryRun(t *testing.T) {
	h := host{elevated: out(asRoot), plain: out(asUser)}
	runner := &fakeRunner{do: h.do}
	s := newSudoRunner(member(t), runner, false, h.trusted, time.Now, quiet())
	op := operation(ops.BetterRoot, ops.Read)
	if r, err := s.run(t.Context(), op, binary, nil); err != nil || string(r.Stdout) != asRoot {
		t.Fatalf("%s, %v", r.Stdout, err)
	}
	h.untrusted = errors.New("/opt can be written by others")
	if r, err := s.run(t.Context(), op, binary, nil); err != nil || string(r.Stdout) != asUser {
		t.Errorf("ran %s, %v although the binary is no longer safe", r.Stdout, err)
	}
}

func TestRefusalAfterAYesIsRemembered(t *testing.T) {
	h := host{elevated: sysexec.Result{Exit: 1}, plain: out(asUser)}
	runner := &fakeRunner{do: h.do}
	s := newSudoRunner(member(t), runner, false, h.trusted, time.Now, quiet())
	for range 2 {
		if _, err := s.run(t.Context(), operation(ops.BetterRoot, ops.Read), binary, nil); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{askLine, elevatedLine, plainLine, plainLine}, runner.argv()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestCancelledQuestionIsNotRemembered(t *testing.T) {
	h := host{elevated: out(asRoot)}
	runner := &fakeRunner{}
	ctx, cancel := context.WithCancel(t.Context())
	runner.do = func(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
		if len(runner.seen) == 1 {
			cancel()
		}
		if ctx.Err() != nil {
			return sysexec.Result{}, ctx.Err()
		}
		return h.do(ctx, c)
	}
	s := newSudoRunner(member(t), runner, false, h.trusted, time.Now, quiet())
	op := operation(ops.BetterRoot, ops.Read)
	if _, err := s.run(ctx, op, binary, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want Canceled", err)
	}
	if r, err := s.run(t.Context(), op, binary, nil); err != nil || string(r.Stdout) != asRoot {
		t.Errorf("the next call: %s, %v, want an answer as root", r.Stdout, err)
	}
}

// What a machine without processes could not ask, it asks again when it has some.
func TestAQuestionThatCouldNotBeAskedIsNotRemembered(t *testing.T) {
	h := host{elevated: out(asRoot)}
	runner := &fakeRunner{}
	runner.do = func(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
		if len(runner.seen) <= 2 {
			return sysexec.Result{}, fmt.Errorf("run: %w", &fs.PathError{Op: "fork/exec", Path: c.Path, Err: syscall.EAGAIN})
		}
		return h.do(ctx, c)
	}
	s := newSudoRunner(member(t), runner, false, h.trusted, time.Now, quiet())
	op := operation(ops.BetterRoot, ops.Read)
	if _, err := s.run(t.Context(), op, binary, nil); !errors.Is(err, syscall.EAGAIN) {
		t.Fatalf("error %v, want EAGAIN", err)
	}
	if r, err := s.run(t.Context(), op, binary, nil); err != nil || string(r.Stdout) != asRoot {
		t.Errorf("the next call: %s, %v, want an answer as root", r.Stdout, err)
	}
}

func TestCallsAtTheSameMomentAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := host{elevated: out(asRoot)}
		runner := &fakeRunner{do: func(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
			<-time.After(time.Second)
			return h.do(ctx, c)
		}}
		s := newSudoRunner(member(t), runner, false, func(string) error { return nil }, time.Now, quiet())
		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() {
				if _, err := s.run(t.Context(), operation(ops.BetterRoot, ops.Read), binary, nil); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		s.mayUseSudo(ctx, operation(ops.BetterRoot, ops.Read), binary)
		if took := time.Since(began); took != time.Millisecond {
			t.Errorf("a call whose time is over waited %v for its turn to ask", took)
		}
		calls.Wait()
		questions := 0
		for _, line := range runner.argv() {
			if line == askLine {
				questions++
			}
		}
		if questions != 1 {
			t.Errorf("%d questions, want 1", questions)
		}
	})
}

// sudo says yes to a rule that wants a password, and no to the run.
func TestChangeThatSudoDoesNotRunIsDenied(t *testing.T) {
	for name, test := range map[string]struct {
		elevated sysexec.Result
		err      error
		says     string
	}{
		"password":        {sysexec.Result{Stderr: []byte("sudo: a password is required\n"), Exit: 1}, nil, "sudo: a password is required"},
		"behind a notice": {sysexec.Result{Stderr: []byte("/etc/sudoers.d/x:1:1: syntax error\nsudo: a password is required\n"), Exit: 1}, nil, "sudo: a password is required"},
		"not a sudoer":    {sysexec.Result{Stderr: []byte("Sorry, user u may not run sudo on h.\n"), Exit: 1}, nil, "Sorry, user u"},
		"sudo-rs":         {sysexec.Result{Stderr: []byte("sudo-rs: interactive authentication is required\n"), Exit: 1}, nil, "authentication is required"},
		"sudo is gone":    {sysexec.Result{}, fmt.Errorf("run: %w", &fs.PathError{Op: "fork/exec", Path: elevation.Sudo, Err: fs.ErrNotExist}), "cannot be started"},
	} {
		t.Run(name, func(t *testing.T) {
			h := host{elevated: test.elevated, elevatedErr: test.err, plain: out(asUser)}
			runner := &fakeRunner{do: h.do}
			s := newSudoRunner(member(t), runner, false, h.trusted, time.Now, quiet())
			_, err := s.run(t.Context(), operation(ops.NeedsRoot, ops.Destructive), binary, nil)
			var denied *fault.Error
			if !errors.As(err, &denied) || denied.Code != fault.PermissionDenied || !strings.Contains(denied.Message, test.says) || !strings.Contains(denied.Fix, "visudo") {
				t.Errorf("%v, want PERMISSION_DENIED with %q and a fix", err, test.says)
			}
			if diff := cmp.Diff([]string{askLine, elevatedLine, plainLine}, runner.argv()); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
			if r, err := s.run(t.Context(), operation(ops.NeedsRoot, ops.Destructive), binary, nil); err != nil || string(r.Stdout) != asUser {
				t.Errorf("the next call: %s, %v; the yes was not forgotten", r.Stdout, err)
			}
		})
	}
}

// What sentinel says without root is not the right reason, except about the form
// of the arguments.
func TestWhatNeedsRootSaysWhichFileIsNotSafe(t *testing.T) {
	for _, effect := range []ops.Effect{ops.Read, ops.Write, ops.Destructive} {
		h := host{untrusted: errors.New("/opt/sentinel/bin can be written by others"), plain: out(asUser)}
		runner := &fakeRunner{do: h.do}
		s := newSudoRunner(member(t), runner, false, h.trusted, time.Now, quiet())
		_, err := s.run(t.Context(), operation(ops.NeedsRoot, effect), binary, nil)
		var denied *fault.Error
		if !errors.As(err, &denied) || denied.Code != fault.PermissionDenied || !strings.Contains(denied.Message, "/opt/sentinel/bin can be written by others") {
			t.Errorf("%v, want PERMISSION_DENIED that names the file", err)
		}
		if diff := cmp.Diff([]string{plainLine}, runner.argv()); diff != "" {
			t.Errorf("commands (-want +got):\n%s", diff)
		}
	}
}

// A killed sudo leaves its child running as root, so neither a run through it
// nor a question to it may ever be killed; a run without it may.
func TestOnlyWhatRunsThroughSudoIsSparedTheKill(t *testing.T) {
	h := &host{elevated: out("no document"), plain: out(asUser)}
	runner := &fakeRunner{do: h.do}
	s := newSudoRunner(member(t), runner, false, h.trusted, time.Now, slog.New(slog.DiscardHandler))
	if _, err := s.run(t.Context(), operation(ops.BetterRoot, ops.Read), binary, nil); err != nil {
		t.Fatal(err)
	}
	var noKill []bool
	for _, c := range runner.seen {
		noKill = append(noKill, c.NoKill)
	}
	if diff := cmp.Diff([]bool{true, true, false}, noKill); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A change that is killed halfway is neither done nor taken back, so it may take
// its time, as root without sudo too; what only reads may not.
func TestChangeIsGivenTimeToEnd(t *testing.T) {
	for effect, want := range map[ops.Effect]time.Duration{
		ops.Read: waitDelay, ops.SendsOut: waitDelay, ops.Write: changeWaitDelay, ops.Destructive: changeWaitDelay,
	} {
		runner := printing(asRoot)
		s := newSudoRunner(member(t), runner, true, nil, time.Now, quiet())
		if _, err := s.run(t.Context(), operation(ops.NeedsRoot, effect), binary, nil); err != nil {
			t.Fatal(err)
		}
		if c := runner.seen[0]; c.WaitDelay != want || c.NoKill != (want == changeWaitDelay) {
			t.Errorf("effect %d: wait delay %v, not killed %v", effect, c.WaitDelay, c.NoKill)
		}
	}
	if changeWaitDelay >= grace {
		t.Errorf("the server gives up after %v, before a change has had its %v", grace, changeWaitDelay)
	}
}

// An ordinary user has the binary in a directory of their own, and must not be led to
// give the directory away.
func TestRootThatIsNotUsedIsNoWarningAndNamesTheWay(t *testing.T) {
	var log bytes.Buffer
	h := &host{untrusted: errors.New("/home/u belongs to user 1000"), plain: out(asUser)}
	s := newSudoRunner(member(t), &fakeRunner{do: h.do}, false, h.trusted, time.Now, slog.New(slog.NewTextHandler(&log, nil)))
	if _, err := s.run(t.Context(), operation(ops.BetterRoot, ops.Read), binary, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"level=INFO", "root is not used", "sudo make install", "/home/u belongs to user 1000"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log %q, want %q in it", log.String(), want)
		}
	}
}

// A caller without rights hears that an argument is wrong, and not first that it lacks rights.
func TestAWrongArgumentIsSaidBeforeTheWantOfRights(t *testing.T) {
	const wrong = `{"success":false,"action":"block_ip","error_code":"INVALID_IP","error":"no address","fix":"x"}`
	for name, h := range map[string]host{
		"a program that others can change": {untrusted: errors.New("writable"), plain: out(wrong)},
		"a rule that wants a password":     {elevated: sysexec.Result{Stderr: []byte("sudo: a password is required\n"), Exit: 1}, plain: out(wrong)},
	} {
		s := newSudoRunner(member(t), &fakeRunner{do: h.do}, false, h.trusted, time.Now, quiet())
		if r, err := s.run(t.Context(), operation(ops.NeedsRoot, ops.Destructive), binary, nil); err != nil || string(r.Stdout) != wrong {
			t.Errorf("%s: %s, %v, want what sentinel says of the argument", name, r.Stdout, err)
		}
	}
}
