// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"time"

	"sentinel/internal/audit"
	"sentinel/platform/darwin/prefs"
)

// The preference domains of automatic updates.
const (
	softwareUpdate = "com.apple.SoftwareUpdate"
	commerce       = "com.apple.commerce"
)

// scanLimit is the timeout of the check for available updates.
const scanLimit = 30 * time.Second

func updateChecks() []check {
	return []check{
		{About: audit.About{
			ID: "updates.security", Name: "Security updates", Severity: audit.High, Weight: 9,
			Reference:   "mSCP system_settings_softwareupdate_current",
			Description: "Attackers first try the holes that are known and that an update closes.",
			Formula:     "PASS when softwareupdate, or its cached answer, names no update that closes security holes, deferred ones included. FAIL otherwise. Skipped when it cannot be asked, and when the title of an update does not say what it closes.",
		}, Run: securityUpdates, Limit: scanLimit},
		{About: audit.About{
			ID: "updates.check", Name: "Automatic check for updates", Severity: audit.Medium, Weight: 4,
			Reference:   "mSCP system_settings_software_update_enforce",
			Description: "A Mac that does not check for updates does not learn about them.",
			Formula:     "PASS when AutomaticCheckEnabled is on, or softwareupdate --schedule says so where the key is absent. FAIL when it is off.",
		}, Run: updatesChecked},
		{About: audit.About{
			ID: "updates.download", Name: "Automatic download of updates", Severity: audit.Low, Weight: 2,
			Reference:   "mSCP system_settings_software_update_download_enforce",
			Description: "An update that is already downloaded can be installed at once.",
			Formula:     "PASS when AutomaticDownload is on. WARN when it is off. " + absentIsSkipped,
		}, Run: updateKey(softwareUpdate, "AutomaticDownload", audit.Warn)},
		{About: audit.About{
			ID: "updates.install", Name: "Automatic installation of macOS", Severity: audit.Medium, Weight: 4,
			Reference:   "mSCP system_settings_install_macos_updates_enforce",
			Description: "Updates that wait for a person wait too long.",
			Formula:     "PASS when AutomaticallyInstallMacOSUpdates is on. WARN when it is off. " + absentIsSkipped,
		}, Run: updateKey(softwareUpdate, "AutomaticallyInstallMacOSUpdates", audit.Warn)},
		{About: audit.About{
			ID: "updates.critical", Name: "Automatic security responses", Severity: audit.High, Weight: 6,
			Reference:   "mSCP system_settings_critical_update_install_enforce",
			Description: "Security responses close holes between the updates of macOS.",
			Formula:     "PASS when CriticalUpdateInstall is on. FAIL when it is off. " + absentIsSkipped,
		}, Run: updateKey(softwareUpdate, "CriticalUpdateInstall", audit.Fail)},
		{About: audit.About{
			ID: "updates.data", Name: "Automatic system data files", Severity: audit.Medium, Weight: 5,
			Reference:   "mSCP os_config_data_install_enforce",
			Description: "The lists of known malware and revoked certificates come this way.",
			Formula:     "PASS when ConfigDataInstall is on. FAIL when it is off. " + absentIsSkipped,
		}, Run: updateKey(softwareUpdate, "ConfigDataInstall", audit.Fail)},
		{About: audit.About{
			ID: "updates.apps", Name: "Automatic updates of applications", Severity: audit.Low, Weight: 2,
			Reference:   "mSCP system_settings_software_update_app_update_enforce",
			Description: "Applications have security holes too.",
			Formula:     "PASS when AutoUpdate of the App Store is on. WARN when it is off. " + absentIsSkipped,
		}, Run: updateKey(commerce, "AutoUpdate", audit.Warn)},
		{About: audit.About{
			ID: "updates.last_check", Name: "Last check for updates", Severity: audit.Medium, Weight: 3,
			Reference:   "mSCP system_settings_softwareupdate_current",
			Description: "A Mac that has not checked for long does not know which updates it lacks.",
			Formula:     "PASS when the last successful check, LastFullSuccessfulDate or LastSuccessfulDate, is at most 7 days ago. WARN up to 30 days, FAIL when it is longer ago. Skipped when there is no date.",
		}, Run: lastCheck},
	}
}

const absentIsSkipped = "Skipped when the key is absent: the default differs between releases."

func securityUpdates(ctx context.Context, m *machine) audit.Finding {
	return audit.SecurityUpdates(ctx, m.SecurityUpdates, "softwareupdate",
		"See them: sentinel --check-updates; then install them in System Settings, General, Software Update, or: sudo softwareupdate --install --all --restart")
}

// updating reads the preferences of Software Update, once.
func (m *machine) updatePrefs() (prefs.Domain, error) {
	return m.updating.Get(func() (prefs.Domain, error) { return m.prefs(softwareUpdate) })
}

const updateSettings = "Switch it on in System Settings, General, Software Update, Automatic Updates (the button with the i)."

func updatesChecked(ctx context.Context, m *machine) audit.Finding {
	d, err := m.updatePrefs()
	if err != nil {
		return audit.Unread(softwareUpdate, err)
	}
	const key = "AutomaticCheckEnabled"
	on, set := d.Bool(key)
	where := audit.At(d.Where(key), 0, key)
	if !set {
		r, err := m.run(ctx, "/usr/sbin/softwareupdate", "--schedule")
		if err != nil {
			return audit.Unread("softwareupdate --schedule", err)
		}
		if on, err = parseSchedule(r); err != nil {
			return audit.Unread("softwareupdate --schedule", err)
		}
		where = "softwareupdate --schedule"
	}
	if on {
		return audit.Passed("On")
	}
	return audit.Failed("Off", "sudo softwareupdate --schedule on", where+" is off")
}

// updateKey is a check of a setting that may be absent.
func updateKey(domain, key string, bad audit.Status) func(context.Context, *machine) audit.Finding {
	return func(_ context.Context, m *machine) audit.Finding {
		read := m.updatePrefs
		if domain != softwareUpdate {
			read = func() (prefs.Domain, error) { return m.prefs(domain) }
		}
		d, err := read()
		if err != nil {
			return audit.Unread(domain, err)
		}
		on, set := d.Bool(key)
		switch {
		case !set:
			return audit.Unseen(key + " is not set; the default of this release holds")
		case on:
			return audit.Passed("On")
		default:
			return audit.Finding{Status: bad, Value: "Off", Fix: updateSettings, Evidence: []string{audit.At(d.Where(key), 0, key+" is off")}}
		}
	}
}

func lastCheck(_ context.Context, m *machine) audit.Finding {
	d, err := m.updatePrefs()
	if err != nil {
		return audit.Unread(softwareUpdate, err)
	}
	last, where := time.Time{}, ""
	for _, key := range []string{"LastFullSuccessfulDate", "LastSuccessfulDate", "LastBackgroundSuccessfulDate"} {
		if when, set := d.Time(key); set && when.After(last) {
			last, where = when, audit.At(d.Where(key), 0, key+" "+when.UTC().Format(time.DateOnly))
		}
	}
	age := m.now().Sub(last)
	switch {
	case where == "" || age < -maxClockSkew:
		return audit.Unseen("there is no usable date of a check")
	case age <= 7*day:
		return audit.Passed(days(age))
	}
	f := audit.Warned(days(age), "sudo softwareupdate --list", where)
	if age > 30*day {
		f.Status = audit.Fail
	}
	return f
}
