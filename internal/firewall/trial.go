// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sentinel/internal/atomicfile"
	"sentinel/internal/fault"
	"sentinel/internal/lockfile"
	"sentinel/internal/trust"
)

const (
	// DefaultTrial is how long an unconfirmed firewall stays on: long enough to open a remote
	// session and confirm, and short enough to wait for.
	DefaultTrial = 120 * time.Second
	// maxRecord bounds the record of a trial, in KiB.
	maxRecord = 64
	// lockTimeout is how long a run waits for another one that turns a firewall on.
	lockTimeout = 15 * time.Second
	// takeBackLimit bounds the rollback of a firewall in a run of its own.
	takeBackLimit = 25 * time.Second
)

// Trials changes firewalls temporarily, as iptables-apply(8) does: what nobody confirms is rolled
// back. So a rule that locks the owner out does so only for that time, even if nobody foresaw it,
// and a firewall that was turned off comes back.
type Trials struct {
	// Path is the record of the trial that is under way. Only root may write it.
	Path string
	// Source is nil on systems without trials.
	Source TrialSource
	// Program returns the absolute path of sentinel.
	Program func() (string, error)
	// Length is how long a trial takes; 0 means [DefaultTrial].
	Length time.Duration
}

// A Trial is a change of a firewall that is not confirmed yet.
type Trial struct {
	Version int    `json:"version"` // 1
	Change  Change `json:"change"`
	Allowed []Port `json:"allowed"` // ports of remote sessions, or those that were let in
	Boot    string `json:"boot_id"`
	// EndsAt is the uptime at which the trial ends, in milliseconds. A wall clock could be set
	// meanwhile.
	EndsAt int64 `json:"ends_at_uptime_ms"`
	// Seconds is how long the trial takes.
	Seconds int `json:"seconds"`
	// Confirmed reports that the firewall is to stay, and only has to be made persistent.
	Confirmed bool `json:"confirmed,omitempty"`

	left  time.Duration
	early bool // it is ended before its time
}

// Over reports whether the trial has to be ended: the time to confirm it has passed, the machine
// was rebooted, or a confirmation was interrupted.
func (t *Trial) Over() bool { return t.Confirmed || t.left <= 0 }

// Reason returns the reason why the trial is ended, in a few words.
func (t *Trial) Reason() string {
	switch {
	case t.Confirmed:
		return "the confirmation was cut off"
	case t.early:
		return "ended before it was confirmed"
	case t.Change.Rebooted:
		return fmt.Sprintf("not confirmed within %d s: the machine was restarted", t.Seconds)
	default:
		return fmt.Sprintf("not confirmed within %d s", t.Seconds)
	}
}

// is reports whether two records are of one trial.
func (t *Trial) is(other *Trial) bool {
	return t.Change.Kind == other.Change.Kind && t.Boot == other.Boot && t.EndsAt == other.EndsAt && slices.Equal(t.Allowed, other.Allowed)
}

// secondsLeft is how long the trial can still be confirmed, in whole seconds.
func (t *Trial) secondsLeft() int { return int(t.left / time.Second) }

// Current returns the trial that is under way or has to be ended, or nil. It changes nothing.
func (s Trials) Current() (*Trial, error) {
	if s.Source == nil {
		return nil, nil
	}
	raw, err := trust.RootOrSelf.Read(s.Path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var t *Trial
	if err == nil {
		t, err = parseTrial(raw)
	}
	if err != nil {
		return nil, fault.Wrap(fault.StateCorrupt, "The record of a firewall on trial in "+s.Path+" cannot be relied on, so it is not taken back by itself", err).
			WithFix("See whether remote sessions still get in, and switch the firewall off if not. Then remove " + s.Path + ".")
	}
	boot, uptime, err := s.Source.Boot()
	if err != nil {
		return nil, fmt.Errorf("tell whether the machine was restarted: %w", err)
	}
	t.left = time.Duration(t.EndsAt)*time.Millisecond - uptime
	if t.Change.Rebooted = boot != t.Boot; t.Change.Rebooted {
		t.left = 0
	}
	return t, nil
}

func parseTrial(raw []byte) (*Trial, error) {
	var t Trial
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&t); err != nil {
		return nil, err
	}
	known := slices.Contains([]Kind{TurnOn, LetIn, TurnOff}, t.Change.Kind)
	if strict.More() || !known || t.Version != 1 || t.Boot == "" || t.Change.Manager == "" || t.Seconds <= 0 || t.EndsAt <= 0 {
		return nil, errors.New("it does not have the form of one")
	}
	for _, o := range t.Change.Openings {
		if _, err := ParseOpening(o.String()); err != nil {
			return nil, err
		}
	}
	return &t, nil
}

// lock keeps every other run from beginning, confirming or ending a trial.
func (s Trials) lock(ctx context.Context) (release func(), err error) {
	if s.Source == nil {
		return func() {}, nil
	}
	err = trust.MakeDir(filepath.Dir(s.Path), 0o755)
	if err == nil {
		err = trust.RootOrSelf.Dirs(s.Path)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		release, err = lockfile.Exclude(ctx, s.Path+".lock", lockTimeout)
	}
	if err == nil || ctx.Err() != nil {
		return release, err
	}
	failed := fault.Wrap(fault.Unavailable, "The record of firewalls on trial cannot be locked", err)
	if busy, ok := errors.AsType[lockfile.BusyError](err); ok {
		return nil, failed.WithFix(busy.Fix())
	}
	return nil, failed
}

// begin records the coming change and schedules its rollback. It must be called under the lock and
// before anything is changed.
func (s Trials) begin(ctx context.Context, c Change, allowed []Port) (*Trial, error) {
	length := s.length()
	boot, uptime, err := s.Source.Boot()
	if err != nil {
		return nil, err
	}
	program, err := s.Program()
	if err != nil {
		return nil, err
	}
	t := &Trial{Version: 1, Change: c, Allowed: allowed, Boot: boot, EndsAt: (uptime + length).Milliseconds(), Seconds: int(length / time.Second)}
	if err := s.write(t); err != nil {
		return nil, err
	}
	// One second later, so that a run that starts slightly early does not find time left.
	if err := s.Source.Arrange(ctx, program, length+time.Second, c); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return t, nil
}

func (s Trials) length() time.Duration { return cmp.Or(s.Length, DefaultTrial) }

func (s Trials) write(t *Trial) error {
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if len(raw) >= maxRecord<<10 { // it could not be read back, and so not be undone
		return fmt.Errorf("the record of %d ports and %d openings would be longer than %d KiB", len(t.Allowed), len(t.Change.Openings), maxRecord)
	}
	return atomicfile.Write(s.Path, append(raw, '\n'), 0o600)
}

// close removes the record, and then what was scheduled for it.
func (s Trials) close(ctx context.Context) error {
	err := s.remove()
	if err == nil {
		s.Source.Cancel(ctx)
	}
	return err
}

func (s Trials) remove() error {
	if err := os.Remove(s.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(s.Path))
}

// End ends the trial if it is over, or with early in any case, and returns a sentence about what was
// done, or "" if there was nothing to do. The record is removed last: an interrupted run leaves it
// to the next one.
func (s Trials) End(ctx context.Context, early bool) (string, error) {
	release, err := s.lock(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	t, err := s.Current()
	if err != nil || t == nil || !t.Over() && !early {
		return "", err
	}
	t.early = !t.Over()
	change, err := s.Source.Resume(t.Change)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, takeBackLimit)
	defer cancel()
	if t.Confirmed {
		change.Keep(ctx)
		return "The firewall that was confirmed was made to last.", s.close(ctx)
	}
	if err := change.Undo(ctx); err != nil {
		return "", fault.Wrap(fault.FirewallFailed, t.what()+" for a trial, which was "+t.Reason()+", and this could not be taken back", err).
			WithFix("It is tried again with every run of: sudo sentinel --restore-blocklist")
	}
	return t.undone() + ": " + t.Reason() + ".", s.close(ctx)
}

// confirm keeps the change that is on trial, which has to be the one that the plan was made for: another
// run may have ended that and begun its own. Once it is recorded, nothing rolls it back any more.
func (s Trials) confirm(ctx context.Context, source Source, planned *Trial) (t *Trial, lasting bool, why string, err error) {
	release, err := s.lock(ctx)
	if err != nil {
		return nil, false, "", err
	}
	defer release()
	t, err = s.Current()
	switch {
	case err != nil:
		return nil, false, "", err
	case t == nil || t.Over() || !t.is(planned):
		return nil, false, "", tooLate(planned.command())
	}
	change, err := s.Source.Resume(t.Change)
	if err != nil {
		return nil, false, "", err
	}
	err = change.InForce(ctx) // whatever else filters beside it
	if now := Assess(source.Firewall(ctx)); err == nil && now.State != Active && t.Change.Kind != TurnOff {
		err = errors.New(now.Evidence) // a manager does not notice that its rules were flushed
	}
	if err != nil {
		return nil, false, "", fault.Wrap(fault.FirewallFailed, t.lost(), err).
			WithFix("Wait until the trial is over, then begin again: sudo sentinel " + t.command())
	}
	t.Confirmed = true
	if err := s.write(t); err != nil {
		return nil, false, "", err
	}
	lasting, why = change.Keep(ctx)
	return t, lasting, why, s.close(ctx)
}

// Without calls do unless a trial is under way, and keeps one from beginning meanwhile.
func (s Trials) Without(ctx context.Context, do func() error) error {
	release, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	if t, _ := s.Current(); t != nil { //nolint:errcheck // a record that cannot be relied on is none; End has the same error
		return nil
	}
	return do()
}

// tooLate returns the refusal of a confirmation without a trial.
func tooLate(command string) error {
	return fault.New(fault.FirewallFailed, "There is no trial of the firewall to confirm: none was begun, or it was not confirmed in time and is taken back.").
		WithFix("Begin one: sudo sentinel " + command).WithToolFix("Begin one with the same call without confirm.")
}
