// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/host"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
)

// A tried firewall is one that another run has switched on.
type tried struct {
	firewall.Backend
	undone int
	stuck  error
}

func (*tried) Boot() (string, time.Duration, error) { return "boot", time.Hour, nil }

func (*tried) Endable(context.Context, firewall.Kind, string) error { return nil }

func (*tried) Arrange(context.Context, string, time.Duration, firewall.Change) error { return nil }

func (*tried) Cancel(context.Context) {}

func (f *tried) Resume(firewall.Change) (firewall.Resumed, error) { return f, nil }

func (*tried) InForce(context.Context) error { return nil }

func (f *tried) Undo(context.Context) error {
	f.undone++
	return f.stuck
}

// restoring is a session for --restore-blocklist with a trial that ends at an
// uptime, on a machine whose packet filter cannot be used.
func restoring(t *testing.T, endsAt string) (session, invocation, *tried) {
	t.Helper()
	s, call := changing(t)
	f := &tried{}
	s.stateDir, s.who = t.TempDir(), journal.Who{User: "root"}
	s.host.Live, s.host.FirewallTrials = true, f
	s.host.Blocklist = host.Blocklist{
		Context:         emptyFilter{},
		Backend:         func(context.Context) (blocklist.Backend, error) { return nil, errors.New("no packet filter") },
		Baseline:        func(context.Context) (bool, error) { return false, errors.New("not while a trial is under way") },
		BaselineMissing: func(context.Context) (bool, error) { return false, errors.New("not while a trial is under way") },
	}
	record := `{"version":1,"change":{"manager":"ufw"},"allowed":[],"boot_id":"boot","ends_at_uptime_ms":` + endsAt + `,"seconds":120}`
	if err := os.WriteFile(filepath.Join(s.stateDir, trialName), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, op := range ops.Commands() {
		if op.Name == "restore_blocklist" {
			call.op = op
		}
	}
	return s, call, f
}

func TestTrialThatIsOverIsTakenBackWhateverElseFails(t *testing.T) {
	for name, journalled := range map[string]bool{"with a journal": true, "without": false} {
		s, call, f := restoring(t, "1")
		if !journalled {
			s.journal = journal.New("/dev/null/log", "/dev/null/state")
		}
		c, err := planRestore(t.Context(), s, call)
		if err != nil || c.already != nil || !strings.Contains(c.would, "not confirmed within 120 s") {
			t.Fatalf("%s: %+v, %v", name, c, err)
		}
		doc, err := s.commit(t.Context(), call, c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d := doc.(*restoreDocument)
		if f.undone != 1 || d.FirewallTrial != "The firewall (ufw) was taken back: not confirmed within 120 s." || (d.JournalSeq != 0) != journalled {
			t.Errorf("%s: undone %d times, %+v", name, f.undone, d)
		}
		p := newPage(80, false)
		d.view(p)
		if got := string(p.bytes()); !strings.Contains(got, "was taken back") {
			t.Errorf("%s: %s", name, got)
		}
		if !journalled {
			continue
		}
		h, err := s.journal.History(t.Context(), 1, func(journal.Program) bool { return false })
		if err != nil || len(h.Actions) != 1 || h.Actions[0].Reason != "firewall on trial: not confirmed within 120 s" || !strings.Contains(h.Actions[0].Detail, "was taken back") {
			t.Errorf("the journal has %+v, %v", h.Actions, err)
		}
	}
}

// A configuration that nobody can use keeps nobody out for longer than the trial lasts.
func TestTrialThatIsOverIsTakenBackWhateverTheConfigurationSays(t *testing.T) {
	for endsAt, undone := range map[string]int{"1": 1, "9999999999": 0} {
		s, call, f := restoring(t, endsAt)
		s.invalid = fault.New(fault.ConfigInvalid, "The configuration cannot be used.")
		c, err := planRestore(t.Context(), s, call)
		if err == nil {
			_, err = s.commit(t.Context(), call, c)
		}
		if fault.From(err).Code != fault.ConfigInvalid || f.undone != undone {
			t.Errorf("undone %d times, want %d: %v", f.undone, undone, err)
		}
	}
}

// An emptyFilter blocks nothing.
type emptyFilter struct{ blocklist.Backend }

func (emptyFilter) Name() string { return "none" }

func (emptyFilter) Abilities() blocklist.Abilities { return blocklist.Abilities{} }

func (emptyFilter) ProtectedAddrs(context.Context) ([]blocklist.ProtectedAddr, error) {
	return nil, nil
}

func (emptyFilter) NamedAddrs(context.Context, []blocklist.ProtectedAddr) ([]blocklist.ProtectedAddr, error) {
	return nil, nil
}

func (emptyFilter) Loaded(context.Context) ([]blocklist.Block, bool, error) { return nil, true, nil }

// Whoever runs it, systemd for one, has to learn that it must be run again.
func TestTrialThatCannotBeTakenBackIsAFailure(t *testing.T) {
	s, call, f := restoring(t, "1")
	f.stuck = errors.New("still on")
	s.host.Blocklist.Backend = func(context.Context) (blocklist.Backend, error) { return emptyFilter{}, nil }
	s.host.Blocklist.Context = emptyFilter{}
	c, err := planRestore(t.Context(), s, call)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := s.commit(t.Context(), call, c); err == nil || fault.From(err).Code != fault.FirewallFailed || !strings.Contains(err.Error(), "still on") {
		t.Errorf("%+v, %v", doc, err)
	}
	if _, err := os.Stat(filepath.Join(s.stateDir, trialName)); err != nil {
		t.Errorf("the record: %v", err)
	}
}

// The rules on trial let in more than those of the definition.
func TestRulesOfATrialBegunMeanwhileAreNotReplaced(t *testing.T) {
	s, call, f := restoring(t, "99000000")
	s.host.Blocklist.Backend = func(context.Context) (blocklist.Backend, error) { return emptyFilter{}, nil }
	s.host.Blocklist.Context = emptyFilter{}
	s.host.Blocklist.BaselineMissing = func(context.Context) (bool, error) { return true, nil }
	path := filepath.Join(s.stateDir, trialName)
	if err := os.Rename(path, path+".later"); err != nil {
		t.Fatal(err)
	}
	c, err := planRestore(t.Context(), s, call)
	if err := errors.Join(err, os.Rename(path+".later", path)); err != nil {
		t.Fatal(err)
	}
	doc, err := s.commit(t.Context(), call, c)
	if err != nil || f.undone != 0 {
		t.Fatalf("undone %d times, %v", f.undone, err)
	}
	if d := doc.(*restoreDocument); len(d.Unavailable) != 0 || d.FirewallRestored {
		t.Errorf("%+v", d)
	}
}

// A firewall that is being switched off is not put back behind the back of its trial.
func TestNoTrialBeginsWhileAFirewallIsPutBack(t *testing.T) {
	s, call, _ := restoring(t, "1")
	if err := os.Remove(filepath.Join(s.stateDir, trialName)); err != nil {
		t.Fatal(err)
	}
	s.host.Blocklist.Backend = func(context.Context) (blocklist.Backend, error) { return emptyFilter{}, nil }
	s.host.Blocklist.BaselineMissing = func(context.Context) (bool, error) { return true, nil }
	s.host.Blocklist.Baseline = func(context.Context) (bool, error) {
		lock, err := os.OpenFile(filepath.Join(s.stateDir, trialName)+".lock", os.O_RDONLY|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			t.Errorf("the lock of trials is free: %v", err)
		}
		return true, nil
	}
	c, err := planRestore(t.Context(), s, call)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := s.commit(t.Context(), call, c); err != nil || !doc.(*restoreDocument).FirewallRestored {
		t.Errorf("%+v, %v", doc, err)
	}
}

// It is the same every minute, and would fill the journal of changes.
func TestFirewallThatIsNotPutBackIsNoChange(t *testing.T) {
	s, call, _ := restoring(t, "99000000")
	if err := os.Remove(filepath.Join(s.stateDir, trialName)); err != nil {
		t.Fatal(err)
	}
	s.host.Blocklist.BaselineMissing = func(context.Context) (bool, error) { return false, errors.New("it would shut out 2222/tcp") }
	c, err := planRestore(t.Context(), s, call)
	if err != nil || c.already == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	if d := c.already.(*restoreDocument); d.FirewallRestored || len(d.Unavailable) != 1 || d.Unavailable[0].Field != "firewall" || d.logLine() != "it would shut out 2222/tcp" {
		t.Errorf("%+v, logged %q", d, d.logLine())
	}
}

func TestTrialThatIsUnderWayIsLeftAlone(t *testing.T) {
	s, call, f := restoring(t, "99000000")
	if c, err := planRestore(t.Context(), s, call); err != nil || c.already == nil {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := os.Stat(filepath.Join(s.stateDir, trialName)); err != nil || f.undone != 0 {
		t.Errorf("undone %d times, %v", f.undone, err)
	}
}

func TestDamagedRecordOfATrialIsAnError(t *testing.T) {
	s, call, f := restoring(t, "x")
	s.host.Blocklist.BaselineMissing = func(context.Context) (bool, error) { return false, nil }
	c, err := planRestore(t.Context(), s, call)
	if fault.From(err).Code != fault.StateCorrupt || f.undone != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// The wait is no part of the time that the operation has.
func TestAfterWaitsAndCanBeCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := pause(t.Context(), invocation{}); err != nil || time.Since(began) != 0 {
			t.Errorf("without --after: %v after %s", err, time.Since(began))
		}
		call, err := parse([]string{"--restore-blocklist", "--after", "3600"})
		if err != nil {
			t.Fatal(err)
		}
		if err := pause(t.Context(), call); err != nil || time.Since(began) != time.Hour {
			t.Errorf("waited %s, %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := pause(ctx, call); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Hour+time.Minute {
			t.Errorf("waited %s, %v", time.Since(began), err)
		}
	})
}
