// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// An UnblockPlan is an unblock that has passed every check.
//
// What a crash leaves, by the last step before it:
//
//	nothing written      nothing has happened
//	file written         dropped and not listed: the list says so, unblocking it
//	                     again works, and Restore lifts it
//	kernel changed       unblocked; only the answer is missing
//
// The file comes first here too: were it the kernel, the next Restore would bring
// back a block that somebody wanted gone.
type UnblockPlan struct {
	list    *List
	address netip.Addr
	force   bool
	stored  entry
	listed  bool
	backend Backend
	known   fileContent
	before  addrState
	damage  *damagedError
	// listErr is why the file cannot be used, which force ignores.
	listErr error
}

// UnblockResult says what became of an unblock.
type UnblockResult struct {
	IP      string `json:"ip"`      // the address that may come in again
	Backend string `json:"backend"` // the packet filter
	// Was is the block that was lifted; absent when only the packet filter knew
	// of it.
	Was      *Row     `json:"was,omitempty"`
	Warnings []string `json:"warnings"` // what does not stop it and should be known
}

// PlanUnblock checks everything about an unblock and changes nothing. An address
// that only the kernel drops counts as blocked. It fails with INVALID_IP,
// NOT_BLOCKED, FIREWALL_UNAVAILABLE, and with STATE_CORRUPT for a file that cannot be relied
// on. force lifts the block in the kernel even where the list cannot be read or written.
func (l *List) PlanUnblock(ctx context.Context, address string, force bool) (*UnblockPlan, error) {
	a, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	u := &UnblockPlan{list: l, address: a, force: force}
	if err := u.check(ctx); err != nil {
		return nil, err
	}
	return u, nil
}

func (u *UnblockPlan) check(ctx context.Context) (err error) {
	if u.backend, err = u.list.filter(ctx); err != nil {
		return err
	}
	u.damage, u.stored, u.listed = nil, entry{}, false
	u.known, err = u.list.readOrAdopt(ctx, u.backend, u.known)
	if errors.As(err, &u.damage) && u.listErr == nil {
		return nil
	}
	if err != nil && !u.force {
		return err
	}
	if err != nil {
		u.listErr = err
	}
	if u.before, err = findInFilter(ctx, u.backend, u.address); err != nil {
		return err
	}
	return u.decide()
}

func (u *UnblockPlan) decide() error {
	u.stored, u.listed = findEntry(u.known.entries, u.address)
	u.listed = u.listed && !u.known.missing
	switch {
	case u.before.found, u.listed && !u.stored.over(u.list.now()):
		return nil
	case u.listErr != nil:
		return u.listErr
	default:
		return fault.New(fault.NotBlocked, fmt.Sprintf("%s is not blocked by sentinel.", u.address)).
			WithFix("Another firewall may block it. See what sentinel blocks with: sentinel --list-blocked")
	}
}

// Address returns the address in its canonical form.
func (u *UnblockPlan) Address() string { return u.address.String() }

// Preview returns what Do is expected to return.
func (u *UnblockPlan) Preview() UnblockResult { return u.answer(true) }

// Summary says in a sentence what Do would do.
func (u *UnblockPlan) Summary() string {
	switch {
	case u.damage != nil && !u.force:
		return fmt.Sprintf("Would set the damaged list of blocked addresses aside, report it, and not unblock %s until asked again.", u.address)
	case u.listed:
		return fmt.Sprintf("Would let %s in again, which is blocked by %s %s.", u.address, sanitize.Quoted(u.stored.author(), maxText), until(u.stored.Ends))
	default:
		return fmt.Sprintf("Would let %s in again, which the packet filter drops.", u.address)
	}
}

// Do carries it out and reads it back. Until the list is written it ends with
// ctx; after that it finishes or takes back what it did.
func (u *UnblockPlan) Do(ctx context.Context) (UnblockResult, error) {
	release, err := u.list.lock(ctx)
	if err != nil && (!u.force || ctx.Err() != nil) {
		return UnblockResult{}, err
	}
	if err == nil {
		defer release()
	}
	u.listErr = err
	if err := u.ready(ctx); err != nil {
		return UnblockResult{}, err
	}
	if err := ctx.Err(); err != nil {
		return UnblockResult{}, err
	}
	ctx, cancel := detached(ctx, doLimit)
	defer cancel()
	return u.apply(ctx)
}

// ready checks once more. A damaged file is quarantined, after which only force
// goes on.
func (u *UnblockPlan) ready(ctx context.Context) error {
	if err := u.check(ctx); err != nil || u.damage == nil || u.listErr != nil {
		return err
	}
	u.listErr = u.list.quarantine(u.damage)
	if !u.force {
		return u.listErr
	}
	return u.check(ctx)
}

func (u *UnblockPlan) apply(ctx context.Context) (UnblockResult, error) {
	written, err := u.delist()
	if err != nil && !u.force {
		return UnblockResult{}, notWritten(err)
	}
	if err != nil {
		u.listErr = err
	}
	if err := u.removeFromBackend(ctx); err != nil {
		if written {
			err = withRollback(err, u.list.rollBack(ctx, u.backend, u.address, u.before, u.known.entries))
		}
		return UnblockResult{}, err
	}
	return u.answer(written), nil
}

// delist takes the address off the list. It writes nothing where the address is
// not listed or the lock is missing.
func (u *UnblockPlan) delist() (written bool, err error) {
	if !u.listed || u.listErr != nil {
		return false, nil
	}
	err = u.list.save(without(current(u.known.entries, u.backend, u.list.now()), u.address))
	return err == nil, err
}

// removeFromBackend takes the address out of the kernel and reads that back.
func (u *UnblockPlan) removeFromBackend(ctx context.Context) error {
	if err := u.backend.Remove(ctx, []netip.Addr{u.address}); err != nil {
		return backendError(fmt.Sprintf("The packet filter did not let go of %s", u.address), err)
	}
	s, err := findInFilter(ctx, u.backend, u.address)
	if err != nil {
		return backendError(fmt.Sprintf("The packet filter let go of %s and cannot be read back", u.address), err)
	}
	if s.found {
		return fault.New(fault.FirewallFailed, fmt.Sprintf("The packet filter still shows %s.", u.address))
	}
	return nil
}

func (u *UnblockPlan) answer(written bool) UnblockResult {
	d := UnblockResult{IP: u.address.String(), Backend: u.backend.Name(), Warnings: []string{}}
	if u.listed {
		d.Was = new(row(u.stored))
	}
	if u.listErr != nil {
		d.Warnings = append(d.Warnings, warning("The list was not as it should be: "+u.listErr.Error()))
	}
	if u.listed && !written {
		d.Warnings = append(d.Warnings, "The address is still on the list and comes back with the next --restore-blocklist or reboot; unblock it again when the list can be written.")
	}
	return d
}
