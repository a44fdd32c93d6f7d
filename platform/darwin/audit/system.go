// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/platform/darwin/extensions"
	"sentinel/platform/darwin/posture"
)

// profilerLimit is the timeout of checks that run system_profiler.
const profilerLimit = 15 * time.Second

func systemChecks() []check {
	return []check{
		{About: audit.About{
			ID: "system.integrity", Name: "System Integrity Protection", Severity: audit.High, Weight: 10,
			Reference:   "mSCP os_sip_enable",
			Description: "Without it, whoever becomes root can change macOS itself and hide the changes.",
			Formula:     "PASS when csrutil says enabled, or lists a custom configuration with every protection on. WARN when some protections are off, FAIL when all are.",
		}, Run: integrity},
		{About: audit.About{
			ID: "system.sealed", Name: "Sealed system volume", Severity: audit.Medium, Weight: 5,
			Reference:   "mSCP os_authenticated_root_enable",
			Description: "The seal proves at every start that macOS is as Apple shipped it.",
			Formula:     "PASS when csrutil says that the authenticated root is enabled. FAIL when it is disabled. Skipped before macOS 11, which has none.",
		}, Run: sealed},
		{About: audit.About{
			ID: "system.gatekeeper", Name: "Gatekeeper", Severity: audit.High, Weight: 8,
			Reference:   "mSCP os_gatekeeper_enable",
			Description: "Without Gatekeeper, downloaded programs run whoever signed them.",
			Formula:     "PASS when spctl says that assessments are enabled. FAIL when they are disabled.",
		}, Run: gatekeeper},
		{About: audit.About{
			ID: "system.filevault", Name: "FileVault", Severity: audit.High, Weight: 10,
			Reference:   "mSCP system_settings_filevault_enforce",
			Description: "Whoever gets hold of an unencrypted disk can read everything on it.",
			Formula:     "PASS when FileVault is on. WARN while the disk is being encrypted, and when FileVault will be turned on at the next restart or login. FAIL when it is off or the disk is being decrypted.",
		}, Run: fileVault},
		{About: audit.About{
			ID: "system.secure_boot", Name: "Secure Boot", Severity: audit.Medium, Weight: 6,
			Reference:   "mSCP os_secure_boot_verify",
			Description: "A lower level lets older or modified systems start, with holes that were closed since.",
			Formula:     "PASS at Full Security. WARN at Reduced Security (Apple silicon) or Medium Security (T2). FAIL at Permissive Security or No Security. Does not apply to an Intel Mac without a T2 chip. If system_profiler does not say, root can ask bputil.",
		}, Run: secureBoot, Limit: profilerLimit},
		{About: audit.About{
			ID: "system.firmware_password", Name: "Firmware password", Severity: audit.Low, Weight: 3,
			Reference:   "mSCP os_firmware_password_require",
			Description: "Without one, anybody at the keyboard can start an Intel Mac from another disk.",
			Formula:     "PASS when firmwarepasswd says that a password is set. WARN when none is. Does not apply to Apple silicon, which has no such password. Needs root.",
		}, Run: firmwarePassword, Limit: profilerLimit},
		{About: audit.About{
			ID: "system.xprotect", Name: "XProtect", Severity: audit.Medium, Weight: 5,
			Reference:   "mSCP os_anti_virus_installed",
			Description: "macOS recognises malware by a list; an old list misses new malware.",
			Formula:     "PASS when the newest XProtect bundle on this Mac is at most 60 days old. WARN up to 180 days, FAIL when it is older. Skipped when there is no bundle. Apple is not asked for the current version.",
		}, Run: xprotect},
		{About: audit.About{
			ID: "system.kernel_extensions", Name: "Third-party kernel extensions", Severity: audit.Medium, Weight: 4,
			Reference:   "Apple Platform Security: kernel extensions",
			Description: "Code in the kernel may do anything, and an error in it crashes the Mac.",
			Formula:     "PASS when kmutil lists only extensions whose names begin with com.apple. WARN otherwise.",
		}, Run: kernelExtensions},
		{About: audit.About{
			ID: "system.extensions", Name: "System extensions", Severity: audit.Low, Weight: 2,
			Reference:   "Apple Platform Deployment: system extensions",
			Description: "System extensions can see files, network traffic or input of every program.",
			Formula:     "PASS when each one listed by systemextensionsctl names its team and none waits for approval. WARN otherwise.",
		}, Run: systemExtensions},
	}
}

const recovery = "Start in Recovery (Apple silicon: hold the power button; Intel: Command-R), open Terminal there and run: "

func integrity(ctx context.Context, m *machine) audit.Finding {
	s, err := posture.ReadSIP(ctx, m.Runner)
	switch {
	case err != nil:
		return audit.Unread("csrutil", err)
	case s.Enabled:
		return audit.Passed("Enabled")
	case len(s.Off) > 0:
		return audit.Warned("Partly off: "+strings.Join(s.Off, ", "), recovery+"csrutil clear", "csrutil status: a custom configuration")
	default:
		return audit.Failed("Disabled", recovery+"csrutil enable", "csrutil status: disabled")
	}
}

func sealed(ctx context.Context, m *machine) audit.Finding {
	on, err := posture.ReadAuthenticatedRoot(ctx, m.Runner)
	switch {
	case err != nil:
		return audit.Unread("csrutil", err)
	case on:
		return audit.Passed("Enabled")
	default:
		return audit.Failed("Disabled", recovery+"csrutil authenticated-root enable", "csrutil authenticated-root status: disabled")
	}
}

func gatekeeper(ctx context.Context, m *machine) audit.Finding {
	on, err := posture.ReadGatekeeper(ctx, m.Runner)
	switch {
	case err != nil:
		return audit.Unread("spctl", err)
	case on:
		return audit.Passed("Enabled")
	default:
		return audit.Failed("Disabled", "Switch it on: sudo spctl --global-enable (before macOS 15: sudo spctl --master-enable), or in System Settings, Privacy & Security", "spctl --status: assessments disabled")
	}
}

func fileVault(ctx context.Context, m *machine) audit.Finding {
	v, err := posture.ReadFileVault(ctx, m.Runner)
	if err != nil {
		return audit.Unread("fdesetup", err)
	}
	const fix = "Switch it on in System Settings, Privacy & Security, FileVault, and keep the recovery key elsewhere."
	evidence := "fdesetup status: " + string(v.State)
	switch v.State {
	case posture.VaultOn:
		return audit.Passed("On" + unfinished(v))
	case posture.VaultEncrypting:
		return audit.Warned("On, and still encrypting"+done(v), "Keep the Mac connected to power until encryption has finished.", evidence)
	case posture.VaultRestart:
		return audit.Warned("Off until the next restart", "Restart the Mac.", evidence)
	case posture.VaultDeferred:
		return audit.Warned("Off until the next login", "Log out and in again, and follow what macOS asks.", evidence)
	case posture.VaultDecrypting:
		return audit.Failed("Off, and decrypting"+done(v), fix, evidence)
	default:
		return audit.Failed("Off"+unfinished(v), fix, evidence)
	}
}

func unfinished(v posture.FileVault) string {
	if v.Unfinished {
		return ", and needs a restart to finish"
	}
	return ""
}

func done(v posture.FileVault) string {
	if v.Percent == nil {
		return ""
	}
	return fmt.Sprintf(" (%.4g %% done)", *v.Percent)
}

// bootPolicy reads the startup policy, once.
func (m *machine) bootPolicy(ctx context.Context) (posture.Boot, error) {
	return m.boot.Get(func() (posture.Boot, error) { return posture.ReadBoot(ctx, m.Runner) })
}

func secureBoot(ctx context.Context, m *machine) audit.Finding {
	b, err := m.bootPolicy(ctx)
	where := "system_profiler SPiBridgeDataType: "
	if err != nil && m.privileged() && ctx.Err() == nil {
		if level, again := posture.ReadLocalPolicy(ctx, m.Runner); again == nil {
			b, err, where = posture.Boot{SecureBoot: level}, nil, "bputil -d: "
		}
	}
	if err != nil {
		return audit.Unread("system_profiler", err)
	}
	const fix = "Start in Recovery, open the Startup Security Utility and choose Full Security."
	switch b.SecureBoot {
	case posture.Unsupported:
		return audit.NotApplicable("this Mac has neither Apple silicon nor a T2 chip")
	case posture.FullSecurity:
		return audit.Passed("Full Security")
	case posture.ReducedSecurity, posture.MediumSecurity:
		return audit.Warned("Level "+b.SecureBoot, fix, where+b.SecureBoot)
	default:
		return audit.Failed("Level "+b.SecureBoot, fix, where+b.SecureBoot)
	}
}

func firmwarePassword(ctx context.Context, m *machine) audit.Finding {
	b, err := m.bootPolicy(ctx)
	switch {
	case b.AppleSilicon:
		return audit.NotApplicable("Apple silicon has no firmware password")
	case err != nil:
		return audit.Unread("system_profiler", err)
	}
	if !m.privileged() {
		return needsRoot("firmwarepasswd")
	}
	on, err := posture.ReadFirmwarePassword(ctx, m.Runner)
	switch {
	case err != nil:
		return audit.Unread("firmwarepasswd", err)
	case on:
		return audit.Passed("Set")
	default:
		return audit.Warned("Not set", "Start in Recovery and set one in the Startup Security Utility.", "firmwarepasswd -check: Password Enabled: No")
	}
}

// Ages of the malware list. Apple updates it about every two weeks.
const (
	day           = 24 * time.Hour
	freshXProtect = 60 * day
	staleXProtect = 180 * day
	maxClockSkew  = day // a clock may be a little behind
)

func xprotect(_ context.Context, m *machine) audit.Finding {
	x, err := posture.ReadXProtect(m.Root)
	if err != nil {
		return audit.Unread("XProtect", err)
	}
	age := m.now().Sub(x.Date)
	switch {
	case x.Date.IsZero() || age < -maxClockSkew:
		return audit.Unseen("XProtect: version " + x.Version + ", of unknown age")
	case age <= freshXProtect:
		return audit.Passed("Version " + x.Version + ", " + days(age))
	}
	f := audit.Warned("Version "+x.Version+", "+days(age), "Let macOS install security responses and system files by itself (System Settings, General, Software Update), then run: sudo softwareupdate --background",
		audit.At(x.Path, 0, "its contents are from "+x.Date.UTC().Format(time.DateOnly)))
	if age > staleXProtect {
		f.Status = audit.Fail
	}
	return f
}

func days(age time.Duration) string {
	return humanize.Count(max(0, int(age/day)), "day", "days") + " old"
}

func kernelExtensions(ctx context.Context, m *machine) audit.Finding {
	r, err := m.run(ctx, "/usr/bin/kmutil", "showloaded", "--list-only")
	if err != nil {
		return audit.Unread("kmutil", err)
	}
	others, err := extensions.Kernel(r.Stdout)
	switch {
	case err != nil:
		return audit.Unread("kmutil", err)
	case len(others) == 0:
		return audit.Passed("None")
	default:
		return audit.Warned(humanize.Count(len(others), "extension is", "extensions are")+" loaded", "Ask the maker of each for a version without a kernel extension, and remove what nobody needs.", audit.Prefixed("kmutil showloaded: ", others)...)
	}
}

func systemExtensions(ctx context.Context, m *machine) audit.Finding {
	r, err := m.run(ctx, "/usr/bin/systemextensionsctl", "list")
	if err != nil {
		return audit.Unread("systemextensionsctl", err)
	}
	list, err := extensions.System(r.Stdout)
	if err != nil {
		return audit.Unread("systemextensionsctl", err)
	}
	var odd []string
	for _, e := range list {
		if e.Team == "" || strings.Contains(e.State, "waiting for user") {
			odd = append(odd, fmt.Sprintf("systemextensionsctl list: %s of team %q: %s", e.Bundle, e.Team, e.State))
		}
	}
	switch {
	case len(odd) > 0:
		return audit.Warned(humanize.Count(len(odd), "extension waits or names no team", "extensions wait or name no team"), "Approve or remove each in System Settings, General, Login Items & Extensions.", odd...)
	case len(list) == 0:
		return audit.Passed("None")
	default:
		return audit.Passed(humanize.Count(len(list), "extension", "extensions") + " of " + teams(list))
	}
}
