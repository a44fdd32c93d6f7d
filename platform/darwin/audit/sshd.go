// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/audit"
	"sentinel/platform/unix/sshdconf"
)

func sshChecks() []check {
	return []check{
		{About: audit.About{
			ID: "ssh.root_login", Name: "SSH login of root", Severity: audit.High, Weight: 6,
			Reference:   "mSCP os_sshd_permit_root_login_configure",
			Description: "root is the one name that every attacker knows, and its password opens everything.",
			Formula:     "PASS when PermitRootLogin is no, or allows keys only (prohibit-password, the default). FAIL when it is yes, WARN in a Match block. " + whenOn,
		}, Run: sshRule{[]string{"permitrootlogin"}, "prohibit-password", func(v string) bool { return v != "yes" }, "PermitRootLogin no"}.run},
		{About: audit.About{
			ID: "ssh.password_auth", Name: "SSH login with passwords", Severity: audit.Medium, Weight: 5,
			Reference:   "mSCP auth_ssh_password_authentication_disable",
			Description: "Passwords can be guessed and stolen; keys cannot be guessed.",
			Formula:     "PASS when PasswordAuthentication and KbdInteractiveAuthentication are no. WARN when one is yes, which is the default of both: PAM asks for the password in the second. " + whenOn,
		}, Run: sshRule{[]string{"passwordauthentication", "kbdinteractiveauthentication"}, "yes", func(v string) bool { return v == "no" }, "PasswordAuthentication no and the line KbdInteractiveAuthentication no"}.warns},
		{About: audit.About{
			ID: "ssh.empty_passwords", Name: "SSH login without a password", Severity: audit.High, Weight: 7,
			Reference:   "sshd_config(5): PermitEmptyPasswords",
			Description: "Accounts without a password are open to the network.",
			Formula:     "PASS when PermitEmptyPasswords is no, the default. FAIL when it is yes, WARN in a Match block. " + whenOn,
		}, Run: sshRule{[]string{"permitemptypasswords"}, "no", func(v string) bool { return v == "no" }, "PermitEmptyPasswords no"}.run},
		{About: audit.About{
			ID: "ssh.max_auth_tries", Name: "SSH attempts per connection", Severity: audit.Low, Weight: 2,
			Reference:   "sshd_config(5): MaxAuthTries",
			Description: "Many attempts in one connection make guessing cheap.",
			Formula:     "PASS when MaxAuthTries is 6, the default, or less. WARN when it is more. " + whenOn,
		}, Run: sshRule{[]string{"maxauthtries"}, "6", func(v string) bool { n, err := strconv.Atoi(v); return err == nil && n <= 6 }, "MaxAuthTries 4"}.warns},
	}
}

const whenOn = "Root asks sshd -T; others read the files. Does not apply while Remote Login is off."

// errRemoteLoginOff means that no SSH server is running.
var errRemoteLoginOff = errors.New("nobody can log in from outside: Remote Login is off")

// sshd reads the configuration of the server, once.
func (m *machine) sshd(ctx context.Context) (sshdconf.Server, error) {
	return m.server.Get(func() (sshdconf.Server, error) {
		on, err := m.loaded(ctx, "com.openssh.sshd")
		if err != nil {
			return sshdconf.Server{}, fmt.Errorf("launchctl: %w", err)
		}
		if !on {
			return sshdconf.Server{}, errRemoteLoginOff
		}
		s := sshdconf.Server{}
		if s.Files, err = sshdconf.Read(m.tree(), "/etc/ssh/sshd_config"); err != nil {
			return sshdconf.Server{}, err
		}
		if m.privileged() {
			s.Printed = sshdconf.Printed(m.run(ctx, "/usr/sbin/sshd", "-T"))
		}
		return s, nil
	})
}

// An sshRule is a rule about settings of sshd that have the same good values.
type sshRule struct {
	keywords  []string
	byDefault string
	good      func(value string) bool
	set       string // the lines that fix it
}

func (r sshRule) run(ctx context.Context, m *machine) audit.Finding {
	return r.judge(ctx, m, audit.Fail)
}
func (r sshRule) warns(ctx context.Context, m *machine) audit.Finding {
	return r.judge(ctx, m, audit.Warn)
}

// judge checks the global settings, and warns if a Match block overrides one for some
// users.
func (r sshRule) judge(ctx context.Context, m *machine, bad audit.Status) audit.Finding {
	s, err := m.sshd(ctx)
	if errors.Is(err, errRemoteLoginOff) {
		return audit.NotApplicable(err.Error())
	}
	if err != nil {
		return audit.Unread("Remote Login", err)
	}
	fix := "Write the line " + r.set + " into a file in /etc/ssh/sshd_config.d whose name sorts before the others; the next connection follows it."
	var values, wrong, evidence []string
	for _, keyword := range r.keywords {
		setting, known := s.Setting(keyword, r.byDefault)
		if !known {
			return audit.Unread("sshd_config", s.Files.Hole)
		}
		value := strings.ToLower(setting.Value)
		values = append(values, keyword+" "+value)
		if !r.good(value) {
			wrong, evidence = append(wrong, keyword+" "+value), append(evidence, setting.String())
		}
	}
	if len(wrong) > 0 {
		return audit.Finding{Status: bad, Value: strings.Join(wrong, ", "), Fix: fix, Evidence: evidence}
	}
	inBlock := slices.IndexFunc(s.Files.Matched, func(one sshdconf.Setting) bool {
		return slices.Contains(r.keywords, one.Keyword) && !r.good(strings.ToLower(one.Value))
	})
	switch {
	case inBlock >= 0:
		return audit.Warned("otherwise in a Match block: "+s.Files.Matched[inBlock].Value, fix, s.Files.Matched[inBlock].String())
	case s.Files.Hole != nil:
		return audit.Unread("sshd_config", s.Files.Hole) // a Match block may undo it
	default:
		return audit.Passed(strings.Join(values, ", "))
	}
}
