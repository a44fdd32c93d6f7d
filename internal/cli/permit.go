// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sentinel/internal/config"
	"sentinel/internal/elevation"
	"sentinel/internal/fault"
	"sentinel/internal/host/local"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
	"sentinel/internal/sysexec"
)

// permit refuses what the caller may not have done, before anything is looked
// at: a refusal must not tell what only root can see.
//
// The policy is enforced here, as root, and not only where requests come from: a
// caller who may use sudo can start sentinel without sentinel-mcp.
func (s session) permit(ctx context.Context, call invocation) error {
	op := call.op
	if op.Privilege == ops.NeedsRoot && !s.root {
		return fault.New(fault.PermissionDenied, op.Name+" needs root.").WithFix(s.permissionFix(ctx, call))
	}
	if call.request && call.args.Bool("end_session") && !s.config.Policy.EndSessions {
		const fix = "The administrator of this machine can allow it in /etc/sentinel/config.yaml with policy: {end_sessions: true}."
		return fault.New(fault.DisabledByPolicy, "end_session is off for programs until policy.end_sessions of this machine's configuration allows it.").WithFix(fix).WithToolFix(fix)
	}
	return refused(s.config.Policy, op, call.request, limited(s.who))
}

// refused returns why the policy does not let op run for a program, which asks by a request, or for
// whom it limits.
func refused(policy config.Policy, op ops.Operation, request, limits bool) error {
	switch {
	case op.OptIn && request && !slices.Contains(policy.EnabledTools, op.Name):
		fix := "The administrator of this machine can switch it on in /etc/sentinel/config.yaml with policy: {enabled_tools: [" + op.Name + "]}"
		return fault.New(fault.DisabledByPolicy, op.Name+" is off for programs until policy.enabled_tools of this machine's configuration names it.").WithFix(fix + ", or run it at a shell: sudo sentinel " + op.Spelled()).WithToolFix(fix + ".")
	case request || limits:
		return switchedOff(policy, op)
	default:
		return nil
	}
}

// switchedOff returns why the policy lets no program run op. A program is limited whoever runs it, and
// where it needs no root as well: what an administrator takes from models is not given to them by the
// account that they run under.
func switchedOff(policy config.Policy, op ops.Operation) error {
	switch {
	case slices.Contains(policy.DisabledTools, op.Name):
		return fault.New(fault.DisabledByPolicy, op.Name+" is switched off by policy.disabled_tools of this machine's configuration.")
	case policy.ReadOnly && op.Writes():
		return fault.New(fault.DisabledByPolicy, op.Name+" is refused: policy.read_only of this machine's configuration allows reading alone.")
	default:
		return nil
	}
}

// permissionFix says what helps whoever asked. An assistant cannot type a password; a person can, but
// not every person may.
func (s session) permissionFix(ctx context.Context, call invocation) string {
	at := s.situation(ctx)
	command := "sentinel " + call.typed()
	if call.force {
		command += " --force"
	}
	switch {
	case call.request:
		return at.Fix()
	case at.NoSudo:
		return "There is no sudo on this machine. Become root first, as with su, then run: " + command
	case !at.Member || s.mayRunAll(ctx, !at.Stale || len(call.unlisted()) > 0):
		return "Run it with sudo: sudo " + command
	case at.Installed != "":
		return "Run the sentinel that root has installed: " + at.Installed + strings.TrimPrefix(command, "sentinel")
	case at.Untrusted == nil && !at.Stale && len(call.unlisted()) > 0:
		return "The rules of sudo for " + elevation.Group + " have no form for " + strings.Join(call.unlisted(), ", ") + ": leave that out, or ask an administrator of this machine."
	default:
		return at.Fix()
	}
}

// situation is that of the user of this run.
func (s session) situation(ctx context.Context) elevation.Situation {
	own, err := s.binary()
	if err != nil {
		own = ""
	}
	return elevation.Look(ctx, elevation.Machine{
		Root: s.host.Root, OS: s.host.OS, Programs: s.host.Programs, Program: own, Trusted: s.trusted, UID: s.who.UID, Groups: s.groups,
	})
}

// fuller is the command with which the user of this run sees what only root can; "" if there is none.
func (p Program) fuller(ctx context.Context, call invocation) string {
	if _, tool := ops.ByName(call.op.Name); !tool || call.op.Privilege != ops.BetterRoot || call.op.Writes() || call.op.Object() != nil {
		return ""
	}
	s, err := p.session(call)
	if err != nil {
		return ""
	}
	return p.named(s.situation(ctx).Fuller(call.op.Name, p.command(call)))
}

// sudoLimit bounds a question to sudo, which may have to ask a directory server.
const sudoLimit = 5 * time.Second

// mayRunAll reports whether sudo lets the user run everything. Where it does not tell without a
// password, untold is the answer: that is likely for a member, except in a session that is older than
// the membership, to which sudo tells nothing either way.
func (s session) mayRunAll(ctx context.Context, untold bool) bool {
	r, err := s.host.Programs.Run(ctx, sysexec.Command{Path: elevation.Sudo, Args: []string{"-n", "-l"}, Timeout: sudoLimit, NoKill: true})
	if err != nil || r.Exit != 0 {
		return untold
	}
	return elevation.AllowsAll(string(r.Stdout))
}

// unlisted returns the options of call for which the rules of sudo have no form.
func (i invocation) unlisted() []string {
	var names []string
	for _, name := range []string{"config", "dry-run", "force", "limit"} {
		inRequest := slices.ContainsFunc(i.op.Fields, func(f ops.Field) bool { return f.Flag == name })
		if _, given := i.given[name]; given && !inRequest {
			names = append(names, "--"+name)
		}
	}
	return names
}

// preferredPlaces is how many runs at a time of one user behind sudo get a better place than all other
// processes. More would take the machine away from these.
const preferredPlaces = 4

// admit takes a place for this run among those of the user behind sudo.
func (p *Program) admit() (flush func() error, err error) {
	who := p.whoAsks(ops.Context{})
	if p.Admit == nil || !limited(who) {
		return func() error { return nil }, nil
	}
	place, flush, err := p.Admit(*who.SudoUID)
	switch {
	case errors.Is(err, local.ErrFull):
		return flush, fault.New(fault.RateLimited, "As many runs of sentinel as root as one user may have at a time are going on.").
			WithFix("Wait until some have ended; see what runs with: pgrep -a sentinel").WithToolFix("Call again in a moment, and make fewer calls at a time.")
	case errors.Is(err, local.ErrNotRelayed):
		return flush, fault.Wrap(fault.Unavailable, "Nothing was changed, because sudo could end this run in the middle of it", err).
			WithFix("Let one more process be started (pids.max of the control group), and take sentinel out of intercept and noexec in sudoers(5).")
	case err != nil:
		return flush, fault.Wrap(fault.Unsupported, "A file that the input or the output goes through could hold up what this run starts", err).
			WithFix("Have its input and output go through pipes.")
	case place >= preferredPlaces:
		p.Prefer = nil
	}
	return flush, nil
}

// writesPerMinute bounds what is not destructive: a caller could otherwise let
// in every blocked address within seconds, and fill the journal.
const writesPerMinute = 60

// sendsPerMinute bounds what is sent out on behalf of root.
const sendsPerMinute = 60

// rateLimit bounds the changes of those whom the policy limits; nil is no bound.
func (s session) rateLimit(op ops.Operation) *journal.Limit {
	switch {
	case !limited(s.who):
		return nil
	case op.Effect == ops.Destructive:
		return &journal.Limit{Most: s.config.Policy.DestructivePerMinute, Within: time.Minute, Counts: countsAs(ops.Destructive)}
	case op.Effect == ops.SendsOut:
		return &journal.Limit{Most: sendsPerMinute, Within: time.Minute, Counts: countsAs(ops.SendsOut)}
	default:
		return &journal.Limit{Most: writesPerMinute, Within: time.Minute, Counts: countsAs(ops.Destructive, ops.Write)}
	}
}

// perDay bounds what one user has written into the journal, whose oldest records are removed when it
// is full: it keeps 256 MB, and a change takes some 2 kB. Who could fill it would have it forget what
// they did within a day; so it takes them months.
const perDay = 2000

// dayLimit bounds the changes of a user whom the policy limits, and of nobody else: the share of
// others stays theirs.
func (s session) dayLimit() *journal.Limit {
	if !limited(s.who) {
		return nil
	}
	own := *s.who.SudoUID
	return &journal.Limit{Most: perDay, Within: 24 * time.Hour, Counts: func(r journal.Record) bool {
		return r.Who != nil && r.Who.SudoUID != nil && *r.Who.SudoUID == own
	}}
}

// countsAs counts what limited callers did of these effects.
func countsAs(effects ...ops.Effect) func(journal.Record) bool {
	return func(r journal.Record) bool {
		op, known := ops.ByName(r.Tool)
		return known && slices.Contains(effects, op.Effect) && r.Who != nil && limited(*r.Who)
	}
}
