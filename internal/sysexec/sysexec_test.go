// SPDX-License-Identifier: Apache-2.0

package sysexec

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const shell = "/bin/sh"

// script returns a command that runs text with the shell.
func script(text string) Command { return Command{Path: shell, Args: []string{"-c", text}} }

func run(t *testing.T, c Command) Result {
	t.Helper()
	r, err := Host{}.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("run %v: %v", c.Args, err)
	}
	return r
}

func TestResultHoldsBothStreamsAndStatus(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       Result
	}{
		{"success", "echo out; echo err >&2", Result{Stdout: []byte("out\n"), Stderr: []byte("err\n")}},
		{"failure is data", "echo no >&2; exit 3", Result{Stderr: []byte("no\n"), Exit: 3}},
		{"ended by a signal", "kill -TERM $$", Result{Exit: 128 + 15}},
		{"killed", "kill -KILL $$", Result{Exit: 128 + 9}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, run(t, script(test.text))); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRelativePathIsNeverRun(t *testing.T) {
	for _, path := range []string{"sh", "./sh", ""} {
		if _, err := (Host{}).Run(t.Context(), Command{Path: path}); err == nil {
			t.Errorf("Path %q: no error", path)
		}
	}
}

func TestMissingProgramIsAnError(t *testing.T) {
	_, err := Host{}.Run(t.Context(), Command{Path: filepath.Join(t.TempDir(), "none")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want one that is ErrNotExist", err)
	}
}

func TestEnvironmentIsFixed(t *testing.T) {
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	t.Setenv("SENTINEL_CONFIG", "/tmp/evil")
	got := strings.Fields(string(run(t, Command{Path: "/usr/bin/env"}).Stdout))
	want := slices.Clone(environment)
	if os.Geteuid() == 0 && runtime.GOOS == "linux" {
		want = append(want, "TMPDIR=/run") // which no user can fill
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestProgramRunsInRootDir(t *testing.T) {
	if got := string(run(t, script("pwd")).Stdout); got != "/\n" {
		t.Errorf("working folder %q, want /", got)
	}
}

func TestStdinReachesProgramAndEnds(t *testing.T) {
	c := Command{Path: "/bin/cat", Stdin: []byte(`{"count":5}`)}
	if got := string(run(t, c).Stdout); got != `{"count":5}` {
		t.Errorf("cat printed %q", got)
	}
	if got := string(run(t, Command{Path: "/bin/cat"}).Stdout); got != "" {
		t.Errorf("cat of no stdin printed %q", got)
	}
}

func TestProgramThatIgnoresStdinIsNoError(t *testing.T) {
	c := script("exit 0")
	c.Stdin = make([]byte, 1<<20)
	if r := run(t, c); r.Exit != 0 {
		t.Errorf("exit %d, want 0", r.Exit)
	}
}

func TestOutputIsCutAtItsCap(t *testing.T) {
	for _, stream := range []string{"", " >&2"} {
		c := script("head -c 100000 /dev/zero" + stream)
		c.MaxOutput = 1000
		r, err := Host{}.Run(t.Context(), c)
		if !errors.Is(err, ErrOutputTooLarge) {
			t.Errorf("stream %q: error %v, want ErrOutputTooLarge", stream, err)
		}
		if got := max(len(r.Stdout), len(r.Stderr)); got != 1000 {
			t.Errorf("stream %q: kept %d bytes, want 1000", stream, got)
		}
	}
}

func TestOutputOfExactlyItsCapIsWhole(t *testing.T) {
	c := script("head -c 1000 /dev/zero")
	c.MaxOutput = 1000
	if got := len(run(t, c).Stdout); got != 1000 {
		t.Errorf("kept %d bytes, want 1000", got)
	}
}

func TestTimeoutEndsProgram(t *testing.T) {
	c := script("exec sleep 60")
	c.Timeout = 50 * time.Millisecond
	r, err := Host{}.Run(t.Context(), c)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want DeadlineExceeded", err)
	}
	if r.Exit != 128+int(syscall.SIGTERM) {
		t.Errorf("status %d, want that of SIGTERM", r.Exit)
	}
}

func TestDeadContextStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mark := filepath.Join(t.TempDir(), "mark")
	if _, err := (Host{}).Run(ctx, script("touch "+mark)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the program ran")
	}
}

// fifo creates a named pipe through which a program sends text to the test.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// heard returns what is written into the pipe until its last writer closes it.
func heard(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// background runs c until the returned function is called, which gives what Run returns.
func background(t *testing.T, c Command) func() (Result, error) {
	ctx, cancel := context.WithCancel(t.Context())
	var r Result
	done := make(chan error, 1)
	go func() {
		var err error
		r, err = Host{}.Run(ctx, c)
		done <- err
	}()
	return func() (Result, error) {
		cancel()
		err := <-done
		return r, err
	}
}

func TestCancelSendsTermSoThatProgramCanFinish(t *testing.T) {
	ready, last := fifo(t), fifo(t)
	stop := background(t, script(`trap 'echo asked >`+last+`; exit 0' TERM
		echo up >`+ready+`
		while :; do sleep 1; done`))
	heard(t, ready)
	word := make(chan string, 1)
	go func() { word <- heard(t, last) }()
	if _, err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
	if got := <-word; got != "asked" {
		t.Errorf("the program said %q, want asked", got)
	}
}

// TestCancelEndsGrandchildren starts a program whose child ignores SIGTERM and
// holds a pipe open: the pipe ends when the child does.
func TestCancelEndsGrandchildren(t *testing.T) {
	t.Parallel()
	ready, held := fifo(t), fifo(t)
	stop := background(t, script(`(trap '' TERM; exec 3>`+held+`; echo up >`+ready+`; exec sleep 600) &
		wait`))
	ended := make(chan string, 1)
	go func() { ended <- heard(t, held) }()
	heard(t, ready)
	if _, err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
	<-ended
}

func TestCancelReturnsAfterTheWaitDelay(t *testing.T) {
	outlives(t, func(c *Command) { c.WaitDelay = 10 * time.Millisecond })
}

// A thread in the kernel that waits for dead storage can neither be killed nor lets its process end; here
// the process does not want to.
func TestAnAnswerDoesNotWaitForAStuckProgram(t *testing.T) {
	ready := fifo(t)
	c := script(`trap '' TERM; echo $$ >` + ready + `; echo half; printf 'who'; echo le; while :; do sleep 1; done`)
	c.NoKill = true
	c.Whole = func(stdout []byte) bool { return string(stdout) == "half\nwhole\n" }
	ended := make(chan struct{})
	c.OnEnd = func() { close(ended) }
	var r Result
	var err error
	answered := make(chan struct{})
	go func() {
		r, err = Host{}.Run(t.Context(), c)
		close(answered)
	}()
	pid, perr := strconv.Atoi(heard(t, ready))
	if perr != nil {
		t.Fatal(perr)
	}
	select {
	case <-answered:
	case <-time.After(time.Minute):
		t.Error("the answer is kept back")
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
		t.Errorf("it was killed: %v", err)
	}
	<-ended
	<-answered
	if want := (Result{Stdout: []byte("half\nwhole\n")}); err != nil || !cmp.Equal(r, want) {
		t.Errorf("%v %+v", err, r)
	}
}

func TestAProgramThatEndsAfterItsAnswerHasItsStatus(t *testing.T) {
	c := script(`echo whole; echo why >&2; exit 3`)
	c.Whole = func(stdout []byte) bool { return string(stdout) == "whole\n" }
	if r, want := run(t, c), (Result{Stdout: []byte("whole\n"), Stderr: []byte("why\n"), Exit: 3}); !cmp.Equal(r, want) {
		t.Errorf("%+v", r)
	}
}

// outlives checks that a cancelled Run leaves a program that ignores SIGTERM running.
func outlives(t *testing.T, change func(*Command)) {
	t.Helper()
	ready := fifo(t)
	c := script(`trap '' TERM; echo $$ >` + ready + `; while :; do sleep 1; done`)
	change(&c)
	stop := background(t, c)
	pid, err := strconv.Atoi(heard(t, ready))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("Run returned after a SIGKILL (%v)", err)
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

func TestProgramThatIgnoresTermIsKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for the grace of five seconds")
	}
	ready := fifo(t)
	stop := background(t, script(`trap 'echo asked' TERM; echo up >`+ready+`; while :; do sleep 1; done`))
	heard(t, ready)
	r, err := stop()
	if !errors.Is(err, context.Canceled) || string(r.Stdout) != "asked\n" || r.Exit != 128+int(syscall.SIGKILL) {
		t.Errorf("error %v, printed %q, status %d; want Canceled, asked, that of SIGKILL", err, r.Stdout, r.Exit)
	}
}

// TestLeftBehindChildDoesNotHoldRunForever protects against a program that
// ends and leaves a child that keeps its output open.
func TestLeftBehindChildDoesNotHoldRunForever(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for the grace of five seconds")
	}
	held := fifo(t)
	ended := make(chan string, 1)
	go func() { ended <- heard(t, held) }()
	got := run(t, script(`(exec 3>`+held+`; exec sleep 600) & echo done; exit 0`))
	if diff := cmp.Diff(Result{Stdout: []byte("done\n")}, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	<-ended
}

func TestEndIsReportedOnceHoweverARunEnds(t *testing.T) {
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx context.Context
		c   Command
	}{
		"ended":       {t.Context(), script("exit 3")},
		"not started": {t.Context(), Command{Path: "/no/such/program"}},
		"relative":    {t.Context(), Command{Path: "sh"}},
		"too late":    {dead, script("exit 0")},
	} {
		calls := 0
		test.c.OnEnd = func() { calls++ }
		Host{}.Run(test.ctx, test.c)
		if calls != 1 {
			t.Errorf("%s: reported %d times, want once", name, calls)
		}
	}
}

// TestEndIsReportedWhenTheProgramIsGone has a program that outlives the
// WaitDelay of its command.
func TestEndIsReportedWhenTheProgramIsGone(t *testing.T) {
	ready := fifo(t)
	gone := make(chan struct{})
	c := script(`trap '' TERM; echo $$ >` + ready + `; while :; do sleep 1; done`)
	c.WaitDelay, c.OnEnd = 10*time.Millisecond, func() { close(gone) }
	stop := background(t, c)
	pid, err := strconv.Atoi(heard(t, ready))
	if err != nil {
		t.Fatal(err)
	}
	stop()
	select {
	case <-gone:
		t.Error("reported while the program lives")
	default:
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	<-gone
}

// TestProgramThatIsSparedOutlivesItsGrace protects sudo, whose child would go on
// as root without it.
func TestProgramThatIsSparedOutlivesItsGrace(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for the grace of five seconds")
	}
	outlives(t, func(c *Command) { c.NoKill = true })
}

// TestCancelledProgramHasItsLastWord ignores stderr: the shell may print there that sleep was ended
// too.
func TestCancelledProgramHasItsLastWord(t *testing.T) {
	ready := fifo(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := script(`exec 2>/dev/null; trap 'echo "rolled back"; exit 3' TERM; echo up >` + ready + `; while :; do sleep 0.1; done`)
	go func() {
		heard(t, ready)
		cancel()
	}()
	r, err := Host{}.Run(ctx, c)
	if diff := cmp.Diff(Result{Stdout: []byte("rolled back\n"), Exit: 3}, r); !errors.Is(err, context.Canceled) || diff != "" {
		t.Errorf("error %v, want Canceled; result (-want +got):\n%s", err, diff)
	}
}
