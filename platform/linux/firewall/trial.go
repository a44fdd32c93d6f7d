// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/firewall"
	"sentinel/platform/unix/hostfile"
)

var _ firewall.TrialSource = (*Manager)(nil)

// Boot implements [firewall.TrialSource]: the boot id of random(4), and the
// clock that goes on while the machine sleeps (clock_gettime(2)).
func (m *Manager) Boot() (id string, uptime time.Duration, err error) {
	text, err := hostfile.Text("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0, err
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return "", 0, err
	}
	return strings.TrimSpace(text), time.Duration(now.Nano()), nil
}

// Endable implements [firewall.TrialSource].
func (m *Manager) Endable(ctx context.Context, kind firewall.Kind, manager string) error {
	return m.takenBackAtBoot(ctx, firewall.Change{Kind: kind, Manager: manager, WasEnabled: ufwEnabled(m.root)})
}

// takenBackAtBoot fails where a change would outlast a reboot unconfirmed. Of the firewalls only ufw writes down what
// is not confirmed yet.
func (m *Manager) takenBackAtBoot(ctx context.Context, c firewall.Change) error {
	lasts := c.Manager == firewall.UFW && (c.Kind != firewall.TurnOn || !c.WasEnabled)
	if lasts && !m.units.State(ctx, RestoreUnit).Enabled {
		return fmt.Errorf("what ufw is told outlasts a reboot, and %s is not enabled at boot to take it back", RestoreUnit)
	}
	return nil
}

// Arrange implements [firewall.TrialSource]. A timer of systemd outlives the
// session and all that it has started; elsewhere a process in a session of its own does.
func (m *Manager) Arrange(ctx context.Context, program string, after time.Duration, c firewall.Change) error {
	if err := m.takenBackAtBoot(ctx, c); err != nil {
		return err
	}
	if !m.units.Running() {
		seconds := int((after + time.Second - 1) / time.Second)
		return m.detach(program, "--restore-blocklist", "--after", strconv.Itoa(seconds))
	}
	return m.units.Later(ctx, "Take back a firewall that nobody has confirmed", after, program, "--restore-blocklist")
}

// Cancel implements [firewall.TrialSource]. A process that waits instead of a timer is left to itself.
func (m *Manager) Cancel(ctx context.Context) {
	if m.units.Running() {
		m.units.CancelLater(ctx) //nolint:errcheck // the run changes nothing and says nothing
	}
}

// Resume implements [firewall.TrialSource].
func (m *Manager) Resume(c firewall.Change) (firewall.Resumed, error) {
	if c.Kind != firewall.TurnOn {
		return m.loaded(c)
	}
	note := func(firewall.Change) error { return nil }
	switch c.Manager {
	case firewall.UFW:
		return &ufw{m: m, change: c}, nil
	case firewall.Firewalld:
		return &firewalld{m: m, change: c, note: note}, nil
	case firewall.Nftables:
		return &ownRuleset{m: m, change: c}, nil
	}
	return nil, fmt.Errorf("there is no firewall %q", c.Manager)
}

// Loaded implements [firewall.Manager].
func (m *Manager) Loaded(name string) (firewall.Loaded, error) {
	return m.loaded(firewall.Change{Manager: name})
}

// A loaded firewall can tell whether what was changed in it is in force.
type loaded interface {
	firewall.Loaded
	firewall.Resumed
}

// loaded returns the firewall that is on, or was when a change was begun.
func (m *Manager) loaded(c firewall.Change) (loaded, error) {
	switch c.Manager {
	case firewall.UFW:
		return &loadedUFW{ufw{m: m, change: c}}, nil
	case firewall.Firewalld:
		return &loadedFirewalld{firewalld{m: m, change: c}}, nil
	case firewall.Nftables:
		return &loadedRuleset{ownRuleset{m: m, change: c}}, nil
	}
	return nil, fmt.Errorf("there is no firewall %q", c.Manager)
}

// startAtBoot makes sure that systemd starts a unit at boot. why says what
// stands in the way.
func (m *Manager) startAtBoot(ctx context.Context, name string) (lasting bool, why string) {
	u := m.units.State(ctx, name)
	switch {
	case u.Enabled:
		return true, ""
	case !u.Loaded:
		return false, "the unit " + name + " is not installed"
	}
	if err := m.units.Enable(ctx, name); err != nil {
		return false, err.Error()
	}
	return true, ""
}
