// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
)

func (m *machine) Boot() (string, time.Duration, error) { return m.id, m.uptime, nil }

func (m *machine) Endable(_ context.Context, kind Kind, manager string) error {
	m.endableAs = string(kind) + " " + manager
	return m.endless
}

func (m *machine) Arrange(_ context.Context, program string, after time.Duration, c Change) error {
	if _, err := os.Stat(m.record); err != nil {
		return errors.New("arranged before the record was written")
	}
	m.arranged = append(m.arranged, program+" after "+after.String()+" for "+c.Manager)
	return m.alone
}

func (m *machine) Cancel(context.Context) { m.arranged = nil }

func (m *machine) Resume(c Change) (Resumed, error) {
	m.resumed = c
	return m, nil
}

func (m *machine) InForce(context.Context) error {
	if m.on == (m.resumed.Kind == TurnOff) {
		return fmt.Errorf("on is %v", m.on)
	}
	return nil
}

// onTrial returns a machine with trials, and the options.
func onTrial(t *testing.T) (*machine, EnableOptions) {
	t.Helper()
	m := newMachine()
	m.noted, m.id, m.uptime = true, "boot-1", time.Hour
	m.record = filepath.Join(t.TempDir(), "trial.json")
	own := func() (string, error) { return "/opt/sentinel", nil }
	return m, EnableOptions{Trials: Trials{Path: m.record, Source: m, Program: own}}
}

func (o EnableOptions) confirming() EnableOptions {
	o.Confirm = true
	return o
}

func try(t *testing.T, m *machine, o EnableOptions) Enabled {
	t.Helper()
	got, err := plan(t, m, o).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func recorded(m *machine) bool {
	_, err := os.Stat(m.record)
	return err == nil
}

func TestFirewallIsOnTrialUntilItIsConfirmed(t *testing.T) {
	m, o := onTrial(t)
	m.during = func() {
		if !recorded(m) || len(m.arranged) != 1 {
			t.Error("it is switched on before somebody would take it back")
		}
		m.uptime += 5 * time.Second
	}
	e := plan(t, m, o)
	if said := e.Summary(); !strings.Contains(said, "for a trial of 120 s") || recorded(m) {
		t.Errorf("planning: %s, recorded %v", said, recorded(m))
	}
	got, err := e.Do(t.Context())
	if err != nil || !got.Changed || got.ConfirmWithin != 115 || *got.Persistent || !strings.Contains(got.Details, "--fix-firewall --confirm") {
		t.Errorf("got %+v, %v", got, err)
	}
	if want := []string{"/opt/sentinel after 2m1s for ufw"}; !slices.Equal(m.arranged, want) {
		t.Errorf("arranged %q", m.arranged)
	}
	m.done = nil
	m.uptime += 15 * time.Second
	again := plan(t, m, o)
	if got, err := again.Do(t.Context()); err != nil || !again.Idle() || got.Changed || got.ConfirmWithin != 100 || len(m.done) != 0 || !recorded(m) || !strings.Contains(got.Details, "on trial already") {
		t.Errorf("a repetition: %+v, %v, did %q", got, err, m.done)
	}
	confirmation := plan(t, m, o.confirming())
	if confirmation.Idle() || !confirmation.Preview().Changed || !strings.Contains(confirmation.Summary(), "would be confirmed") {
		t.Errorf("the plan of a confirmation: %+v", confirmation.Preview())
	}
	got, err = confirmation.Do(t.Context())
	if err != nil || !got.Changed || got.ConfirmWithin != 0 || !*got.Persistent || recorded(m) || !slices.Equal(m.done, []string{"keep"}) {
		t.Errorf("confirmed: %+v, %v, did %q", got, err, m.done)
	}
	m.uptime += time.Hour
	if said, err := o.Trials.End(t.Context(), false); said != "" || err != nil || !m.on {
		t.Errorf("afterwards: %q, %v", said, err)
	}
	if got := try(t, m, o.confirming()); got.Changed || !strings.Contains(got.Details, "on already") {
		t.Errorf("confirmed twice: %+v", got)
	}
}

func TestFirewallThatNobodyConfirmsIsTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		wait   time.Duration
		boot   string
		reason string
	}{
		"in time":            {119 * time.Second, "boot-1", ""},
		"too late":           {121 * time.Second, "boot-1", "not confirmed within 120 s."},
		"restarted":          {0, "boot-2", "not confirmed within 120 s: the machine was restarted."},
		"restarted, uptime ": {-time.Hour, "boot-2", "the machine was restarted"},
	} {
		m, o := onTrial(t)
		try(t, m, o)
		m.uptime += c.wait
		m.id = c.boot
		m.done = nil
		current, err := o.Trials.Current()
		if err != nil || current == nil || current.Over() != (c.reason != "") {
			t.Fatalf("%s: %+v, %v", name, current, err)
		}
		for range 2 {
			said, err := o.Trials.End(t.Context(), false)
			if err != nil || (said == "") != (c.reason == "") || !strings.Contains(said, c.reason) {
				t.Errorf("%s: %q, %v", name, said, err)
			}
			c.reason = ""
		}
		if over := current.Over(); m.on == over || recorded(m) == over || over && !slices.Equal(m.done, []string{"undo"}) {
			t.Errorf("%s: on %v, recorded %v, did %q", name, m.on, recorded(m), m.done)
		}
		if m.resumed.Rebooted != (c.boot == "boot-2") {
			t.Errorf("%s: resumed %+v", name, m.resumed)
		}
	}
}

func TestConfirmationThatComesTooLateIsRefused(t *testing.T) {
	refused := func(name string, m *machine, o EnableOptions, says string) {
		t.Helper()
		_, err := PlanEnable(t.Context(), m, m, o)
		if f := fault.From(err); err == nil || f.Code != fault.FirewallFailed || !strings.Contains(f.Message, says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, o := onTrial(t)
	refused("without a trial", m, o.confirming(), "no trial of the firewall to confirm")
	if len(m.done) != 0 || recorded(m) {
		t.Errorf("a confirmation began a trial: %q", m.done)
	}
	try(t, m, o)
	late := plan(t, m, o.confirming())
	off := plan(t, m, o.confirming())
	m.on = false
	m.facts.Chains = []Chain{{Family: "inet", Table: "theirs", Name: "input", Input: true, DropPolicy: true}}
	if _, err := off.Do(t.Context()); err == nil || !strings.Contains(fault.From(err).Message, "does not show any more") {
		t.Errorf("switched off meanwhile, beside another firewall: %v", err)
	}
	m.on, m.facts.Chains, m.hidden = true, nil, true
	if _, err := plan(t, m, o.confirming()).Do(t.Context()); err == nil || !strings.Contains(fault.From(err).Message, "does not show any more: no rule") || !recorded(m) {
		t.Errorf("flushed meanwhile, of which the manager knows nothing: %v", err)
	}
	m.hidden = false
	m.uptime += 121 * time.Second
	refused("too late", m, o.confirming(), "has to be ended first: not confirmed within 120 s")
	refused("another trial", m, o, "has to be ended first")
	if _, err := late.Do(t.Context()); fault.From(err).Code != fault.FirewallFailed || !recorded(m) {
		t.Errorf("planned in time and done too late: %v", err)
	}
}

func TestTrialThatCannotEndByItselfIsNotBegun(t *testing.T) {
	m, o := onTrial(t)
	m.alone = errors.New("no timer")
	_, err := plan(t, m, o).Do(t.Context())
	f := fault.From(err)
	if f.Code != fault.FirewallFailed || !strings.Contains(f.Message, "no timer") || !strings.HasSuffix(f.Fix, "--force") || !slices.Equal(m.done, []string{"undo"}) || recorded(m) {
		t.Errorf("%v, did %q", err, m.done)
	}
	m.done = nil
	o.Force = true
	got := try(t, m, o)
	if got.ConfirmWithin != 0 || !*got.Persistent || recorded(m) || !strings.Contains(got.Details, "There is no trial") || !slices.Contains(m.done, "keep") {
		t.Errorf("forced: %+v, did %q", got, m.done)
	}
}

// A dry run says what the change would say.
func TestTrialThatNothingWouldEndIsRefusedWhenItIsPlanned(t *testing.T) {
	const kept = "what ufw is told outlasts a reboot"
	ports := []Port{tcp(8080)}
	for name, c := range map[string]struct {
		make func(*testing.T, bool) (*machine, func() (string, error))
		asks string
	}{
		"enable": {func(t *testing.T, force bool) (*machine, func() (string, error)) {
			m, o := onTrial(t)
			o.Force = force
			return m, func() (string, error) { return summaryOf(PlanEnable(t.Context(), m, m, o)) }
		}, string(TurnOn) + " ufw"},
		"allow": {func(t *testing.T, force bool) (*machine, func() (string, error)) {
			m, trials := filtering(t)
			return m, func() (string, error) {
				return summaryOf(PlanAllow(t.Context(), m, m, AllowOptions{Ports: ports, Force: force, Trials: trials}))
			}
		}, string(LetIn) + " ufw"},
		"disable": {func(t *testing.T, force bool) (*machine, func() (string, error)) {
			m, trials := filtering(t)
			return m, func() (string, error) {
				return summaryOf(PlanDisable(t.Context(), m, m, DisableOptions{Force: force, Trials: trials}))
			}
		}, string(TurnOff) + " ufw"},
	} {
		for _, force := range []bool{false, true} {
			m, planned := c.make(t, force)
			m.endless = errors.New(kept)
			said, err := planned()
			switch {
			case force && (err != nil || !strings.Contains(said, "There is no trial, because nothing would end it: "+kept) || strings.Contains(said, "for a trial")):
				t.Errorf("%s, forced: %q, %v", name, said, err)
			case !force && (err == nil || fault.From(err).Code != fault.FirewallFailed || !strings.Contains(err.Error(), kept)):
				t.Errorf("%s: %q, %v", name, said, err)
			}
			if m.endableAs != c.asks || len(m.done)+len(m.arranged) > 0 || recorded(m) {
				t.Errorf("%s: asked about %q, did %q", name, m.endableAs, m.done)
			}
		}
	}
}

func summaryOf[P interface{ Summary() string }](p P, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return p.Summary(), nil
}

func TestFailedTrialLeavesNoRecordUnlessItCouldNotBeUndone(t *testing.T) {
	m, o := onTrial(t)
	m.hidden = true
	if _, err := plan(t, m, o).Do(t.Context()); err == nil || recorded(m) {
		t.Errorf("%v, recorded %v", err, recorded(m))
	}
	m.undoErr = errors.New("stuck")
	if _, err := plan(t, m, o).Do(t.Context()); err == nil || !recorded(m) {
		t.Errorf("%v, recorded %v", err, recorded(m))
	}
	m.uptime += time.Hour
	if said, err := o.Trials.End(t.Context(), false); err == nil || said != "" || !recorded(m) {
		t.Errorf("stuck still: %q, %v", said, err)
	}
	m.undoErr = nil
	if said, err := o.Trials.End(t.Context(), false); err != nil || said == "" || recorded(m) {
		t.Errorf("in the end: %q, %v", said, err)
	}
}

func TestConfirmationThatWasCutOffIsFinished(t *testing.T) {
	m, o := onTrial(t)
	try(t, m, o)
	trial, err := o.Trials.Current()
	if err != nil {
		t.Fatal(err)
	}
	trial.Confirmed = true
	if err := o.Trials.write(trial); err != nil {
		t.Fatal(err)
	}
	m.done = nil
	if said, err := o.Trials.End(t.Context(), false); err != nil || !strings.Contains(said, "made to last") || recorded(m) || !m.on || !slices.Equal(m.done, []string{"keep"}) {
		t.Errorf("%q, %v, did %q", said, err, m.done)
	}
}

// A confirmation and the end of the trial compete for one lock: one of them wins, and the firewall
// is in the state that it reports.
func TestConfirmationAndEndMeetAtOneLock(t *testing.T) {
	for range 50 {
		m, o := onTrial(t)
		try(t, m, o)
		confirmation := plan(t, m, o.confirming())
		release, err := o.Trials.lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m.uptime += 121 * time.Second
		ended, confirmed := make(chan string, 1), make(chan error, 1)
		go func() {
			said, err := o.Trials.End(t.Context(), false)
			if err != nil {
				t.Error(err)
			}
			ended <- said
		}()
		go func() {
			_, err := confirmation.Do(t.Context())
			confirmed <- err
		}()
		release()
		said, refusal := <-ended, <-confirmed
		if said == "" || refusal == nil || m.on || recorded(m) {
			t.Fatalf("ended %q, confirmed %v, on %v", said, refusal, m.on)
		}
	}
}

// Changes that another run makes between a plan and its execution are seen under the lock.
func TestPlanThatAnotherRunOvertookChangesNothing(t *testing.T) {
	overtaken := func(name string, m *machine, e *Enabling) {
		t.Helper()
		m.done = nil
		if got, err := e.Do(t.Context()); err == nil || fault.From(err).Code != fault.FirewallFailed || len(m.done) != 0 || !m.on {
			t.Errorf("%s: %+v, %v, did %q", name, got, err, m.done)
		}
	}
	m, o := onTrial(t)
	second := plan(t, m, o)
	try(t, m, o)
	overtaken("on trial", m, second)
	try(t, m, o.confirming())
	overtaken("confirmed", m, second)
	if recorded(m) {
		t.Error("a firewall that was confirmed is on trial again")
	}

	m, o = onTrial(t)
	m.name = Nftables
	first := plan(t, m, o)
	m.facts.Chains = []Chain{{Family: "inet", Table: BaselineTable, Name: "input", Input: true, DropPolicy: true}}
	lasting := plan(t, m, o)
	m.facts.Chains = nil
	if _, err := first.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	overtaken("rules on trial, taken for lasting ones", m, lasting)
}

func TestRecordThatCannotBeReliedOnIsRefused(t *testing.T) {
	m, o := onTrial(t)
	try(t, m, o)
	good, err := os.ReadFile(m.record)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "{", "null", "{}", string(good) + "{}", strings.Replace(string(good), `"version":1`, `"version":2`, 1), strings.Replace(string(good), "boot-1", "", 1),
		strings.Replace(string(good), `"port":22,`, `"port":0,`, 1), strings.Replace(string(good), "ufw", "", 1), strings.Replace(string(good), "version", "versions", 1),
	} {
		if err := os.WriteFile(m.record, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := PlanEnable(t.Context(), m, m, o)
		if _, end := o.Trials.End(t.Context(), false); fault.From(err).Code != fault.StateCorrupt || fault.From(end).Code != fault.StateCorrupt || !recorded(m) {
			t.Errorf("%q: %v, %v", text, err, end)
		}
	}
	if err := errors.Join(os.WriteFile(m.record, good, 0o600), os.Chmod(m.record, 0o666)); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Trials.Current(); fault.From(err).Code != fault.StateCorrupt {
		t.Errorf("a record that everyone can write: %v", err)
	}
}

func TestRulesThatWereNotReadAreNamed(t *testing.T) {
	m := newMachine()
	m.skipped = []string{"allow OpenSSH", "two", "three", "four", "five", "six"}
	if said := plan(t, m, EnableOptions{}).Summary(); !strings.Contains(said, "What these rules of ufw let in or deny was not looked at: allow OpenSSH; two; three; four; five and more.") {
		t.Errorf("%s", said)
	}
}

func FuzzTrial(f *testing.F) {
	f.Add([]byte(`{"version":1,"change":{"manager":"ufw","openings":[{"port":22,"protocol":"tcp"}]},"allowed":[],"boot_id":"x","ends_at_uptime_ms":5,"seconds":120}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		trial, err := parseTrial(raw)
		if (trial == nil) != (err != nil) || trial != nil && (trial.Boot == "" || trial.Change.Manager == "") {
			t.Errorf("%+v, %v", trial, err)
		}
	})
}

// What is not read back is not undone.
func TestRecordThatCouldNotBeReadIsNotWritten(t *testing.T) {
	m, o := onTrial(t)
	for n, refused := range map[int]bool{600: false, 2000: true} {
		c := Change{Manager: Firewalld, Openings: make([]Opening, n)}
		for i := range c.Openings {
			c.Openings[i] = Opening{Zone: "public", Port: tcp(uint16(i + 1))}
		}
		_, err := o.Trials.begin(t.Context(), c, []Port{})
		if (err != nil) != refused || recorded(m) == refused || refused && !strings.Contains(err.Error(), "2000 openings would be longer than 64 KiB") {
			t.Errorf("%d openings: %v, recorded %v", n, err, recorded(m))
		}
		if current, err := o.Trials.Current(); err != nil || !refused && len(current.Change.Openings) != n {
			t.Errorf("%d openings, read back: %+v, %v", n, current, err)
		}
		if err := o.Trials.remove(); err != nil {
			t.Fatal(err)
		}
	}
}
