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
			Formula:     "PASS when no sudo rule lets a user other than root run a command as root without a password. FAIL when a rule allows all commands, also where !authenticate or exempt_group may be for its user (who is in a group or an alias is not looked up), WARN when it names commands. The rules for sentinel itself do not count where only root can change it. Needs root.",
		}, Run: sudoNoPassword},
		{About: audit.About{
			ID: "sudo.timestamp", Name: "How long sudo remembers", Severity: audit.Low, Weight: 2,
			Reference:   "mSCP os_sudo_timeout_configure, os_sudoers_timestamp_type_configure",
			Description: "Until then, any program of the user can become root without the password.",
			Formula:     "PASS when timestamp_timeout is 5 minutes, the default, or less, and each terminal has its own, also where Defaults are for some users or hosts. WARN otherwise. Needs root.",
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
// password for long, or for several terminals. What holds for some users or hosts leaves
// alone what holds for the others.
func (p sudoPolicy) longTimestamps() []string {
	type setting struct{ scope, name string }
	last, order := map[setting]string{}, []setting{}
	for _, d := range p.Defaults {
		for _, option := range d.Options {
			name, bad, ok := timestampOption(option)
			if !ok {
				continue
			}
			s := setting{d.Scope, name}
			if _, known := last[s]; !known {
				order = append(order, s)
			}
			if last[s] = ""; bad {
				last[s] = audit.At(d.File, d.Line, "Defaults"+d.Scope+" "+option)
			}
		}
	}
	var wrong []string
	for _, s := range order {
		if last[s] != "" {
			wrong = append(wrong, last[s])
		}
	}
	return wrong
}

// timestampOption returns the name of an option that says how long or for what sudo
// remembers the password, and whether that is too much; false for other options.
func timestampOption(option string) (name string, bad, ok bool) {
	name, value, _ := strings.Cut(strings.ReplaceAll(option, " ", ""), "=")
	name, off := strings.CutPrefix(name, "!")
	value = strings.Trim(value, `"`)
	switch name {
	case "timestamp_timeout":
		n, err := strconv.ParseFloat(value, 64)
		return name, !off && (err != nil || !(n >= 0 && n <= maxTimestampTimeout)), true
	case "timestamp_type":
		return name, value == "global", true
	case "tty_tickets":
		return name, off, true
	default:
		return "", false, false
	}
}
