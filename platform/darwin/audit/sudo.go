// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"strconv"
	"strings"

	"sentinel/internal/audit"
	"sentinel/platform/darwin/posture"
	"sentinel/platform/unix/sudoers"
)

func sudoChecks() []check {
	return []check{
		{About: audit.About{
			ID: "sudo.nopasswd", Name: "sudo asks for a password", Severity: audit.High, Weight: 6,
			Reference:   "sudoers(5): NOPASSWD",
			Description: "Whoever gets into such an account is root without knowing its password.",
			Formula:     "PASS when no sudo rule lets a user other than root run a command as root without a password. FAIL when a rule allows all commands, WARN when it names commands. The rules for sentinel itself do not count where only root can change it. Needs root.",
		}, Run: sudoNoPassword},
		{About: audit.About{
			ID: "sudo.timestamp", Name: "How long sudo remembers", Severity: audit.Low, Weight: 2,
			Reference:   "mSCP os_sudo_timeout_configure, os_sudoers_timestamp_type_configure",
			Description: "Until then, any program of the user can become root without the password.",
			Formula:     "PASS when timestamp_timeout is 5 minutes, the default, or less, and each terminal has its own. WARN otherwise. Needs root.",
		}, Run: sudoTimestamp},
	}
}

// A sudoPolicy is the sudo rules.
type sudoPolicy struct{ sudoers.Policy }

// sudoPolicy reads the rules, once. On macOS only root can read them.
func (m *machine) sudoPolicy() (sudoPolicy, error) {
	if !m.privileged() {
		return sudoPolicy{}, posture.ErrRoot
	}
	return m.sudo.Get(func() (sudoPolicy, error) {
		p, err := sudoers.Read(m.tree(), "/etc/sudoers")
		return sudoPolicy{p}, err
	})
}

func sudoNoPassword(_ context.Context, m *machine) audit.Finding {
	p, err := m.sudoPolicy()
	if err != nil {
		return audit.Unread("sudoers", err)
	}
	return p.NoPassword(sudoers.Own(m.tree(), m.Owner))
}

// maxTimestampTimeout is the default of sudo, in minutes.
const maxTimestampTimeout = 5

func sudoTimestamp(_ context.Context, m *machine) audit.Finding {
	p, err := m.sudoPolicy()
	if err != nil {
		return audit.Unread("sudoers", err)
	}
	wrong := p.longTimestamps()
	switch {
	case len(wrong) > 0:
		return audit.Warned("Longer than 5 minutes, or for all terminals", "Write Defaults timestamp_timeout=0 and Defaults timestamp_type=tty into a file of /etc/sudoers.d: sudo visudo -f FILE", wrong...)
	case p.Hole != nil:
		return audit.Unread("sudoers", p.Hole)
	default:
		return audit.Passed("At most 5 minutes, for each terminal")
	}
}

// longTimestamps returns the last line of each option that lets sudo remember the
// password for long, or for several terminals.
func (p sudoPolicy) longTimestamps() []string {
	last, bad := map[string]string{}, map[string]bool{}
	for _, d := range p.Defaults {
		for _, option := range d.Options {
			name, value, _ := strings.Cut(strings.ReplaceAll(option, " ", ""), "=")
			name = strings.TrimPrefix(name, "!")
			switch name {
			case "timestamp_timeout":
				n, err := strconv.ParseFloat(strings.Trim(value, `"`), 64)
				bad[name] = err != nil || n < 0 || n > maxTimestampTimeout
			case "timestamp_type":
				bad[name] = strings.Trim(value, `"`) == "global"
			case "tty_tickets":
				bad[name] = strings.HasPrefix(option, "!")
			default:
				continue
			}
			last[name] = audit.At(d.File, d.Line, "Defaults"+d.Scope+" "+option)
		}
	}
	var wrong []string
	for _, name := range []string{"timestamp_timeout", "timestamp_type", "tty_tickets"} {
		if bad[name] {
			wrong = append(wrong, last[name])
		}
	}
	return wrong
}
