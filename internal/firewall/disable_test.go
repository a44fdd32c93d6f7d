// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
)

func planDisable(t *testing.T, m *machine, o DisableOptions) *Disabling {
	t.Helper()
	d, err := PlanDisable(t.Context(), m, m, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestFirewallIsOffForATrialAndStaysOffOnceConfirmed(t *testing.T) {
	m, trials := filtering(t)
	d := planDisable(t, m, DisableOptions{Trials: trials})
	if said := d.Summary(); !strings.Contains(said, "ufw would be switched off for a trial of 120 s, and on again unless confirmed. 4 services would become reachable") {
		t.Errorf("planned: %s", said)
	}
	if p := d.Preview(); p.FirewallStatus != Disabled || !p.Changed || p.ExposesTotal != 4 || len(m.done) > 0 {
		t.Errorf("preview %+v", p)
	}
	m.facts.Managers = nil // as read back
	got, err := d.Do(t.Context())
	if err != nil || got.FirewallStatus != Disabled || got.ConfirmWithin != 120 || *got.Persistent || !slices.Equal(m.done, []string{"disable"}) || !recorded(m) {
		t.Fatalf("got %+v, %v, did %q", got, err, m.done)
	}
	m.done = nil
	if got, err := planDisable(t, m, DisableOptions{Trials: trials}).Do(t.Context()); err != nil || got.Changed || got.ConfirmWithin != 120 || !strings.Contains(got.Details, "--disable-firewall --confirm") {
		t.Errorf("again: %+v, %v", got, err)
	}
	m.why = "Another one does not come back."
	if got, err := planDisable(t, m, DisableOptions{Confirm: true, Trials: trials}).Do(t.Context()); err != nil || !got.Changed || !*got.Persistent || recorded(m) || !slices.Equal(m.done, []string{"keep"}) ||
		!strings.Contains(got.Details, "That holds after a reboot, too. Another one does not come back. Switch it on again") {
		t.Errorf("confirmed: %+v, %v, did %q", got, err, m.done)
	}
	if got, err := planDisable(t, m, DisableOptions{Trials: trials}).Do(t.Context()); err != nil || got.Changed || got.FirewallStatus != Disabled {
		t.Errorf("off already: %+v, %v", got, err)
	}
}

// Who is asked sees the sentence alone: it names no members of a document.
func TestPlansAreSentencesForAPerson(t *testing.T) {
	m, trials := filtering(t)
	for total, want := range map[int]string{
		2: "ufw would be switched off for a trial of 120 s, and on again unless confirmed. 2 services would become reachable from other hosts.",
		1: "ufw would be switched off for a trial of 120 s, and on again unless confirmed. One service would become reachable from other hosts.",
	} {
		m.open.Listeners = []Listener{at(tcp(25), "exim"), at(tcp(8080), "java")}[:total]
		if said := planDisable(t, m, DisableOptions{Trials: trials}).Summary(); said != want {
			t.Errorf("off: %s", said)
		}
		on := newMachine()
		on.open.Listeners = m.open.Listeners
		want := map[int]string{1: "One other service would become unreachable from other hosts.", 2: "2 other services would become unreachable from other hosts."}[total]
		if said := plan(t, on, EnableOptions{}).Summary(); said != "ufw would be switched on. The ports of remote sessions (22/tcp, 2222/tcp) would be let in first; open connections go on. "+want {
			t.Errorf("on: %s", said)
		}
	}
}

func TestForwardingThatIsNoLongerFilteredIsSaid(t *testing.T) {
	m, trials := filtering(t)
	const want = " This machine forwards packets, as for containers and virtual machines, and only ufw keeps other hosts from what is behind it: that becomes reachable, and is not listed."
	if said := planDisable(t, m, DisableOptions{Trials: trials}).Summary(); strings.Contains(said, "forwards") {
		t.Errorf("nothing is forwarded: %s", said)
	}
	m.forwards = true
	d := planDisable(t, m, DisableOptions{Trials: trials})
	if said := d.Summary(); !strings.HasSuffix(said, want) {
		t.Errorf("planned: %s", said)
	}
	m.facts.Managers = nil // as read back
	if got, err := d.Do(t.Context()); err != nil || !strings.HasSuffix(got.Details, want) {
		t.Errorf("done: %s, %v", got.Details, err)
	}
}

func TestFirewallThatIsOffOnTrialComesBack(t *testing.T) {
	m, trials := filtering(t)
	d := planDisable(t, m, DisableOptions{Trials: trials})
	m.facts.Managers = nil
	if _, err := d.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.uptime += 121 * time.Second
	if _, err := PlanDisable(t.Context(), m, m, DisableOptions{Confirm: true, Trials: trials}); err == nil || !strings.Contains(err.Error(), "has to be ended first") {
		t.Errorf("confirmed too late: %v", err)
	}
	said, err := trials.End(t.Context(), false)
	if err != nil || said != "The firewall (ufw) was switched on again: not confirmed within 120 s." || m.resumed.Kind != TurnOff || recorded(m) {
		t.Errorf("%q, %v, resumed %+v", said, err, m.resumed)
	}
}

// What another tool loads again meanwhile is on, and is not told of as off.
func TestFirewallThatIsOnAgainIsNotConfirmedAsOff(t *testing.T) {
	m, trials := filtering(t)
	d := planDisable(t, m, DisableOptions{Trials: trials})
	m.facts.Managers = nil
	if _, err := d.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.on, m.done = true, nil
	_, err := planDisable(t, m, DisableOptions{Confirm: true, Trials: trials}).Do(t.Context())
	if f := fault.From(err); err == nil || f.Code != fault.FirewallFailed || !strings.Contains(f.Message, "The firewall (ufw) that was switched off for a trial is on again") || !recorded(m) || len(m.done) != 0 {
		t.Errorf("%v, recorded %v, did %q", err, recorded(m), m.done)
	}
}

// Who sees that something is shut out need not wait for the end of the trial.
func TestFirewallOnTrialIsTakenBackAtOnce(t *testing.T) {
	m, o := onTrial(t)
	try(t, m, o)
	m.done = nil
	d := planDisable(t, m, DisableOptions{Trials: o.Trials})
	if said := d.Summary(); !strings.Contains(said, "would be taken back now") {
		t.Errorf("planned: %s", said)
	}
	got, err := d.Do(t.Context())
	if err != nil || !got.Changed || got.FirewallStatus != Disabled || recorded(m) || !slices.Equal(m.done, []string{"undo"}) ||
		!strings.Contains(got.Details, "The firewall (ufw) was taken back: ended before it was confirmed.") {
		t.Errorf("got %+v, %v, did %q", got, err, m.done)
	}
}

func TestFirewallThatStaysOnIsAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*machine)
		code   fault.Code
		says   string
	}{
		"it shows still":        {func(m *machine) { m.deaf = true }, fault.FirewallFailed, "ufw could not be switched off: chain input"},
		"it fails":              {func(m *machine) { m.enableErr = errors.New("busy") }, fault.FirewallFailed, "busy; what was changed was taken back"},
		"somebody's":            {func(m *machine) { m.facts.Managers = nil }, fault.FirewallUnavailable, "none of ufw, firewalld"},
		"nothing takes it back": {func(m *machine) { m.alone = errors.New("no timer") }, fault.FirewallFailed, "nothing would take it back"},
	} {
		m, trials := filtering(t)
		c.change(m)
		d, err := PlanDisable(t.Context(), m, m, DisableOptions{Trials: trials})
		if err == nil {
			_, err = d.Do(t.Context())
		}
		if fault.From(err).Code != c.code || !strings.Contains(err.Error(), c.says) || recorded(m) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where rules of somebody else's filter as well, the answer says that they do.
func TestAnotherFirewallThatStaysIsNamed(t *testing.T) {
	m, trials := filtering(t)
	d := planDisable(t, m, DisableOptions{Trials: trials})
	m.facts = Facts{Chains: []Chain{{Family: "inet", Table: "theirs", Name: "in", Input: true, DropPolicy: true}}}
	got, err := d.Do(t.Context())
	if err != nil || got.FirewallStatus != Active || !strings.Contains(got.Details, "theirs") {
		t.Errorf("got %+v, %v", got, err)
	}
}
