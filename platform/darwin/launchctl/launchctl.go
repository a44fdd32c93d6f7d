// SPDX-License-Identifier: Apache-2.0

// Package launchctl queries the jobs of launchd, and restarts them, through launchctl(1).
//
// launchctl has only output for people, which is not an interface and has changed between versions
// of macOS. This package relies only on forms that are in recordings of macOS 10.10 to 27.
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

// program is the path of launchctl; PATH is not searched.
const program = "/bin/launchctl"

const (
	// readLimit bounds one query; launchd answers in milliseconds.
	readLimit = 5 * time.Second
	// maxOutput is enough for a few thousand jobs, or for one with many endpoints.
	maxOutput = 1 << 20
	// maxText bounds a message, in characters.
	maxText = 200
)

// Codes of a [Failure] (xpc/launch error numbers, as "launchctl error" lists them, and errno).
const (
	NotPermitted      = 1   // not root, or a job that nobody may restart since macOS 14.4
	NoProcess         = 3   // the job has no process
	InputOutput       = 5   // an unspecific failure
	NoDomain          = 112 // no user with that ID is logged in
	NoService         = 113
	Disabled          = 119
	UnsupportedAction = 125 // the domain does not support the action
	ProtectedBySIP    = 150 // System Integrity Protection
)

// A Failure is an error that launchctl reported.
type Failure struct {
	Code int    // one of the above or another; the exit status if the text has none
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

// Print reads one job by its target, DOMAIN/LABEL. If there is no such job, it fails with a
// [*Failure] whose code is NoService or NoDomain.
func (c Client) Print(ctx context.Context, target string) (Job, error) {
	raw, err := c.run(ctx, readLimit, "print", target)
	if err != nil {
		return Job{}, err
	}
	return parsePrint(raw)
}

// List reads the jobs of the system if run as root, otherwise those of the user.
func (c Client) List(ctx context.Context) ([]Entry, error) {
	raw, err := c.run(ctx, readLimit, "list")
	if err != nil {
		return nil, err
	}
	return parseList(raw)
}

// Disabled reads which labels of a domain were explicitly disabled (true) or enabled (false).
func (c Client) Disabled(ctx context.Context, domain string) (map[string]bool, error) {
	raw, err := c.run(ctx, readLimit, "print-disabled", domain)
	if err != nil {
		return nil, err
	}
	return parseDisabled(raw)
}

// Restart ends the process of a job, if it has one, and starts it again. It returns when launchd
// has done so. If limit passes or ctx ends first, launchd still completes it.
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
// The number in the text is the error; in all recordings the exit status is the same.
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

// unexpectedOutput reports that launchctl printed something unexpected.
func unexpectedOutput(what string) error { return fmt.Errorf("launchctl printed no %s", what) }
