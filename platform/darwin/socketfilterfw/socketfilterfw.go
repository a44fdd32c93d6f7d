// SPDX-License-Identifier: Apache-2.0

// Package socketfilterfw reads the state of macOS's Application Firewall and turns it on and off,
// through socketfilterfw(8). It never reads the firewall's preference file, which macOS 15 and
// later do not keep up to date.
package socketfilterfw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
)

// Program is the path of the tool since Mac OS X 10.5.
const Program = "/usr/libexec/ApplicationFirewall/socketfilterfw"

// Limits of one run: time for a query, time for a change, and bytes of output.
const (
	askLimit    = 4 * time.Second
	changeLimit = 8 * time.Second
	maxPrinted  = 1 << 20
)

// ErrManaged reports that a configuration profile controls the firewall. The tool then says so with
// exit status 0 and changes nothing.
var ErrManaged = errors.New("a configuration profile manages the firewall of this Mac")

// ErrNotRoot reports that only root may change settings. It matches fs.ErrPermission.
var ErrNotRoot = fmt.Errorf("only root can change the settings of the Application Firewall: %w", fs.ErrPermission)

// A Tool runs socketfilterfw. It is safe for concurrent use.
type Tool struct {
	runner sysexec.Runner
}

// New returns a Tool. It runs nothing.
func New(runner sysexec.Runner) Tool { return Tool{runner} }

// State queries everything at once, and then one by one whatever that version of the tool left out.
// It fails if the global state is not reported; other unknown fields are nil.
func (t Tool) State(ctx context.Context) (State, error) {
	printed, err := t.run(ctx, askLimit, "--getglobalstate", "--getblockall", "--getallowsigned", "--getstealthmode")
	if err != nil {
		return State{}, err
	}
	s := ParseState(printed)
	for _, one := range []struct {
		option  string
		missing bool
	}{
		{"--getglobalstate", s.Global == GlobalUnknown},
		{"--getblockall", s.BlockAll == nil},
		{"--getallowsigned", s.AllowSigned == nil},
		{"--getstealthmode", s.Stealth == nil},
	} {
		if !one.missing {
			continue
		}
		if printed, err = t.run(ctx, askLimit, one.option); err == nil {
			s = s.merge(ParseState(printed))
		} else if one.option == "--getglobalstate" {
			return State{}, err
		}
	}
	if s.Global == GlobalUnknown {
		return State{}, errors.New("socketfilterfw does not report the state of the Application Firewall")
	}
	return s, nil
}

// Apps lists the programs for which the firewall has a rule.
func (t Tool) Apps(ctx context.Context) ([]App, error) {
	printed, err := t.run(ctx, askLimit, "--listapps")
	if err != nil {
		return nil, err
	}
	return ParseApps(printed)
}

// Rule returns the rule of one program, by its path, or [RuleUnknown] if it is not on the list.
func (t Tool) Rule(ctx context.Context, program string) (Rule, error) {
	if !strings.HasPrefix(program, "/") {
		return RuleUnknown, fmt.Errorf("%q is not the absolute path of a program", program)
	}
	printed, err := t.run(ctx, askLimit, "--getappblocked", program)
	if err != nil {
		return RuleUnknown, err
	}
	return ParseRule(printed), nil
}

// SetGlobal turns the firewall on or off. The absence of an error proves nothing: macOS 26 prints
// nothing in either case, so the caller has to read the state back.
func (t Tool) SetGlobal(ctx context.Context, on bool) error {
	word := "off"
	if on {
		word = "on"
	}
	_, err := t.run(ctx, changeLimit, "--setglobalstate", word)
	return err
}

// Allow adds a program to the list, if it is missing, and allows connections to it.
func (t Tool) Allow(ctx context.Context, program string) error {
	if err := t.change(ctx, "--add", program); err != nil {
		return err
	}
	return t.change(ctx, "--unblockapp", program)
}

// Remove removes a program from the list.
func (t Tool) Remove(ctx context.Context, program string) error {
	return t.change(ctx, "--remove", program)
}

func (t Tool) change(ctx context.Context, option, program string) error {
	if !strings.HasPrefix(program, "/") {
		return fmt.Errorf("%q is not the absolute path of a program", program)
	}
	_, err := t.run(ctx, changeLimit, option, program)
	return err
}

// run returns stdout. A refusal is an error whatever the exit status.
func (t Tool) run(ctx context.Context, limit time.Duration, args ...string) ([]byte, error) {
	r, err := t.runner.Run(ctx, sysexec.Command{Path: Program, Args: args, MaxOutput: maxPrinted, Timeout: limit})
	if err != nil {
		return nil, err
	}
	if err := refusal(r); err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		return nil, fmt.Errorf("socketfilterfw %s ended with %d: %s", args[0], r.Exit, sanitize.Text(lastLine(r), 200))
	}
	return r.Stdout, nil
}

// refusal recognizes the messages with which the tool refuses a change. They are on stdout or
// stderr, depending on the version.
func refusal(r sysexec.Result) error {
	for _, said := range [][]byte{r.Stdout, r.Stderr} {
		text := strings.ToLower(string(said))
		switch {
		case strings.Contains(text, "cannot be modified from command line"):
			return ErrManaged
		case strings.Contains(text, "must be root"):
			return ErrNotRoot
		}
	}
	return nil
}

// lastLine returns the last line on stderr, or on stdout if stderr is empty.
func lastLine(r sysexec.Result) string {
	said := strings.TrimSpace(string(r.Stderr))
	if said == "" {
		said = strings.TrimSpace(string(r.Stdout))
	}
	if said == "" {
		return "no message"
	}
	return said[strings.LastIndexByte(said, '\n')+1:]
}
