// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/humanize"
)

// restoreLimit bounds a restore once it changes something.
const restoreLimit = 30 * time.Second

// RestoreResult says what it took to make the packet filter match the list.
type RestoreResult struct {
	Backend   string `json:"backend,omitempty"` // the packet filter; absent when there was nothing to do
	Entries   int    `json:"entries"`           // on the list now
	Added     int    `json:"added"`             // to the packet filter, missing there
	Corrected int    `json:"corrected"`         // had another end there
	Removed   int    `json:"removed"`           // from the packet filter, not to be dropped
	Expired   int    `json:"expired"`           // off the list, a day after their end
	// Suspended are listed and not loaded from now on, because this machine came
	// to depend on them. Resumed were, and are loaded again.
	Suspended int `json:"suspended"`
	Resumed   int `json:"resumed"`
	// Adopted were taken over from the packet filter, because the list was lost.
	Adopted     int         `json:"adopted"`
	Warnings    []string    `json:"warnings"`
	Unavailable answer.Gaps `json:"unavailable"`
}

// Restore makes the packet filter match the list: at boot, when blocks end and
// after another tool has flushed it. Every entry is checked again. What only the packet filter
// holds is removed from it, provided that there is a list: a lost one is rebuilt from what the
// packet filter holds, and a damaged one is quarantined, which is STATE_CORRUPT. Restore is
// idempotent.
//
// Open connections are not cut: their packets are dropped all the same, and with thousands
// of addresses looking for them would take longer than the restore.
func (l *List) Restore(ctx context.Context) (RestoreResult, error) {
	// Before the lock, for which others wait: how long this takes is up to the processes of others.
	protected, unknown := l.hostContext.ProtectedAddrs(ctx)
	release, err := l.lock(ctx)
	if err != nil {
		return RestoreResult{}, err
	}
	defer release()
	known, err := l.read(fileContent{})
	if err != nil {
		if d, ok := errors.AsType[*damagedError](err); ok && ctx.Err() == nil {
			err = l.quarantine(d)
		}
		return RestoreResult{}, err
	}
	b, err := l.filter(ctx)
	if err != nil && len(known.entries) == 0 { // and so nothing to load
		return RestoreResult{Warnings: l.quarantineWarnings(), Unavailable: answer.Gaps{}}, nil
	}
	if err != nil {
		return RestoreResult{}, err
	}
	return l.reconcile(ctx, b, known, depends{protected: protected, unknown: unknown}, restoreLimit)
}

// depends is what this machine depends on, and why that is not all known.
type depends struct {
	protected []ProtectedAddr
	unknown   error
	// named and unnamed are what was asked for a new block alone ([HostContext.NamedAddrs]). Blocks that are listed
	// are not measured by it: whoever answers about a name would suspend them.
	named   []ProtectedAddr
	unnamed error
}

// nothingListed says that the list is empty, so that no packet filter is needed.
func (l *List) nothingListed() bool {
	empty, err := l.Empty()
	return err == nil && empty
}

// Empty reports whether nothing is listed. Blocks that have ended stay listed for a day.
func (l *List) Empty() (bool, error) {
	c, err := l.read(fileContent{})
	return len(c.entries) == 0, err
}

// A restoreRun is a restore under way.
type restoreRun struct {
	list    *List
	backend Backend
	known   fileContent
	kernel  *filterState
	entries []entry // as they will be listed
	result  RestoreResult
}

// reconcile does the work of Restore. The caller must hold the lock.
func (l *List) reconcile(ctx context.Context, b Backend, known fileContent, on depends, limit time.Duration) (RestoreResult, error) {
	r := &restoreRun{list: l, backend: b, known: known}
	if err := r.readState(ctx); err != nil {
		return RestoreResult{}, err
	}
	r.review(on)
	if err := ctx.Err(); err != nil {
		return RestoreResult{}, err
	}
	ctx, cancel := detached(ctx, limit)
	defer cancel()
	r.write()
	if err := r.load(ctx); err != nil {
		return RestoreResult{}, err
	}
	r.result.Warnings = append(r.result.Warnings, sizeWarnings(b, r.entries)...)
	return r.result, nil
}

func (r *restoreRun) readState(ctx context.Context) (err error) {
	if r.known, err = r.list.read(r.known); err != nil {
		return err
	}
	read := loaded
	if r.known.missing {
		read = r.list.readTwice
	}
	blocks, effective, err := read(ctx, r.backend)
	if err != nil {
		return err
	}
	r.kernel = newFilterState(blocks, effective)
	r.begin()
	return nil
}

// begin starts the answer. What the kernel holds stands in for a lost list.
func (r *restoreRun) begin() {
	r.result = RestoreResult{Backend: r.backend.Name(), Warnings: r.list.quarantineWarnings(), Unavailable: answer.Gaps{}}
	if !r.known.missing {
		return
	}
	blocks := make([]Block, 0, len(r.kernel.left))
	for a, left := range r.kernel.left {
		blocks = append(blocks, Block{a, left})
	}
	slices.SortFunc(blocks, func(a, b Block) int { return a.Address.Compare(b.Address) })
	r.known.entries = adopt(blocks, r.list.now())
	r.result.Adopted = len(blocks)
}

// review takes entries off the list that ended long enough ago, and checks the
// others again. Where it is not known what this machine depends on, suspended entries stay
// suspended; the others were checked when they were blocked.
func (r *restoreRun) review(on depends) {
	r.result.Unavailable.Add("suspended", on.unknown)
	now := r.list.now()
	stay := staying(r.known.entries, now)
	r.result.Expired = len(r.known.entries) - len(stay)
	protected := slices.DeleteFunc(slices.Clone(on.protected), func(p ProtectedAddr) bool { return p.Announced })
	besides := withoutSessions(protected)
	for _, e := range stay {
		d := r.list.denyReason(e.Address, protected)
		if d != nil && d.ends != nil && r.holds(e, d.others) {
			d = r.list.denyReason(e.Address, besides)
		}
		if d != nil && !d.always && (e.Forced || e.Suspended == "" && replaceable(e.Address, d.why, stay, protected)) {
			d = nil
		}
		switch {
		case e.over(now): // checked should it come back
		case d != nil:
			if e.Suspended == "" {
				r.result.Suspended++
			}
			e.Suspended = d.why
		case e.Suspended != "" && on.unknown == nil:
			r.result.Resumed++
			e.Suspended = ""
		}
		if r.entries = append(r.entries, e); !e.over(now) {
			r.result.Entries++
		}
	}
}

// holds reports whether a block stays whatever session comes to depend on the address. One that is in force can
// cut no session that anybody has, and anybody can make it look so. One that the packet filter has lost gives way
// to what may be the session of whoever put the machine in order, and to none of others.
func (r *restoreRun) holds(e entry, others bool) bool {
	return e.Suspended == "" && (others || r.kernel.drops(e.Address))
}

// withoutSessions leaves out what only sessions depend on.
func withoutSessions(list []ProtectedAddr) []ProtectedAddr {
	return slices.DeleteFunc(slices.Clone(list), func(p ProtectedAddr) bool { return p.Sessions != nil })
}

// replaceable says that this machine has another gateway or name server beside a, which is one by now: a
// neighbour who is blocked can announce itself as either (RFC 4861, RFC 8106), and would lift its block. What a
// resolver on this machine asks may have come the same way.
func replaceable(a netip.Addr, why string, listed []entry, protected []ProtectedAddr) bool {
	if why != WhyGateway && why != WhyNameServer && why != WhyUpstream {
		return false
	}
	return slices.ContainsFunc(protected, func(p ProtectedAddr) bool {
		other := p.Prefix.Addr()
		blocked := func(e entry) bool { return covers(p.Prefix, e.Address) }
		return p.Why == why && other.Is4() == a.Is4() && !slices.ContainsFunc(listed, blocked)
	})
}

// write saves the list. The kernel gets it even where that fails: a full disk must
// not leave a machine open after a reboot.
func (r *restoreRun) write() {
	if slices.Equal(r.entries, r.known.entries) && (!r.known.missing || len(r.entries) == 0) {
		return
	}
	if err := r.list.save(r.entries); err != nil {
		r.result.Warnings = append(r.result.Warnings, warning("The list could not be written: "+err.Error()))
	}
}

// load makes the kernel hold what is listed, and nothing else, and reads it
// back.
func (r *restoreRun) load(ctx context.Context) error {
	now := r.list.now()
	add, remove := r.changes(now)
	if len(add)+len(remove) == 0 {
		return nil
	}
	if err := r.apply(ctx, add, remove); err != nil {
		return backendError("The packet filter did not take all of the list", err).WithFix(partlyLoadedFix)
	}
	add, remove, err := r.readBack(ctx)
	if err != nil {
		return backendError("The packet filter took the list and cannot be read back", err).WithFix(partlyLoadedFix)
	}
	if len(add)+len(remove) > 0 {
		return fault.New(fault.FirewallFailed, fmt.Sprintf("The packet filter took the list, but lacks %s of it and has %d too many.", humanize.Count(len(add), "address", "addresses"), len(remove))).
			WithFix(partlyLoadedFix)
	}
	return nil
}

// apply gives the packet filter all changes at once, because it reads all it
// holds with each call.
func (r *restoreRun) apply(ctx context.Context, add []Block, remove []netip.Addr) error {
	var failed error
	if len(remove) > 0 {
		failed = r.backend.Remove(ctx, remove)
	}
	if len(add) > 0 {
		failed = errors.Join(failed, r.backend.Add(ctx, add))
	}
	return failed
}

// readBack returns what still differs after a change. Right after thousands of
// addresses the kernel may show only a part of them, so it is asked again.
func (r *restoreRun) readBack(ctx context.Context) (add []Block, remove []netip.Addr, err error) {
	counted := r.result
	for n := range maxReads {
		if n > 0 {
			r.list.pause(ctx)
		}
		blocks, effective, err := loaded(ctx, r.backend)
		if err != nil {
			return nil, nil, err
		}
		r.kernel = newFilterState(blocks, effective)
		add, remove = r.changes(r.list.now())
		if r.result = counted; len(add)+len(remove) == 0 {
			break
		}
	}
	return add, remove, nil
}

// partlyLoadedFix is what to do about a list that is loaded in part.
const partlyLoadedFix = "The list itself is safe. Fix what the message names, restore again, then see what is in force with: sudo sentinel --list-blocked"

// changes finds and counts what to add to the kernel and what to remove from it.
func (r *restoreRun) changes(now time.Time) (add []Block, remove []netip.Addr) {
	extra := make(map[netip.Addr]bool, len(r.kernel.left))
	for a := range r.kernel.left {
		extra[a] = true
	}
	for _, e := range r.entries {
		if e.Suspended != "" || e.over(now) {
			continue
		}
		delete(extra, e.Address)
		if e.over(now.Add(slack)) {
			continue
		}
		want := e.block(now)
		switch left, held := r.kernel.left[e.Address]; {
		case !held || !r.kernel.effective:
			r.result.Added++
			add = append(add, want)
		case r.backend.Abilities().Expires && tooLong(left, want.Left):
			r.result.Corrected++
			add = append(add, want)
		}
	}
	for a := range extra {
		r.result.Removed++
		remove = append(remove, a)
	}
	return add, remove
}

// tooLong says that the kernel would keep a block beyond its end, or end one that
// is for ever. An earlier end is left alone: a clock that was set back must not make blocks
// longer, and after one that was set forward the next restore blocks the address again.
func tooLong(left, want time.Duration) bool {
	if want == 0 || left == 0 {
		return left != want
	}
	return left > want+slack
}
