// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/platform/linux/posture"
	"sentinel/platform/unix/hostfile"
)

func macChecks() []check {
	return []check{
		{About: audit.About{
			ID: "mac.enforcing", Name: "Mandatory access control", Severity: audit.Medium, Weight: 6,
			Reference:   "CIS 1.3.1.1, CIS 1.3.1.2, Lynis MACF-6208, Lynis MACF-6234",
			Description: "A service that was taken over can do all that its user can.",
			Formula:     "PASS when SELinux is enforcing, or AppArmor is on and enforces at least one profile. WARN when SELinux is permissive, or will be after the next boot, or AppArmor enforces none. FAIL when neither is on. Skipped when it cannot be seen; AppArmor shows its profiles to root alone.",
		}, Run: macEnforcing},
		{About: audit.About{
			ID: "mac.complaining", Name: "AppArmor profiles enforce", Severity: audit.Low, Weight: 2,
			Reference:   "CIS 1.3.1.3, CIS 1.3.1.4, Lynis MACF-6208",
			Description: "A profile that only complains stops nothing.",
			Formula:     "PASS when no loaded profile is in complain mode. WARN otherwise. Does not apply without AppArmor or profiles.",
		}, Run: macComplaining},
	}
}

const appArmorProfiles = "/sys/kernel/security/apparmor/profiles"

func macEnforcing(_ context.Context, m *machine) audit.Finding {
	selinux, selinuxErr := posture.SELinux(m.Root)
	if selinuxErr == nil && selinux == posture.Enforcing {
		return m.selinuxStays()
	}
	if selinuxErr == nil && selinux == posture.Permissive {
		return audit.Warned("SELinux is permissive", "Set SELINUX=enforcing in /etc/selinux/config; now: sudo setenforce 1", "/sys/fs/selinux/enforce: 0")
	}
	apparmor, err := posture.AppArmor(m.Root)
	switch {
	case err != nil:
		return audit.Unread("AppArmor", hostfile.Reason(err))
	case apparmor == posture.Enabled:
		return m.appArmorEnforces()
	case selinuxErr != nil:
		return audit.Unread("SELinux", hostfile.Reason(selinuxErr))
	default:
		return audit.Failed("None", m.mandatoryAccessFix(), "AppArmor is "+apparmor, "SELinux is "+selinux)
	}
}

func (m *machine) mandatoryAccessFix() string {
	if m.foreignKernel() {
		return "This container cannot change it. On its host, start AppArmor or SELinux with the kernel, and give the container a profile or a label."
	}
	return "Install AppArmor or SELinux and start it with the kernel; on Debian and Ubuntu: sudo apt install apparmor"
}

func (m *machine) appArmorEnforces() audit.Finding {
	p, err := posture.AppArmorProfiles(m.Root)
	switch {
	case err != nil:
		return audit.Unread("AppArmor profiles", err)
	case p.Enforcing == 0:
		return audit.Warned("AppArmor is on and enforces nothing", "Install profiles and load them; on Debian and Ubuntu: sudo apt install apparmor-profiles && sudo systemctl reload apparmor", appArmorProfiles+": none in enforce mode")
	default:
		return audit.Passed(fmt.Sprintf("AppArmor enforces %s", humanize.Count(p.Enforcing, "profile", "profiles")))
	}
}

// selinuxStays judges whether SELinux, which is enforcing now, will be after the
// next boot too. Without a configuration it stays as it is.
func (m *machine) selinuxStays() audit.Finding {
	const file = "/etc/selinux/config"
	raw, err := m.read(file)
	if err != nil && !hostfile.Missing(err) {
		return audit.Unread(file, err)
	}
	mode, line := selinuxAtBoot(string(raw))
	if line == 0 || mode == posture.Enforcing {
		return audit.Passed("SELinux is enforcing")
	}
	return audit.Warned("SELinux is enforcing until the next boot", "Set SELINUX=enforcing in "+file, audit.At(file, line, "SELINUX="+mode))
}

// selinuxAtBoot returns the mode that selinux_config(5) sets, and its line, 0 for
// none.
func selinuxAtBoot(config string) (mode string, line int) {
	number := 0
	for text := range strings.Lines(config) {
		number++
		if value, ok := strings.CutPrefix(strings.TrimSpace(text), "SELINUX="); ok {
			mode, line = strings.ToLower(strings.TrimSpace(value)), number
		}
	}
	return mode, line
}

func macComplaining(_ context.Context, m *machine) audit.Finding {
	state, err := posture.AppArmor(m.Root)
	if err != nil {
		return audit.Unread("AppArmor", hostfile.Reason(err))
	}
	if state != posture.Enabled {
		return audit.NotApplicable("AppArmor is " + state)
	}
	p, err := posture.AppArmorProfiles(m.Root)
	switch {
	case err != nil:
		return audit.Unread("AppArmor profiles", err)
	case p.Complaining > 0:
		return audit.Warned(humanize.Count(p.Complaining, "profile only complains", "profiles only complain"), "Enforce what does its work: sudo aa-enforce PROFILE", appArmorProfiles+": "+humanize.Count(p.Complaining, "profile", "profiles")+" in complain mode")
	case p.Enforcing == 0:
		return audit.NotApplicable("no profile is loaded")
	default:
		return audit.Passed(humanize.Count(p.Enforcing, "profile enforces", "profiles enforce"))
	}
}
