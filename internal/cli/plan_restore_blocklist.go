// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"sentinel/internal/answer"
	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
)

// A restoreDocument answers --restore-blocklist.
type restoreDocument struct {
	answer.Header
	Blocklist blocklist.RestoreResult `json:"blocklist"`
	// FirewallRestored says that the rules of the firewall which sentinel had
	// switched on were missing and are back.
	FirewallRestored bool `json:"firewall_restored"`
	record
}

// A restorePreview has the members of a restoreDocument.
type restorePreview struct {
	Blocklist        blocklist.RestoreResult `json:"blocklist"`
	FirewallRestored bool                    `json:"firewall_restored"`
}

// planRestore looks whether anything has to be put back. A timer runs it every
// minute, so a run that changes nothing leaves no record.
func planRestore(ctx context.Context, s session, call invocation) (change, error) {
	list := s.blocklist()
	pending, err := list.Pending(ctx)
	if err != nil && fault.From(err).Code != fault.StateCorrupt {
		return change{}, err
	}
	rules, wallErr := s.host.Blocking.BaselineMissing(ctx)
	c := change{
		object: map[string]any{},
		would:  restoreText(pending, rules),
		do:     func(ctx context.Context) (changed, error) { return s.restore(ctx, call, list) },
	}
	if err == nil {
		c.preview = restorePreview{pending, rules}
	}
	if err == nil && wallErr == nil && pending.Idle() && !rules && !call.dryRun {
		c.already = &restoreDocument{Header: answer.NewHeader(call.op.Action, true), Blocklist: pending}
	}
	return c, nil
}

// restore puts back the firewall first: without it more than single addresses
// get in.
func (s session) restore(ctx context.Context, call invocation, list *blocklist.List) (changed, error) {
	restored, wallErr := s.host.Blocking.Baseline(ctx)
	done, err := list.Restore(ctx)
	if err != nil {
		return nil, err
	}
	d := &restoreDocument{Header: answer.NewHeader(call.op.Action, true), Blocklist: done, FirewallRestored: restored}
	d.Unavailable.Add("firewall", wallErr)
	return d, nil
}

func restoreText(r blocklist.RestoreResult, rules bool) string {
	text := fmt.Sprintf("Would add %s to the packet filter, correct %d, remove %d, and take %d off the list.", addresses(r.Added), r.Corrected, r.Removed, r.Expired)
	if rules {
		text += " Would put back the firewall that sentinel switched on."
	}
	return text
}

func (d *restoreDocument) outcome() string {
	b := d.Blocklist
	return fmt.Sprintf("%d added, %d corrected, %d removed, %d expired, %d suspended, %d resumed, %d adopted; firewall restored: %v",
		b.Added, b.Corrected, b.Removed, b.Expired, b.Suspended, b.Resumed, b.Adopted, d.FirewallRestored)
}

func (d *restoreDocument) view(p *page) {
	b := d.Blocklist
	p.verdict(calm, "RESTORED", fmt.Sprintf("%s on the list; %d added to the packet filter, %d removed from it, %d ended.", addresses(b.Entries), b.Added, b.Removed, b.Expired))
	if d.FirewallRestored {
		p.line("The firewall that sentinel had switched on was missing and is back.")
	}
	p.warnings(b.Warnings)
	p.gaps(append(b.Unavailable, d.Unavailable...))
}
