// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"

	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
	"sentinel/internal/lockfile"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/pfctl"
)

// Our anchor and the table in it. The stock /etc/pf.conf has packets meet
// every anchor right below com.apple, in the order of their names, so that a filter rule there
// is in force without a change to that file; the digits make ours the first. An anchor
// beside com.apple would be loaded and never looked at.
const (
	anchor = "com.apple/000.Sentinel"
	table  = "sentinel"
)

// ownRules make up the anchor. Without a direction a rule is for both, and what
// is forwarded is seen twice. A table that is declared without addresses keeps those it has.
var ownRules = "table <sentinel> persist\n" +
	neighbourRules() +
	"block drop quick from <sentinel> to any\n" +
	"block drop quick from any to <sentinel>\n"

// sideEffect is what the kernel makes of rules in an anchor that is not Apple's own
// (xnu, pf_check_compatible_rules in bsd/net/pf.c and pf_process_compatibilities in
// bsd/net/pf_ioctl.c).
const sideEffect = "As long as any address is blocked, macOS keeps iCloud Private Relay and its network stack in user space switched off, as for every rule of pf that is not Apple's."

// batch is how many addresses one change takes.
const batch = 1000

// Parts are what the backend is made of.
type Parts struct {
	Runner sysexec.Runner
	// StateDir is the directory of state, where the reference that keeps pf on is
	// remembered.
	StateDir string
	EUID     int // effective user of this run
}

// PF is the backend over pfctl(8). It is safe for concurrent use, by several
// processes too: changes wait for each other.
//
// pf has neither an end for an address nor transactions over anchors and references. Every
// change is made in an order in which a crash leaves too little rather than a useless rule: pf
// on, then the rules, then the addresses; in reverse order to undo it.
type PF struct {
	tool      pfctl.Tool
	reference referenceFile
	euid      int
}

var (
	_ blocklist.Backend     = (*PF)(nil)
	_ blocklist.Preflighter = (*PF)(nil)
)

// DetectBackend returns the backend. Without pfctl the error is FIREWALL_UNAVAILABLE.
// It runs one program and changes nothing. Whether packets meet our anchor is for
// [PF.Ready] to say: an address can be unblocked even where they do not.
func DetectBackend(ctx context.Context, p Parts) (blocklist.Backend, error) {
	b := NewPF(p)
	_, err := b.tool.Enabled(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noPF(err)
	}
	return b, ctx.Err() // the first operation says what else is wrong
}

// NewPF returns the backend without asking whether there is pf.
func NewPF(p Parts) *PF {
	return &PF{tool: pfctl.New(p.Runner), reference: newReferenceFile(p.StateDir), euid: p.EUID}
}

// Name implements [blocklist.Backend].
func (*PF) Name() string { return "pf" }

// Abilities implements [blocklist.Backend].
func (*PF) Abilities() blocklist.Abilities {
	return blocklist.Abilities{Directions: []string{"in", "out", "forward"}, SideEffect: sideEffect}
}

// Ready implements [blocklist.Preflighter].
func (p *PF) Ready(ctx context.Context) error {
	why, err := p.bypass(ctx)
	if err != nil {
		return p.failure("pf could not be read", err)
	}
	return why.fault()
}

// Add implements [blocklist.Backend]. The time that a block has left is not
// kept.
func (p *PF) Add(ctx context.Context, blocks []blocklist.Block) error {
	addresses, err := distinct(blocks)
	if err != nil || len(addresses) == 0 {
		return err
	}
	if err := p.Ready(ctx); err != nil {
		return err
	}
	release, err := p.reference.lock(ctx)
	if err != nil {
		return p.failure("The state of pf could not be locked", err)
	}
	defer release()
	if err := p.prepare(ctx); err != nil {
		return err
	}
	var failed error
	for part := range slices.Chunk(addresses, batch) {
		if err := p.tool.AddTo(ctx, anchor, table, part); err != nil {
			failed = errors.Join(failed, p.failure("pf did not take the addresses", err))
		}
	}
	return failed
}

// prepare makes sure that pf is on and has our rules, and reads both back.
func (p *PF) prepare(ctx context.Context) error {
	if err := p.holdReference(ctx); err != nil {
		return p.failure("pf could not be switched on", err)
	}
	on, err := p.tool.Enabled(ctx)
	if err != nil {
		return p.failure("pf could not be read", err)
	}
	if !on {
		return fault.New(fault.FirewallFailed, "pf was switched on and is off.").
			WithFix("Another program may switch it off. Look at: sudo pfctl -s References")
	}
	return p.repair(ctx)
}

// repair loads our rules where they are missing or changed.
func (p *PF) repair(ctx context.Context) error {
	rules, err := p.tool.Rules(ctx, anchor)
	if err != nil {
		return p.failure("pf could not be read", err)
	}
	_, err = p.tool.Table(ctx, anchor, table)
	if err != nil && !errors.Is(err, pfctl.ErrMissing) {
		return p.failure("pf could not be read", err)
	}
	if err == nil && rulesInPlace(rules) {
		return nil
	}
	if err := p.tool.Load(ctx, anchor, ownRules); err != nil {
		return p.loadError(err)
	}
	if rules, err = p.tool.Rules(ctx, anchor); err != nil {
		return p.failure("pf could not be read back", err)
	}
	if !rulesInPlace(rules) {
		return fault.New(fault.PFReloadFailed, "pf took the rules and does not show them.")
	}
	return nil
}

// loadError gives the failure to load the rules its code.
func (p *PF) loadError(err error) error {
	if _, ok := errors.AsType[*pfctl.Error](err); ok {
		return fault.Wrap(fault.PFReloadFailed, "pf did not take the rules", err)
	}
	return p.failure("pf did not take the rules", err)
}

// Remove implements [blocklist.Backend]. With the last address go the rules and
// the reference that kept pf on.
func (p *PF) Remove(ctx context.Context, addresses []netip.Addr) error {
	addresses, err := distinct(blocklist.BlocksOf(addresses))
	if err != nil || len(addresses) == 0 {
		return err
	}
	release, err := p.reference.lock(ctx)
	if err != nil {
		return p.failure("The state of pf could not be locked", err)
	}
	defer release()
	for part := range slices.Chunk(addresses, batch) {
		if err := p.tool.DeleteFrom(ctx, anchor, table, part); err != nil {
			return p.failure("pf did not let go of the addresses", err)
		}
	}
	left, err := p.tool.Table(ctx, anchor, table)
	missing := errors.Is(err, pfctl.ErrMissing)
	if err != nil && !missing {
		return p.failure("pf could not be read back", err)
	}
	if len(left) > 0 {
		return nil
	}
	return p.removeOwn(ctx, !missing)
}

// removeOwn gives up what is of no use without addresses. The reference goes last:
// the kernel looks whether rules other than Apple's are left when pf stops, and not when a table
// goes, so that the other order would leave [sideEffect] behind.
func (p *PF) removeOwn(ctx context.Context, loaded bool) error {
	if loaded {
		if err := p.tool.FlushRules(ctx, anchor); err != nil {
			return p.failure("The rules could not be removed from pf", err)
		}
		if err := p.tool.FlushTables(ctx, anchor); err != nil {
			return p.failure("The table could not be removed from pf", err)
		}
	}
	if err := p.releaseReference(ctx); err != nil {
		return p.failure("The reference that keeps pf on could not be given back", err)
	}
	return nil
}

// Loaded implements [blocklist.Backend].
func (p *PF) Loaded(ctx context.Context) ([]blocklist.Block, bool, error) {
	addresses, err := p.tool.Table(ctx, anchor, table)
	if errors.Is(err, pfctl.ErrMissing) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, p.failure("pf could not be read", err)
	}
	effective, err := p.effective(ctx)
	if err != nil {
		return nil, false, p.failure("pf could not be read", err)
	}
	return blocklist.BlocksOf(addresses), effective, nil
}

// effective says that pf is on, that packets meet our anchor, and that our rules
// are in it.
func (p *PF) effective(ctx context.Context) (bool, error) {
	on, err := p.tool.Enabled(ctx)
	if err != nil || !on {
		return false, err
	}
	rules, err := p.tool.Rules(ctx, anchor)
	if err != nil || !rulesInPlace(rules) {
		return false, err
	}
	why, err := p.bypass(ctx)
	return why.none(), err
}

// distinct returns the addresses of blocks, checked and each once.
func distinct(blocks []blocklist.Block) ([]netip.Addr, error) {
	blocks, err := blocklist.Distinct(blocks)
	addresses := make([]netip.Addr, len(blocks))
	for i, b := range blocks {
		addresses[i] = b.Address
	}
	return addresses, err
}

// failure gives a failure its code.
func (p *PF) failure(what string, err error) error {
	var known *fault.Error
	var busy lockfile.BusyError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", what, err)
	case errors.As(err, &busy):
		return fault.Wrap(fault.Unavailable, what, err).WithFix(busy.Fix())
	case errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrPermission) && p.euid != 0:
		return fault.New(fault.PermissionDenied, "Only root can use the packet filter.")
	case errors.Is(err, fs.ErrPermission):
		return fault.Wrap(fault.FirewallFailed, "The system does not let even root use pf here", err).
			WithFix("A configuration profile or a sandbox may forbid it. See what is said to: sudo pfctl -s info")
	case errors.Is(err, fs.ErrNotExist):
		return noPF(err)
	default:
		return fault.Wrap(fault.FirewallFailed, what, err)
	}
}

func noPF(err error) error {
	return fault.Wrap(fault.FirewallUnavailable, "pf cannot be used", err).
		WithFix("pf and " + pfctl.Program + " are part of macOS; repair the system if they are missing.")
}
