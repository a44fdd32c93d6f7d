// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"
	"strings"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/platform/darwin/prefs"
)

func accountChecks() []check {
	return []check{
		{About: audit.About{
			ID: "accounts.screen_lock", Name: "Screen lock", Severity: audit.High, Weight: 6,
			Reference:   "mSCP system_settings_screensaver_ask_for_password_delay_enforce",
			Description: "Whoever finds the Mac unattended can use it as its user.",
			Formula:     "PASS when the password is asked for within 5 seconds after sleep or screen saver, according to a profile or to sysadminctl for the current user. WARN within 15 minutes, FAIL later or never. Skipped for root without a profile, because each user has this setting.",
		}, Run: screenLocked},
		{About: audit.About{
			ID: "accounts.auto_login", Name: "Automatic login", Severity: audit.High, Weight: 8,
			Reference:   "mSCP system_settings_automatic_login_disable",
			Description: "Whoever turns the Mac on is logged in as its user.",
			Formula:     "PASS when com.apple.loginwindow names no autoLoginUser and /etc/kcpassword does not exist. FAIL otherwise. An absent name means that nobody is logged in automatically.",
		}, Run: autoLogin},
		{About: audit.About{
			ID: "accounts.guest", Name: "Guest account", Severity: audit.Medium, Weight: 4,
			Reference:   "mSCP system_settings_guest_account_disable",
			Description: "Anybody at the keyboard can run programs and look for holes from inside.",
			Formula:     "PASS when GuestEnabled is off, or sysadminctl says so where the key is absent. FAIL when it is on.",
		}, Run: guestAccount},
		{About: audit.About{
			ID: "accounts.hints", Name: "Password hints", Severity: audit.Low, Weight: 1,
			Reference:   "mSCP system_settings_password_hints_disable",
			Description: "A hint also helps whoever guesses the password.",
			Formula:     "PASS when RetriesUntilHint is 0. WARN when it is more. " + absentIsSkipped,
		}, Run: passwordHints},
		{About: audit.About{
			ID: "accounts.root", Name: "Login of root", Severity: audit.Medium, Weight: 5,
			Reference:   "mSCP os_root_disable",
			Description: "macOS needs no root login, and actions of a shared account cannot be traced to a person.",
			Formula:     "PASS when root has no AuthenticationAuthority, or a disabled one. FAIL otherwise.",
		}, Run: rootLogin},
		{About: audit.About{
			ID: "accounts.admins", Name: "Administrators", Severity: audit.Low, Weight: 3,
			Reference:   "NIST 800-53 AC-6",
			Description: "Each administrator can become root, and so can whoever takes over the account.",
			Formula:     "PASS when at most two accounts besides root and those of macOS are in the group admin. WARN otherwise.",
		}, Run: administrators},
		{About: audit.About{
			ID: "accounts.homes", Name: "Home folders", Severity: audit.Medium, Weight: 4,
			Reference:   "mSCP os_home_folders_secure",
			Description: "Whoever can write to a home can run programs as its user; whoever can list it sees its content.",
			Formula:     "PASS when other users can neither list nor write to a home in /Users. WARN when others can list one, FAIL when others can write to one.",
		}, Run: homeModes},
	}
}

// Delays of the screen lock: at most lockDelay passes, at most lateDelay is a
// warning.
const (
	lockDelay = 5 * time.Second
	lateDelay = 15 * time.Minute
)

func screenLocked(ctx context.Context, m *machine) audit.Finding {
	lock, where, err := m.managedLock()
	if err != nil {
		return audit.Unread("com.apple.screensaver", err)
	}
	if where == "" {
		if m.privileged() {
			return audit.Unseen("no profile sets it, and root cannot ask for the setting of a user; run the audit as that user too")
		}
		r, err := m.run(ctx, "/usr/sbin/sysadminctl", "-screenLock", "status")
		if err != nil {
			return audit.Unread("sysadminctl", err)
		}
		if lock, err = parseScreenLock(r.Stderr); err != nil {
			return audit.Unread("sysadminctl", err)
		}
		where = "sysadminctl -screenLock status"
	}
	const fix = "sysadminctl -screenLock immediate -password -"
	switch {
	case !lock.On:
		return audit.Failed("Off", fix, where+": off")
	case lock.Delay <= lockDelay:
		return audit.Passed("Within " + lockDelay.String())
	case lock.Delay <= lateDelay:
		return audit.Warned("After "+lock.Delay.String(), fix, where+": after "+lock.Delay.String())
	default:
		return audit.Failed("After "+lock.Delay.String(), fix, where+": after "+lock.Delay.String())
	}
}

// managedLock is the setting of a profile; where is empty if there is none.
func (m *machine) managedLock() (lock screenLock, where string, err error) {
	const file = prefs.Managed + "/com.apple.screensaver.plist"
	d, err := prefs.ReadFile(m.Root, file)
	if missing(err) {
		return screenLock{}, "", nil
	}
	if err != nil {
		return screenLock{}, "", err
	}
	on, set := d.Bool("askForPassword")
	delay, delayed := d.Int("askForPasswordDelay")
	if !set || on && (!delayed || delay < 0 || delay > 1<<30) {
		return screenLock{}, "", nil
	}
	return screenLock{on, time.Duration(delay) * time.Second}, file, nil
}

// loginPrefs reads the preferences of the login window, once.
func (m *machine) loginPrefs() (prefs.Domain, error) {
	return m.login.Get(func() (prefs.Domain, error) { return m.prefs(loginWindow) })
}

const loginWindow = "com.apple.loginwindow"

func autoLogin(_ context.Context, m *machine) audit.Finding {
	d, err := m.loginPrefs()
	user, set := d.Text("autoLoginUser")
	var evidence []string
	if set && user != "" {
		evidence = append(evidence, audit.At(d.Where("autoLoginUser"), 0, "autoLoginUser "+user))
	}
	if m.exists("/etc/kcpassword") {
		evidence = append(evidence, "/etc/kcpassword: stores the password")
	}
	switch {
	case len(evidence) > 0:
		return audit.Failed("On", "sudo sysadminctl -autologin off", evidence...)
	case err != nil:
		return audit.Unread(loginWindow, err)
	default:
		return audit.Passed("Off")
	}
}

func guestAccount(ctx context.Context, m *machine) audit.Finding {
	d, err := m.loginPrefs()
	if err != nil {
		return audit.Unread(loginWindow, err)
	}
	on, set := d.Bool("GuestEnabled")
	where := audit.At(d.Where("GuestEnabled"), 0, "GuestEnabled is on")
	if !set {
		r, err := m.run(ctx, "/usr/sbin/sysadminctl", "-guestAccount", "status")
		if err != nil {
			return audit.Unread("sysadminctl", err)
		}
		if on, err = parseGuest(r.Stderr); err != nil {
			return audit.Unread("sysadminctl", err)
		}
		where = "sysadminctl -guestAccount status: enabled"
	}
	if on {
		return audit.Failed("On", "sudo sysadminctl -guestAccount off", where)
	}
	return audit.Passed("Off")
}

func passwordHints(_ context.Context, m *machine) audit.Finding {
	d, err := m.loginPrefs()
	if err != nil {
		return audit.Unread(loginWindow, err)
	}
	const key = "RetriesUntilHint"
	switch n, set := d.Int(key); {
	case !set:
		return audit.Unseen(key + " is not set; the default of this release holds")
	case n > 0:
		return audit.Warned("Shown after some attempts", "sudo defaults write /Library/Preferences/com.apple.loginwindow RetriesUntilHint -int 0", audit.At(d.Where(key), 0, key+" is more than 0"))
	default:
		return audit.Passed("Not shown")
	}
}

func rootLogin(ctx context.Context, m *machine) audit.Finding {
	r, err := m.run(ctx, "/usr/bin/dscl", ".", "-read", "/Users/root", "AuthenticationAuthority")
	if err != nil {
		return audit.Unread("dscl", err)
	}
	on, err := parseAuthority(r)
	switch {
	case err != nil:
		return audit.Unread("dscl", err)
	case on:
		return audit.Failed("Root can log in", "dsenableroot -d", "dscl . -read /Users/root: it has an AuthenticationAuthority")
	default:
		return audit.Passed("Root cannot log in")
	}
}

// maxAdmins is how many administrators are usual: one, and one as a backup.
const maxAdmins = 2

func administrators(ctx context.Context, m *machine) audit.Finding {
	r, err := m.run(ctx, "/usr/bin/dscl", ".", "-read", "/Groups/admin", "GroupMembership")
	if err != nil {
		return audit.Unread("dscl", err)
	}
	members, err := parseMembers(r)
	if err != nil {
		return audit.Unread("dscl", err)
	}
	members = slices.DeleteFunc(members, func(name string) bool { return name == "root" || strings.HasPrefix(name, "_") })
	value := humanize.Count(len(members), "account", "accounts")
	if len(members) > maxAdmins {
		return audit.Warned(value, "Remove those who do not need it from the group: sudo dseditgroup -o edit -d NAME -t user admin", "dscl . -read /Groups/admin: "+strings.Join(members, " "))
	}
	return audit.Passed(value)
}

func homeModes(_ context.Context, m *machine) audit.Finding {
	people, err := m.accounts()
	if err != nil {
		return audit.Unread("/Users", err)
	}
	var writable, listed []string
	for _, p := range people {
		f, err := m.stat(p.home)
		switch {
		case err != nil:
			return audit.Unread(p.home, err)
		case f.Mode&0o022 != 0:
			writable = append(writable, audit.At(p.home, 0, f.String()))
		case f.Mode&0o044 != 0:
			listed = append(listed, audit.At(p.home, 0, f.String()))
		}
	}
	const fix = "sudo chmod 700 FOLDER, or 711 where others look into its folder Public"
	switch {
	case len(writable) > 0:
		return audit.Failed("Others can write to "+humanize.Count(len(writable), "home", "homes"), fix, append(writable, listed...)...)
	case len(listed) > 0:
		return audit.Warned("Others can list "+humanize.Count(len(listed), "home", "homes"), fix, listed...)
	case len(people) == 0:
		return audit.NotApplicable("there is no home in /Users")
	default:
		return audit.Passed(humanize.Count(len(people), "home", "homes") + ", each accessible to its user only")
	}
}
