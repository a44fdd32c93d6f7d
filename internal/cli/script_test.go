// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"sentinel/internal/host"
	"sentinel/internal/host/local"
	"sentinel/internal/journal"
	"sentinel/internal/testenv"
)

// The scripts run the program of this package as "sentinel", on this machine
// but with a state directory and a configuration of their own, so that no test leaves
// anything on the host.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sentinel": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(scripted().Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}})
}

func scripted() Program {
	work := os.Getenv("WORK")
	p := Program{
		Open:       func() (*host.Host, error) { return local.Open("/") },
		ConfigPath: filepath.Join(work, "etc", "config.yaml"),
		StateDir:   filepath.Join(work, "state"),
		Journal:    quietJournal(work),
		Root:       os.Getenv("AS_ROOT") != "",
		UID:        uid(),
		Getenv:     os.Getenv,
	}
	switch {
	case os.Getenv("MAC") != "":
		p.Open = func() (*host.Host, error) { return scriptedMac(work) }
		p.Own = func() (string, error) { return macOwn, nil }
	case os.Getenv("UNSUPPORTED") != "":
		p.Open = func() (*host.Host, error) { return nil, errors.ErrUnsupported }
	case os.Getenv("HOST_ROOT") != "":
		p.Open = func() (*host.Host, error) { return local.Open(os.Getenv("HOST_ROOT")) }
	}
	return p
}

// uid is that of an ordinary user unless a script wants root's rights.
func uid() int {
	if os.Getenv("AS_ROOT") != "" {
		return 0
	}
	if os.Getenv("MAC") != "" {
		return 501 // the first that a Mac has
	}
	return testenv.Nobody
}

// quietJournal is a journal of the test's own, whose heads go to a file and not to syslog.
func quietJournal(dir string) *journal.Journal {
	j := journal.New(filepath.Join(dir, "log"), filepath.Join(dir, "state"))
	j.Announce = func(_ context.Context, a journal.Announcement) {
		f, err := os.OpenFile(filepath.Join(dir, "heads.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return // the file that a script looks for is missing
		}
		defer f.Close()
		encode := base64.RawStdEncoding.EncodeToString
		fmt.Fprintf(f, "<86>Jan  1 00:00:00 host sentinel: journal head seq=%d hash=%s key=%s sig=%s first=%d first_sig=%s\n", a.Seq, a.Hash, encode(a.Key), encode(a.Signature), a.First, encode(a.FirstSignature))
	}
	return j
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Values[receiverKey("all")] = map[string]*scriptReceiver{}
			e.Setenv("HOSTS", filepath.Join(mustGetwd(t), "..", "..", "testdata", "hosts"))
			e.Setenv("MACS", filepath.Join(mustGetwd(t), "..", "..", "testdata", "macs"))
			e.Setenv("GOLDEN", filepath.Join(mustGetwd(t), "testdata", "mac"))
			if *update {
				e.Setenv("UPDATE", "yes")
			}
			// A directory that others can write is refused, and the one that
			// testscript makes is open to nobody else.
			return os.Chmod(e.WorkDir, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit": exits, "json": jsonField, "document": oneDocument, "golden": goldenDocument, "expected": expectedOf, "finding": findingOf, "transcript": transcript,
			"receiver": receives, "requests": requests, "signed": verifies, "expand": expand, "spoil": spoil,
		},
	})
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// exits runs "exit STATUS PROGRAM ARGS...": the exact status, not just failure.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	status := 0
	if exit, ok := errors.AsType[exitError](err); ok {
		status = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(status) != args[0] {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

// An exitError is an *exec.ExitError, by what is needed of it.
type exitError interface {
	error
	ExitCode() int
}

// oneDocument checks that stdout of the last command is exactly one JSON
// object on one line.
func oneDocument(ts *testscript.TestScript, _ bool, _ []string) {
	out := ts.ReadFile("stdout")
	if strings.Count(out, "\n") != 1 || !json.Valid([]byte(out)) || !strings.HasPrefix(out, "{") {
		ts.Fatalf("stdout is not one document: %q", out)
	}
}

// jsonField checks "json PATH VALUE" on stdout of the last command; PATH names
// members with dots, and VALUE "*" takes any that is there.
func jsonField(ts *testscript.TestScript, negated bool, args []string) {
	var value any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &value))
	there := true
	for name := range strings.SplitSeq(args[0], ".") {
		object, ok := value.(map[string]any)
		if value, there = object[name]; !ok || !there {
			there = false
			break
		}
	}
	matches := there && (args[1] == "*" || fmt.Sprint(value) == args[1])
	if matches == negated {
		ts.Fatalf("%s is %v (there: %v), want %s", args[0], value, there, args[1])
	}
}
