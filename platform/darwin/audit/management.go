// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
)

func managementChecks() []check {
	return []check{
		{About: audit.About{
			ID: "management.enrollment", Name: "Device management", Severity: audit.Low, Weight: 2,
			Reference:   "mSCP os_mdm_require",
			Description: "Whoever manages the Mac can change it; an enrolment that nobody approved is suspicious.",
			Formula:     "PASS when profiles says that a management server is enrolled through Apple's register or with the user's approval. WARN when one is enrolled without either. Does not apply to a Mac without device management.",
		}, Run: deviceManagement},
		{About: audit.About{
			ID: "management.certificates", Name: "Added trusted certificates", Severity: audit.Medium, Weight: 4,
			Reference:   "mSCP os_certificate_authority_trust",
			Description: "Whoever holds the key of such a certificate can impersonate any site.",
			Formula:     "PASS when security lists no trust setting by administrators besides Apple's. WARN otherwise, with the names.",
		}, Run: trustedCertificates},
		{About: audit.About{
			ID: "management.time", Name: "Time from the network", Severity: audit.Medium, Weight: 3,
			Reference:   "mSCP system_settings_time_server_enforce",
			Description: "With a wrong clock, logs mislead and expired certificates are accepted.",
			Formula:     "PASS when systemsetup says that network time is on. WARN when it is off. Needs root.",
		}, Run: networkTime},
	}
}

func deviceManagement(ctx context.Context, m *machine) audit.Finding {
	r, err := m.run(ctx, "/usr/bin/profiles", "status", "-type", "enrollment")
	if err != nil {
		return audit.Unread("profiles", err)
	}
	e, err := parseEnrollment(r.Stdout)
	switch {
	case err != nil:
		return audit.Unread("profiles", err)
	case !e.Managed:
		return audit.NotApplicable("no management server is enrolled")
	case e.Automatic:
		return audit.Passed("Enrolled through Apple's register of devices")
	case e.UserApproved:
		return audit.Passed("Enrolled, and approved by the user")
	default:
		return audit.Warned("Enrolled without approval", "See who manages this Mac in System Settings, General, Device Management; approve or remove the profile there.", "profiles status -type enrollment: MDM enrollment: Yes, not approved by the user")
	}
}

func trustedCertificates(ctx context.Context, m *machine) audit.Finding {
	r, err := m.run(ctx, "/usr/bin/security", "dump-trust-settings", "-d")
	if err != nil {
		return audit.Unread("security", err)
	}
	names, err := parseTrust(r)
	switch {
	case err != nil:
		return audit.Unread("security", err)
	case len(names) == 0:
		return audit.Passed("None besides Apple's")
	default:
		return audit.Warned(humanize.Count(len(names), "certificate was", "certificates were")+" added", "Remove those that nobody knows in Keychain Access, System, Certificates.", audit.Prefixed("security dump-trust-settings -d: ", names)...)
	}
}

func networkTime(ctx context.Context, m *machine) audit.Finding {
	if !m.privileged() {
		return needsRoot("systemsetup")
	}
	r, err := m.run(ctx, "/usr/sbin/systemsetup", "-getusingnetworktime")
	if err != nil {
		return audit.Unread("systemsetup", err)
	}
	on, err := parseSetting(r, "Network Time")
	switch {
	case err != nil:
		return audit.Unread("systemsetup", err)
	case on:
		return audit.Passed("On")
	default:
		return audit.Warned("Off", "sudo systemsetup -setusingnetworktime on", "systemsetup -getusingnetworktime: Network Time: Off")
	}
}
