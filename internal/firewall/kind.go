// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"fmt"

	"sentinel/internal/fault"
)

// command returns the flags that begin such a trial, and with --confirm keep it.
func (t *Trial) command() string {
	switch t.Change.Kind {
	case LetIn:
		return "--allow-service " + portList(t.Allowed, ",")
	case TurnOff:
		return "--disable-firewall"
	default:
		return "--fix-firewall"
	}
}

// what says what the trial has changed.
func (t *Trial) what() string {
	switch t.Change.Kind {
	case LetIn:
		return subject(t.Allowed, "was", "were") + " let in by " + t.Change.Manager
	case TurnOff:
		return t.Change.Manager + " was switched off"
	default:
		return t.Change.Manager + " was switched on"
	}
}

// undone says that the change was taken back.
func (t *Trial) undone() string {
	switch t.Change.Kind {
	case LetIn:
		return subject(t.Allowed, "is", "are") + " no longer let in by " + t.Change.Manager
	case TurnOff:
		return "The firewall (" + t.Change.Manager + ") was switched on again"
	default:
		return "The firewall (" + t.Change.Manager + ") was taken back"
	}
}

// lost says that somebody else has undone the change.
func (t *Trial) lost() string {
	if t.Change.Kind == TurnOff {
		return "The firewall (" + t.Change.Manager + ") that was switched off for a trial is on again"
	}
	return "The firewall (" + t.Change.Manager + ") that is on trial does not show any more"
}

// howToConfirm tells the owner what to do within seconds.
func (t *Trial) howToConfirm(seconds int) string {
	var ends, before, tool string
	switch t.Change.Kind {
	case LetIn:
		ends, before, tool = "this is taken back", "If it is meant to stay", "allow_service"
	case TurnOff:
		ends, before, tool = "it is switched on again", "If it is meant to stay off", "disable_firewall"
	default:
		ends, before, tool = "it is switched off again", "Open a new remote session now; only when that works", "enable_firewall"
	}
	return fmt.Sprintf("In %d s, or with a reboot, %s by itself. %s, confirm: sudo sentinel %s --confirm (confirm of %s).", seconds, ends, before, t.command(), tool)
}

// admits refuses a change of one kind while another one is on trial, or one has to be ended.
func (t *Trial) admits(kind Kind) error {
	switch {
	case t.Over():
		return fault.New(fault.FirewallFailed, "The last trial of a firewall ("+t.Change.Manager+") has to be ended first: "+t.Reason()+".").
			WithFix("That happens by itself within a minute where sentinel-restore.timer runs, and with: sudo sentinel --restore-blocklist")
	case t.Change.Kind != kind:
		return t.busy()
	default:
		return nil
	}
}

// busy is the refusal of a second trial: only one can be confirmed and taken back at a time.
func (t *Trial) busy() error {
	return fault.New(fault.FirewallFailed, fmt.Sprintf("Another change of the firewall is on trial for %d s more: %s.", t.secondsLeft(), t.what())).
		WithFix("Keep it, or wait until it is taken back: sudo sentinel " + t.command() + " --confirm")
}
