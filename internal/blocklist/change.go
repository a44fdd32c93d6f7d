// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// expiryMargin is how long before its end a block counts as ended, so that it does
// not end between being loaded and being read back.
const expiryMargin = 5 * time.Second

// readOrAdopt reads the file. Where there is none, what the kernel drops is the
// list: it was lost, and a new one must not wipe out what it had.
func (l *List) readOrAdopt(ctx context.Context, b Backend, known fileContent) (fileContent, error) {
	c, err := l.read(known)
	if err != nil || !c.missing {
		return c, err
	}
	blocks, _, err := l.readTwice(ctx, b)
	c.entries = adopt(blocks, l.now())
	return c, err
}

// grace is how long an entry stays on the list after its end. A clock that is
// far ahead, as it may be at boot, must not take blocks off for good.
const grace = day

// current returns the entries that stay on the list. Where only the timer ends
// blocks, all do: Restore needs to know what to take out of the kernel. Elsewhere an entry that
// has ended goes after its grace, or at once when such entries fill the list.
func current(entries []entry, b Backend, now time.Time) []entry {
	if !b.Abilities().Expires {
		return slices.Clone(entries)
	}
	return staying(entries, now)
}

func staying(entries []entry, now time.Time) []entry {
	stay := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.over(now.Add(-grace)) })
	if len(stay) < maxEntries/2 {
		return stay
	}
	return slices.DeleteFunc(stay, func(e entry) bool { return e.over(now) })
}

// put makes the kernel drop an entry's address and reads it back.
func (l *List) put(ctx context.Context, b Backend, e entry) error {
	want := e.block(l.now())
	if err := b.Add(ctx, []Block{want}); err != nil {
		return backendError(fmt.Sprintf("The packet filter did not take %s", e.Address), err)
	}
	s, err := findInFilter(ctx, b, e.Address)
	switch {
	case err != nil:
		return backendError(fmt.Sprintf("The packet filter took %s and cannot be read back", e.Address), err)
	case !s.found:
		return fault.New(fault.FirewallFailed, fmt.Sprintf("The packet filter took %s and does not show it.", e.Address))
	case !s.effective:
		return fault.New(fault.FirewallFailed, "The packet filter has the address, but not the rules that drop its packets.")
	case b.Abilities().Expires && !sameExpiry(s.Left, want.Left):
		return fault.New(fault.FirewallFailed, fmt.Sprintf("The packet filter shows another end for %s than was asked for.", e.Address))
	}
	return nil
}

// sameExpiry says that the kernel ends a block when it was asked to, give or take the
// time that loading may take.
func sameExpiry(left, want time.Duration) bool {
	if want == 0 || left == 0 {
		return want == left
	}
	return left <= want+time.Second && left >= want-doLimit-undoLimit
}

// rollBack restores file and kernel to where they were before a change of one
// address.
func (l *List) rollBack(ctx context.Context, b Backend, a netip.Addr, before addrState, file []entry) error {
	ctx, cancel := detached(ctx, undoLimit)
	defer cancel()
	var kernel error
	if before.found {
		kernel = b.Add(ctx, []Block{before.Block})
	} else {
		kernel = b.Remove(ctx, []netip.Addr{a})
	}
	if err := l.save(file); err != nil {
		return fmt.Errorf("the list: %w", err)
	}
	if kernel != nil {
		return fmt.Errorf("the packet filter: %w", kernel)
	}
	return nil
}

// withRollback adds to cause why the change could not be rolled back, if so.
func withRollback(cause, undo error) error {
	if undo == nil {
		return cause
	}
	e := fault.From(cause)
	return &fault.Error{
		Code: e.Code, Err: e,
		Message: e.Message + " It could not be taken back entirely, because of " + undo.Error(),
		Fix:     "Make both sides agree with: sudo sentinel --restore-blocklist",
	}
}

// backendError is the failure of the packet filter in the middle of a change, a
// timeout included: the change was rolled back, and nothing is pending.
func backendError(what string, err error) *fault.Error {
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known
	}
	return fault.Wrap(fault.FirewallFailed, what, err)
}

// warning is a sentence for an answer, which may hold the text of an error.
func warning(text string) string { return sanitize.Text(text, 500) }

// cleanText returns text from a caller as it is kept and shown. Everyone can read
// the list, so secrets are taken out.
func cleanText(text string) string { return sanitize.Reason(text, maxText) }
