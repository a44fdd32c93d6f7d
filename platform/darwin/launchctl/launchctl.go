// SPDX-License-Identifier: Apache-2.0

// Package launchctl asks launchd of macOS what it runs, and has it restart a job,
// through launchctl(1).
//
// Its output for people is all there is: the listings have changed between versions
// of macOS and are no interface. Only what has been seen in recordings of macOS 10.10 to 27 is
// relied on.
package launchctl

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
)

// program is where macOS has launchctl; nothing is looked up in a PATH.
const program = "/bin/launchctl"

const (
	// readLimit bounds one question; launchd answers in milliseconds.
	readLimit = 5 * time.Second
	// maxOutput is room for some thousand jobs, or for one with many endpoints.
	maxOutput = 1 << 20
	// maxText bounds a message, in characters.
	maxText = 200
)

// Codes of a [Failure] (xpc/launch error numbers, as "launchctl error" tells them, and
// errno).
const (
	NotPermitted  = 1   // not root, or a job that macOS restarts for nobody since 14.4
	NoProcess     = 3   // the job has no process
	InputOutput   = 5   // many things that went wrong
	NoDomain      = 112 // nobody with that user ID is logged in
	NoService     = 113
	Disabled      = 119
	UnsupportedIn = 125 // the domain does not know the action
	Guarded       = 150 // System Integrity Protection
)

// A Failure is what launchctl says when it has not done what it was asked for.
type Failure struct {
	Code int    // one of the above or another; the exit status where the text has none
	Text string // the last line of what it printed
}

// Error implements error.
func (f *Failure) Error() string {
	if f.Text == "" {
		return "launchctl ended with status " + strconv.Itoa(f.Code)
	}
	return "launchctl: " + f.Text
}

// A Client runs launchctl.
type Client struct{ Runner sysexec.Runner }

// Print reads one job by its target, DOMAIN/LABEL. It fails with a [*Failure],
// whose code is NoService or NoDomain when there is none.
func (c Client) Print(ctx context.Context, target string) (Job, error) {
	raw, err := c.run(ctx, readLimit, "print", target)
	if err != nil {
		return Job{}, err
	}
	return parsePrint(raw)
}

// List reads the jobs of the system for root, and those of the user for others.
func (c Client) List(ctx context.Context) ([]Entry, error) {
	raw, err := c.run(ctx, readLimit, "list")
	if err != nil {
		return nil, err
	}
	return parseList(raw)
}

// Disabled reads which labels of a domain have been switched off or on by hand.
func (c Client) Disabled(ctx context.Context, domain string) (map[string]bool, error) {
	raw, err := c.run(ctx, readLimit, "print-disabled", domain)
	if err != nil {
		return nil, err
	}
	return parseDisabled(raw)
}

// Restart ends the process of a job, if it has one, and starts it again. It
// returns when launchd has done so. launchd goes on when limit passes or ctx ends first.
func (c Client) Restart(ctx context.Context, target string, limit time.Duration) error {
	_, err := c.run(ctx, limit, "kickstart", "-k", target)
	return err
}

func (c Client) run(ctx context.Context, limit time.Duration, arguments ...string) ([]byte, error) {
	r, err := c.Runner.Run(ctx, sysexec.Command{Path: program, Args: arguments, Timeout: limit, MaxOutput: maxOutput})
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		return nil, failure(r)
	}
	return r.Stdout, nil
}

// failure reads messages such as
//
//	Could not kickstart service "com.example.a": 1: Operation not permitted
//	Bad request.
//	Could not find service "com.example.a" in domain for system
//
// The number in the text is the one that means something; the exit status is the
// same in what has been seen.
func failure(r sysexec.Result) error {
	text := strings.TrimSpace(string(r.Stderr))
	if text == "" {
		text = strings.TrimSpace(string(r.Stdout))
	}
	f := &Failure{Code: r.Exit, Text: sanitize.Text(text[strings.LastIndexByte(text, '\n')+1:], maxText)}
	parts := strings.Split(text, ": ")
	for _, part := range parts[:len(parts)-1] {
		if n := number(part[strings.LastIndexByte(part, '\n')+1:]); n > 0 {
			f.Code = n
		}
	}
	switch {
	case strings.Contains(text, "Could not find service "):
		f.Code = NoService
	case strings.Contains(text, "Could not find domain "):
		f.Code = NoDomain
	}
	return f
}

// errForm says that launchctl printed something else than was expected.
func errForm(what string) error { return fmt.Errorf("launchctl printed no %s", what) }
