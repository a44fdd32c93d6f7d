// SPDX-License-Identifier: Apache-2.0

// Package replay plays recorded runs of programs in tests.
//
// A transcript is a txtar file. Its comment names the command line, the exit
// status and where the recording came from; the files "stdout" and "stderr" hold the
// output:
//
//	argv: /usr/sbin/iptables-legacy-save -t filter
//	exit: 0
//	provenance: written after iptables 1.8.9
//	-- stdout --
//	*filter
//	...
//
// Both directions are checked: a command without a transcript fails the test,
// and so does a transcript that no command asked for.
package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"sentinel/internal/sysexec"
)

// A Runner answers commands from transcripts, each once, in any order.
type Runner struct {
	t    testing.TB
	mu   sync.Mutex
	left []transcript
}

var _ sysexec.Runner = (*Runner)(nil)

type transcript struct {
	file   string
	argv   string
	result sysexec.Result
	// failure is the reason why there is no result: "missing", "hang" or "flood".
	failure string
}

// New returns a Runner over the named files. When the test ends, a transcript
// that was not used is an error.
func New(t testing.TB, files ...string) *Runner {
	t.Helper()
	r := &Runner{t: t}
	for _, file := range files {
		one, err := load(file)
		if err != nil {
			t.Fatal(err)
		}
		r.left = append(r.left, one)
	}
	t.Cleanup(r.unused)
	return r
}

// Run implements [sysexec.Runner].
func (r *Runner) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	argv := strings.Join(append([]string{c.Path}, c.Args...), " ")
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, one := range r.left {
		if one.argv == argv {
			r.left = append(r.left[:i:i], r.left[i+1:]...)
			return c.Passed(one.result), nil
		}
	}
	r.t.Errorf("no transcript for %q; left are %q", argv, r.names())
	return sysexec.Result{}, errors.New("replay: no transcript for " + argv)
}

func (r *Runner) names() []string {
	var names []string
	for _, one := range r.left {
		names = append(names, one.argv)
	}
	return names
}

func (r *Runner) unused() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.left {
		r.t.Errorf("transcript %s was not used", one.file)
	}
}

func load(file string) (transcript, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return transcript{}, fmt.Errorf("read transcript: %w", err)
	}
	archive := txtar.Parse(raw)
	one := transcript{file: file}
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "argv":
			one.argv = value
		case "error":
			one.failure = value
		case "exit":
			if one.result.Exit, err = strconv.Atoi(value); err != nil {
				return transcript{}, fmt.Errorf("transcript %s: exit: %w", file, err)
			}
		}
	}
	for _, f := range archive.Files {
		switch f.Name {
		case "stdout":
			one.result.Stdout = f.Data
		case "stderr":
			one.result.Stderr = f.Data
		}
	}
	if one.argv == "" {
		return transcript{}, fmt.Errorf("transcript %s names no argv", file)
	}
	return one, nil
}
