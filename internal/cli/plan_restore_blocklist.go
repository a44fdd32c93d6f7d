// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/humanize"
)

// A restoreDocument answers --restore-blocklist.
type restoreDocument struct {
	answer.Header
	Blocklist blocklist.RestoreResult `json:"blocklist"`
	// FirewallRestored says that the rules of the firewall which sentinel had
	// switched on were missing and are back.
	FirewallRestored bool `json:"firewall_restored"`
	// FirewallTrial says what became of a firewall that was on trial, where one
	// was ended.
	FirewallTrial string `json:"firewall_trial,omitempty"`
	record
}

// A restorePreview has the members of a restoreDocument.
type restorePreview struct {
	Blocklist        blocklist.RestoreResult `json:"blocklist"`
	FirewallRestored bool                    `json:"firewall_restored"`
}

// planRestore looks whether anything has to be put back, or a trial of the
// firewall ended. A timer runs it every minute, so a run that changes nothing leaves no record.
// One that fails, as at boot, is run again.
func planRestore(ctx context.Context, s session, call invocation) (c change, err error) {
	defer func() {
		if err != nil && !call.dryRun {
			err = errors.Join(err, s.watch(ctx, call.op))
		}
	}()
	return s.restoration(ctx, call)
}

func (s session) restoration(ctx context.Context, call invocation) (change, error) {
	list := s.blocklist()
	trial, trialErr := s.firewallTrials().Current()
	early := call.args.Bool("end_trial")
	ends := trial != nil && (trial.Over() || early)
	if s.invalid != nil && !ends {
		return change{}, s.invalid
	}
	pending, err := list.Pending(ctx)
	if err != nil && fault.From(err).Code != fault.StateCorrupt && !ends {
		return change{}, err
	}
	var rules bool
	var baselineErr error
	if trial == nil { // else the rules of a firewall on trial could be taken for damaged ones
		rules, baselineErr = s.host.Blocklist.BaselineMissing(ctx)
	}
	c := change{
		object: map[string]any{},
		would:  restoreText(pending, rules),
		do:     func(ctx context.Context) (changed, error) { return s.restore(ctx, call, list, trial) },
	}
	if ends {
		reason := trial.Reason()
		if !trial.Over() {
			reason = "ended before it was confirmed"
		}
		c.reason, c.urgent = "firewall on trial: "+reason, true
		c.object["firewall_trial"] = trial.Change.Manager
		c.would += " Would end the trial of the firewall: " + reason + "."
	}
	if err == nil {
		c.preview = restorePreview{pending, rules}
	}
	if err == nil && !ends && pending.Idle() && !rules && !call.dryRun {
		d := &restoreDocument{Header: answer.NewHeader(call.op.Action, true), Blocklist: pending}
		d.Unavailable.Add("firewall", baselineErr)
		c.already = d
		return c, trialErr
	}
	return c, nil
}

// restore ends a trial first, which may keep the owner out, then puts back the
// firewall: without it more than single addresses get in.
func (s session) restore(ctx context.Context, call invocation, list *blocklist.List, trial *firewall.Trial) (changed, error) {
	d := &restoreDocument{Header: answer.NewHeader(call.op.Action, true)}
	early := call.args.Bool("end_trial")
	ended, trialErr := s.firewallTrials().End(ctx, early)
	if s.invalid != nil {
		return nil, errors.Join(trialErr, s.invalid)
	}
	var baselineErr, err error
	if trial == nil {
		baselineErr = s.firewallTrials().Without(ctx, func() (err error) {
			d.FirewallRestored, err = s.host.Blocklist.Baseline(ctx)
			return err
		})
	}
	d.FirewallTrial = ended
	d.Blocklist, err = list.Restore(ctx)
	if kept := trialErr != nil && trial != nil && (trial.Over() || early); kept || err != nil && ended == "" {
		return nil, errors.Join(trialErr, err) // so that systemd runs it again
	}
	d.Unavailable.Add("firewall_trial", trialErr)
	d.Unavailable.Add("firewall", baselineErr)
	d.Unavailable.Add("blocklist", err)
	return d, nil
}

func restoreText(r blocklist.RestoreResult, rules bool) string {
	text := fmt.Sprintf("Would add %s to the packet filter, correct %d, remove %d, and take %d off the list.", humanize.Count(r.Added, "address", "addresses"), r.Corrected, r.Removed, r.Expired)
	if rules {
		text += " Would put back the firewall that sentinel switched on."
	}
	return text
}

func (d *restoreDocument) outcome() string {
	b := d.Blocklist
	text := fmt.Sprintf("%d added, %d corrected, %d removed, %d expired, %d suspended, %d resumed, %d adopted; firewall restored: %v",
		b.Added, b.Corrected, b.Removed, b.Expired, b.Suspended, b.Resumed, b.Adopted, d.FirewallRestored)
	return strings.TrimSpace(d.FirewallTrial + " " + text)
}

// logLine implements logged. Why the firewall is not put back is said by each run: nothing else tells.
func (d *restoreDocument) logLine() string {
	if !d.Blocklist.Idle() || d.FirewallRestored || d.FirewallTrial != "" {
		return d.outcome()
	}
	for _, g := range d.Unavailable {
		if g.Field == "firewall" {
			return g.Reason
		}
	}
	return ""
}

func (d *restoreDocument) view(p *page) {
	b := d.Blocklist
	p.verdict(calm, "RESTORED", fmt.Sprintf("%s on the list; %d added to the packet filter, %d removed from it, %d ended.", humanize.Count(b.Entries, "address", "addresses"), b.Added, b.Removed, b.Expired))
	if d.FirewallRestored {
		p.line("The firewall that sentinel had switched on was missing and is back.")
	}
	if d.FirewallTrial != "" {
		p.line("%s", p.own(d.FirewallTrial))
	}
	p.warnings(b.Warnings)
	p.gaps(append(b.Unavailable, d.Unavailable...))
}
