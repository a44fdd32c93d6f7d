// SPDX-License-Identifier: Apache-2.0

// Package pfctl reads the state of macOS's packet filter, and changes single anchors and tables,
// through pfctl(8). It never turns pf on or off for others (-e, -d), never loads the main ruleset,
// and writes no file.
//
// pfctl prints listings on stdout, and everything else on stderr: two lines about ALTQ, which its
// kernel lacks, with most commands; a warning about -f when all is well; counts of changes; the
// token of -E; and errors. So neither output on stderr nor the exit status alone indicates a
// failure.
package pfctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
)

// Program is the path of pfctl since Mac OS X 10.7.
const Program = "/sbin/pfctl"

// Limits of the time and output of one run. The output, in bytes, may be a full table and as much
// again for other anchors.
const (
	limit     = 10 * time.Second
	maxOutput = 16 << 20
)

// ErrNotRoot reports that only root may use pf. It matches fs.ErrPermission.
var ErrNotRoot = fmt.Errorf("only root may use pf: %w", fs.ErrPermission)

// ErrMissing reports that there is no such anchor or table.
var ErrMissing = errors.New("pf has no such anchor or table")

// ErrNotHeld reports that a token no longer refers to a reference: the Mac was restarted, or
// somebody dropped all references with "pfctl -d".
var ErrNotHeld = errors.New("pf does not know this reference")

// An Error is a failure that pfctl reported.
type Error struct {
	Exit    int
	Message string // its last words
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("pfctl ended with status %d: %s", e.Exit, e.Message)
}

// A Tool runs pfctl. It is safe for concurrent use.
type Tool struct {
	runner sysexec.Runner
}

// New returns a Tool. It runs nothing.
func New(runner sysexec.Runner) Tool { return Tool{runner} }

// Enabled reports whether pf is on.
func (t Tool) Enabled(ctx context.Context) (bool, error) {
	r, err := t.run(ctx, nil, "-s", "info")
	if err != nil {
		return false, err
	}
	return ParseEnabled(r.Stdout)
}

// Rules lists the filter rules of an anchor, or of the main ruleset for "", in order and with
// single blanks. A missing anchor has none.
func (t Tool) Rules(ctx context.Context, anchor string) ([]string, error) {
	args := []string{"-s", "rules"}
	if anchor != "" {
		args = append([]string{"-a", anchor}, args...)
	}
	r, err := t.run(ctx, nil, args...)
	if errors.Is(err, ErrMissing) {
		return nil, nil
	}
	return ParseRules(r.Stdout), err
}

// Anchors lists the paths of all anchors below one, or of all for "".
func (t Tool) Anchors(ctx context.Context, anchor string) ([]string, error) {
	args := []string{"-v", "-s", "Anchors"}
	if anchor != "" {
		args = append([]string{"-a", anchor}, args...)
	}
	r, err := t.run(ctx, nil, args...)
	if errors.Is(err, ErrMissing) {
		return nil, nil
	}
	return ParseAnchors(r.Stdout), err
}

// Load replaces the rules of an anchor. A table that rules declare without addresses keeps its
// current ones.
func (t Tool) Load(ctx context.Context, anchor, rules string) error {
	// The last line needs a newline; otherwise pfctl reports a syntax error.
	_, err := t.run(ctx, []byte(strings.TrimRight(rules, "\n")+"\n"), "-a", anchor, "-f", "-")
	return err
}

// FlushRules removes the filter rules of an anchor, which must not be the main
// ruleset.
func (t Tool) FlushRules(ctx context.Context, anchor string) error {
	return t.flush(ctx, anchor, "rules")
}

// FlushTables removes the tables of an anchor.
func (t Tool) FlushTables(ctx context.Context, anchor string) error {
	return t.flush(ctx, anchor, "Tables")
}

func (t Tool) flush(ctx context.Context, anchor, what string) error {
	if anchor == "" {
		return errors.New("the main ruleset is not flushed")
	}
	_, err := t.run(ctx, nil, "-a", anchor, "-F", what)
	if errors.Is(err, ErrMissing) {
		return nil
	}
	return err
}

// Table lists the addresses of a table. It fails with [ErrMissing] if there is no such table.
func (t Tool) Table(ctx context.Context, anchor, table string) ([]netip.Addr, error) {
	r, err := t.run(ctx, nil, "-a", anchor, "-t", table, "-T", "show")
	if err != nil {
		return nil, err
	}
	return ParseTable(r.Stdout)
}

// AddTo adds addresses to a table, all or none (DIOCRADDADDRS is atomic). Addresses already in the
// table stay.
func (t Tool) AddTo(ctx context.Context, anchor, table string, addresses []netip.Addr) error {
	return t.change(ctx, anchor, table, "add", addresses)
}

// DeleteFrom deletes addresses from a table, all or none. Missing addresses, or a missing table,
// are not an error.
func (t Tool) DeleteFrom(ctx context.Context, anchor, table string, addresses []netip.Addr) error {
	err := t.change(ctx, anchor, table, "delete", addresses)
	if errors.Is(err, ErrMissing) {
		return nil
	}
	return err
}

// change passes the addresses over stdin, which does not limit their number.
func (t Tool) change(ctx context.Context, anchor, table, verb string, addresses []netip.Addr) error {
	var list bytes.Buffer
	for _, a := range addresses {
		if !a.IsValid() || a.Zone() != "" {
			return fmt.Errorf("a table of pf takes no address such as %q", a)
		}
		list.WriteString(a.Unmap().String() + "\n")
	}
	_, err := t.run(ctx, list.Bytes(), "-a", anchor, "-t", table, "-T", verb, "-f", "-")
	return err
}

// Enable turns pf on, or keeps it on, by taking a new reference, which the token identifies.
func (t Tool) Enable(ctx context.Context) (token uint64, err error) {
	r, err := t.run(ctx, nil, "-E")
	if err != nil {
		return 0, err
	}
	return ParseToken(r.Stderr)
}

// Release drops a reference. pf turns off with the last one. It fails with [ErrNotHeld] if pf does
// not know the token.
func (t Tool) Release(ctx context.Context, token uint64) error {
	_, err := t.run(ctx, nil, "-X", strconv.FormatUint(token, 10))
	return err
}

// References lists the tokens of all references that keep pf on.
func (t Tool) References(ctx context.Context) ([]uint64, error) {
	r, err := t.run(ctx, nil, "-s", "References")
	if err != nil {
		return nil, err
	}
	return ParseReferences(r.Stdout)
}

// Kill drops pf's states of the connections with an address, in either direction, so that their
// packets are matched against the rules again. It returns the number of states.
func (t Tool) Kill(ctx context.Context, address netip.Addr) (int, error) {
	address = address.Unmap().WithZone("")
	if !address.IsValid() {
		return 0, errors.New("no address")
	}
	all := "0.0.0.0/0"
	if address.Is6() {
		all = "::/0"
	}
	killed := 0
	for _, args := range [][]string{{"-k", address.String()}, {"-k", all, "-k", address.String()}} {
		r, err := t.run(ctx, nil, args...)
		if err != nil {
			return killed, err
		}
		n, err := ParseKilled(r.Stderr)
		if err != nil {
			return killed, err
		}
		killed += n
	}
	return killed, nil
}

// run runs pfctl and translates its failures. Notices are not failures.
func (t Tool) run(ctx context.Context, stdin []byte, args ...string) (sysexec.Result, error) {
	r, err := t.runner.Run(ctx, sysexec.Command{Path: Program, Args: args, Stdin: stdin, Timeout: limit, MaxOutput: maxOutput})
	if err != nil {
		return r, err
	}
	return r, failure(r)
}

// failure determines whether a run failed. An error message overrides status 0: listing a missing
// anchor prints one and still exits with 0.
func failure(r sysexec.Result) error {
	said := complaints(r.Stderr)
	text := strings.Join(said, "; ")
	switch {
	case strings.Contains(text, "/dev/pf: Permission denied"):
		return ErrNotRoot
	case strings.Contains(text, "Table does not exist"), strings.Contains(text, "Anchor or Ruleset does not exist"),
		strings.Contains(text, "DIOCGETRULES: Invalid argument"), strings.Contains(text, "DIOCGETRULESETS: Invalid argument"):
		return ErrMissing
	case strings.Contains(text, "pf not enabled"), strings.Contains(text, "token invalid"):
		return ErrNotHeld
	case r.Exit != 0, len(said) > 0:
		if text == "" {
			text = "no message"
		}
		return &Error{r.Exit, sanitize.Text(text, 300)}
	default:
		return nil
	}
}

// complaints returns the lines of stderr that are errors: those that begin with the name of the
// program, and syntax errors in rules.
func complaints(said []byte) []string {
	var list []string
	for line := range strings.Lines(string(said)) {
		line = strings.TrimSpace(line)
		name, rest, _ := strings.Cut(line, ": ")
		program := name == "pfctl" && !slices.ContainsFunc(notices, func(n string) bool { return strings.HasPrefix(rest, n) })
		if program || strings.HasSuffix(line, ": syntax error") {
			list = append(list, strings.TrimPrefix(line, "pfctl: "))
		}
	}
	return list
}

// notices are lines that pfctl prints under its own name although nothing is wrong.
var notices = []string{
	"Use of -f option, could result in flushing of rules",
	"warning: namespace collision",
}
