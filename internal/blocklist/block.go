// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
)

// A Request asks for a block.
type Request struct {
	Address string
	Reason  string
	By      string        // who asks, in words
	TTL     time.Duration // 0: until it is unblocked
	// Force blocks even what this machine depends on, but never its own addresses.
	Force bool
	// EndSession blocks the other end of sessions of others, but never of the caller's own.
	EndSession bool
}

// A BlockPlan is a block that has passed every check.
//
// What a crash leaves, by the last step before it:
//
//	nothing written      nothing has happened
//	file written         listed and not dropped: the list says so, and the next
//	                     block of the address or Restore loads it
//	kernel changed       blocked; only the answer is missing
//
// The file comes first, because a block that only the kernel has is gone after a
// reboot, and nobody knows who asked for it.
type BlockPlan struct {
	list      *List
	request   Request
	entry     entry // as it will be listed
	reapplies bool  // it is listed already, and not in force
	backend   Backend
	known     fileContent
	before    addrState
	on        depends // what was read before the lock
	overruled *denyReason
	damage    *damagedError
}

// BlockResult says what became of a block.
type BlockResult struct {
	Row
	Backend    string   `json:"backend"`    // the packet filter
	Directions []string `json:"directions"` // in which packets are dropped: in, out, forward
	// ConnectionsCut is how many open connections were ended; absent when that
	// is not known.
	ConnectionsCut *int `json:"connections_cut,omitempty"`
	// Reapplied says that the address was on the list and not in force. Its
	// reason, author and end are unchanged.
	Reapplied bool     `json:"reapplied,omitempty"`
	Warnings  []string `json:"warnings"` // what does not stop the block and should be known
}

// PlanBlock checks everything about a block and changes nothing. It fails with
// INVALID_IP, PROTECTED_ADDRESS, ALREADY_BLOCKED, FIREWALL_UNAVAILABLE, with STATE_CORRUPT for a
// file that cannot be relied on and with UNAVAILABLE where a check could not be made. A
// damaged file is no failure yet: Do quarantines and reports it.
func (l *List) PlanBlock(ctx context.Context, r Request) (*BlockPlan, error) {
	a, err := ParseAddress(r.Address)
	if err != nil {
		return nil, err
	}
	b := &BlockPlan{list: l, request: r, entry: entry{Address: a}}
	if err := b.check(ctx, l.dependencies(ctx)); err != nil {
		return nil, err
	}
	return b, nil
}

// check checks everything and changes nothing. It runs twice: for the plan, and
// again under the lock.
func (b *BlockPlan) check(ctx context.Context, on depends) error {
	var err error
	b.on = on
	if b.overruled, err = b.list.checkAllowed(ctx, b.entry.Address, b.request, on); err != nil {
		return err
	}
	if b.backend, err = b.list.filter(ctx); err != nil {
		return err
	}
	if err := ready(ctx, b.backend); err != nil {
		return err
	}
	b.damage = nil
	b.known, err = b.list.readOrAdopt(ctx, b.backend, b.known)
	if errors.As(err, &b.damage) {
		return nil
	}
	if err != nil {
		return err
	}
	if b.before, err = findInFilter(ctx, b.backend, b.entry.Address); err != nil {
		return err
	}
	return b.decide()
}

// decide settles the entry that will be listed. One that is listed already and
// not in force keeps its end, because that is what its author was promised.
func (b *BlockPlan) decide() error {
	now := b.list.now()
	stored, listed := findEntry(b.known.entries, b.entry.Address)
	b.reapplies = listed && !b.known.missing && !stored.over(now.Add(expiryMargin))
	switch {
	case b.reapplies && stored.Suspended == "" && b.before.inForce():
		return alreadyBlocked(stored)
	case b.reapplies:
		b.entry = stored
		b.entry.Suspended, b.entry.Forced = "", stored.Forced || b.forced()
	case len(current(b.known.entries, b.backend, now)) >= maxEntries:
		return fault.New(fault.FirewallFailed, fmt.Sprintf("The list is full: it has %d addresses.", maxEntries)).
			WithFix("Unblock addresses that need not be blocked any more, or block networks with the firewall of this machine.")
	default:
		b.entry = entry{
			Address: b.entry.Address, Reason: cleanText(b.request.Reason), By: cleanText(b.request.By),
			At: inSeconds(now), Ends: expiry(inSeconds(now), b.request.TTL), Forced: b.forced(),
		}
	}
	return nil
}

// forced says that the request insists against what this machine depends on. To end a session of others is no
// such thing: what else comes to depend on the address later was not asked about.
func (b *BlockPlan) forced() bool { return b.request.Force && b.overruled != nil }

func alreadyBlocked(e entry) error {
	return fault.New(fault.AlreadyBlocked, fmt.Sprintf("%s is blocked already, by %s since %s, %s.",
		e.Address, sanitize.Quoted(e.author(), maxText), humanize.Moment(e.At), until(e.Ends))).
		WithFix("Nothing needs to be done. To give it another end, unblock it and block it again.")
}

// Address returns the address in its canonical form.
func (b *BlockPlan) Address() string { return b.entry.Address.String() }

// Reapplies reports whether the address is listed already and only not in force,
// and when that block ends (RFC 3339, UTC; empty for never). Do does not change the end.
func (b *BlockPlan) Reapplies() (ends string, reapplies bool) {
	return row(b.entry).ExpiresAt, b.reapplies
}

// A BlockPreview is what is known of a block before.
type BlockPreview struct {
	Row
	Warnings []string `json:"warnings"`
}

// Preview returns the block as it would be listed. It is not known while the file
// is damaged.
func (b *BlockPlan) Preview() (expected BlockPreview, known bool) {
	return BlockPreview{row(b.entry), b.foreseen(b.entries())}, b.damage == nil
}

// Summary says what Do would do, with all that is known before of what it would warn of: whoever is asked reads
// nothing else.
func (b *BlockPlan) Summary() string {
	where := fmt.Sprintf("%s with %s (%s)", b.entry.Address, b.backend.Name(), strings.Join(b.backend.Abilities().Directions, ", "))
	besides := strings.Join(append([]string{b.despite()}, b.foreseen(b.entries())...), " ")
	switch {
	case b.damage != nil:
		return fmt.Sprintf("Would set the damaged list of blocked addresses aside, report it, and not block %s until asked again.", b.entry.Address)
	case b.reapplies:
		return fmt.Sprintf("Would block %s again, which is listed and not in force, %s, and cut its open connections.", where, until(b.entry.Ends)) + besides
	default:
		return fmt.Sprintf("Would block %s %s, and cut its open connections.", where, until(b.entry.Ends)) + besides
	}
}

// despite says what the block overrules, for who is asked about it.
func (b *BlockPlan) despite() string {
	switch {
	case b.overruled == nil:
		return ""
	case b.overruled.others:
		return fmt.Sprintf(" It is %s, which ends.", b.overruled.why)
	default:
		return fmt.Sprintf(" It is %s.", b.overruled.why)
	}
}

// Ends are the sessions of others that the block ends; nil for none.
func (b *BlockPlan) Ends() *fault.Protected {
	if b.overruled == nil {
		return nil
	}
	return b.overruled.ends
}

// SideEffect says what this block, as the first, makes the system do besides; it is
// empty for nothing.
func (b *BlockPlan) SideEffect() string {
	if b.before.effective {
		return ""
	}
	return b.backend.Abilities().SideEffect
}

// Unseen says what the block may end that is not known, in sentences.
func (b *BlockPlan) Unseen() (list []string) {
	for _, p := range b.on.protected {
		if p.Unseen != "" {
			list = append(list, warning("Sessions may end with it: "+p.Unseen+"."))
		}
	}
	return list
}

// foreseen lists what the answer warns of and is known before; entries are the list with this block.
func (b *BlockPlan) foreseen(entries []entry) []string {
	can, list := b.backend.Abilities(), append([]string{}, b.Unseen()...)
	if text := b.SideEffect(); text != "" {
		list = append(list, text)
	}
	list = append(list, can.beyond()...)
	if b.reapplies {
		list = append(list, "It was on the list already: its reason, author and end are those of then; to change them, unblock it and block it again.")
	}
	if !can.Expires && !b.entry.Ends.IsZero() {
		list = append(list, b.backend.Name()+" cannot end a block by itself; the timer of sentinel does, within a minute.")
	}
	if n := len(entries) - 1; b.known.missing && n > 0 {
		list = append(list, "The packet filter drops addresses and there was no list: "+humanize.Count(n, "address is", "addresses are")+" taken over into a new one.")
	}
	return append(list, sizeWarnings(b.backend, entries)...)
}

// entries are the list with this block.
func (b *BlockPlan) entries() []entry {
	return append(without(current(b.known.entries, b.backend, b.list.now()), b.entry.Address), b.entry)
}

// Do carries the block out and reads it back. Until the list is written it ends
// with ctx; after that it finishes or takes back what it did. It checks again what PlanBlock
// checked and fails in the same ways, with STATE_CORRUPT when it quarantined a damaged file,
// and with FIREWALL_FAILED when the packet filter refuses.
func (b *BlockPlan) Do(ctx context.Context) (BlockResult, error) {
	on := b.list.dependencies(ctx)
	release, err := b.list.lock(ctx)
	if err != nil {
		return BlockResult{}, err
	}
	defer release()
	if err := b.check(ctx, on); err != nil {
		return BlockResult{}, err
	}
	if err := ctx.Err(); err != nil {
		return BlockResult{}, err
	}
	if b.damage != nil {
		return BlockResult{}, b.list.quarantine(b.damage)
	}
	ctx, cancel := detached(ctx, doLimit)
	defer cancel()
	return b.apply(ctx)
}

func (b *BlockPlan) apply(ctx context.Context) (BlockResult, error) {
	l, a := b.list, b.entry.Address
	entries := b.entries()
	if err := l.save(entries); err != nil {
		return BlockResult{}, notWritten(err)
	}
	// A peer learns that its connection is gone only while packets still leave.
	// What it opens between here and the block is cut below.
	first, _ := l.killConns(ctx, b.entry) //nolint:errcheck // the second tells
	if err := l.put(ctx, b.backend, b.entry); err != nil {
		return BlockResult{}, withRollback(err, l.rollBack(ctx, b.backend, a, b.before, b.known.entries))
	}
	second, err := l.killConns(ctx, b.entry)
	return b.answer(ctx, entries, add(first, second), err), nil
}

// killConns ends open connections with the address of e.
func (l *List) killConns(ctx context.Context, e entry) (*int, error) {
	if l.killer == nil {
		return nil, nil
	}
	n, err := l.killer.Kill(ctx, e.Address)
	if err != nil {
		return nil, err
	}
	return &n, nil
}

// add sums up two counts, of which the first may be unknown.
func add(first, second *int) *int {
	if first == nil || second == nil {
		return second
	}
	sum := *first + *second
	return &sum
}

func (b *BlockPlan) answer(ctx context.Context, entries []entry, cut *int, uncut error) BlockResult {
	d := BlockResult{
		Row: row(b.entry), Backend: b.backend.Name(), Directions: b.backend.Abilities().Directions,
		ConnectionsCut: cut, Reapplied: b.reapplies, Warnings: []string{},
	}
	d.InKernel = new(true)
	for _, text := range b.foreseen(entries) {
		d.warn(text)
	}
	if uncut != nil {
		d.warn("Open connections could not be ended, though their packets are dropped: " + uncut.Error())
	}
	if !b.before.effective && len(entries) > 1 {
		d.warn(b.reload(ctx))
	}
	return d
}

// reload loads the other entries too where the packet filter had lost them all,
// and says so.
func (b *BlockPlan) reload(ctx context.Context) string {
	r, err := b.list.reconcile(ctx, b.backend, fileContent{}, b.on, doLimit)
	if err != nil {
		return "The packet filter had lost the list, and the other addresses could not be loaded: " + err.Error()
	}
	return "The packet filter had lost the list; beside this one, " + humanize.Count(r.Added, "address", "addresses") + " loaded again."
}

func (d *BlockResult) warn(text string) { d.Warnings = append(d.Warnings, warning(text)) }
