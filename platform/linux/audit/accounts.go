// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
)

func accountChecks() []check {
	return []check{
		{About: audit.About{
			ID: "accounts.uid_zero", Name: "Only root is root", Severity: audit.High, Weight: 10, Unusual: true,
			Reference:   "CIS 5.4.2.1, Lynis AUTH-9204",
			Description: "A second account with user id 0 is root under a name that nobody watches.",
			Formula:     "PASS when root alone has user id 0 in /etc/passwd. FAIL otherwise.",
		}, Run: uidZero},
		{About: audit.About{
			ID: "accounts.empty_passwords", Name: "No account without a password", Severity: audit.High, Weight: 10, Unusual: true,
			Reference:   "CIS 7.2.2, Lynis AUTH-9283",
			Description: "Everyone who reaches a login prompt gets in.",
			Formula:     "PASS when no password field of /etc/passwd and /etc/shadow is empty. FAIL otherwise. Skipped when /etc/shadow cannot be read, which takes root.",
		}, Run: emptyPasswords},
		{About: audit.About{
			ID: "accounts.password_hashes", Name: "Stored passwords", Severity: audit.Medium, Weight: 6,
			Reference:   "CIS 5.4.1.4, CIS 7.2.1, Lynis AUTH-9229",
			Description: "Whoever gets hold of weak hashes can guess the passwords within hours.",
			Formula:     "PASS when all are yescrypt, scrypt, bcrypt, SHA-512 or SHA-256, or locked. FAIL for DES, MD5, SHA-1 or NT, and for any hash in /etc/passwd, which everyone reads. WARN for an unknown form. Skipped without root.",
		}, Run: passwordHashes},
		{About: audit.About{
			ID: "accounts.hash_method", Name: "Method for new passwords", Severity: audit.Medium, Weight: 3,
			Reference:   "CIS 5.3.3.4.3, CIS 5.4.1.4, Lynis AUTH-9229",
			Description: "New passwords are stored so that they can be guessed fast.",
			Formula:     "PASS when pam_unix in the password stack, or else ENCRYPT_METHOD of login.defs, names yescrypt, gost_yescrypt, bcrypt or blowfish, sha512 or sha256. FAIL for another. Where neither names one, shadow's default is DES: FAIL.",
		}, Run: hashMethod},
		{About: audit.About{
			ID: "accounts.duplicates", Name: "Accounts and groups are unique", Severity: audit.Medium, Weight: 4, Unusual: true,
			Reference:   "CIS 7.2.5, CIS 7.2.6, CIS 7.2.7, CIS 7.2.8, Lynis AUTH-9208, Lynis AUTH-9222, Lynis AUTH-9228",
			Description: "Two accounts that the system cannot tell apart share their files, and no log tells who did what.",
			Formula:     "PASS when no name and no id is there twice in /etc/passwd and /etc/group, and each line is well-formed. FAIL otherwise. A second user id 0 is counted by accounts.uid_zero.",
		}, Run: duplicates},
		{About: audit.About{
			ID: "accounts.system_shells", Name: "System accounts cannot log in", Severity: audit.Medium, Weight: 3, Unusual: true,
			Reference:   "CIS 5.4.2.7",
			Description: "A service that was taken over has a shell to work with.",
			Formula:     "PASS when every account from 1 below UID_MIN of login.defs (1000 without), and nobody, has nologin, false, sync, halt or shutdown for a shell. WARN otherwise.",
		}, Run: systemShells},
		{About: audit.About{
			ID: "accounts.password_aging", Name: "Passwords expire", Severity: audit.Low, Weight: 1,
			Reference:   "CIS 5.4.1.1, Lynis AUTH-9286",
			Description: "A password that leaked works for ever. NIST SP 800-63B advises against expiry without cause; exempt the check if you follow it.",
			Formula:     "PASS when PASS_MAX_DAYS of login.defs is 1 to 365. WARN otherwise.",
		}, Run: passwordAging},
		{About: audit.About{
			ID: "accounts.umask", Name: "Default umask", Severity: audit.Low, Weight: 2,
			Reference:   "CIS 5.4.3.3, Lynis AUTH-9328",
			Description: "Every user reads the new files of all others.",
			Formula:     "PASS when UMASK of login.defs takes all from others and writing from the group (027, 077). WARN when others may read. FAIL when the group or others may write, or when it is no mask.",
		}, Run: umask},
	}
}

// accounts reads passwd, shadow or group.
func (m *machine) accounts(name string) ([]byte, error) { return m.readUpTo(name, userdb.MaxFile) }

// passwd returns the local accounts.
func (m *machine) passwd() ([]userdb.User, []int, error) {
	raw, err := m.accounts("/etc/passwd")
	if err != nil {
		return nil, nil, err
	}
	users, bad := userdb.Passwd(raw)
	return users, bad, nil
}

const passwdFile = "/etc/passwd"

func uidZero(_ context.Context, m *machine) audit.Finding {
	users, bad, err := m.passwd()
	if err != nil {
		return audit.Unread(passwdFile, err)
	}
	var wrong []string
	for _, u := range users {
		if u.UID == 0 && u.Name != "root" {
			wrong = append(wrong, audit.At(passwdFile, u.Line, u.Name+" has user id 0"))
		}
	}
	switch {
	case len(wrong) > 0:
		return audit.Failed(humanize.Count(len(wrong), "other account has", "other accounts have")+" user id 0", "Find out who created it; then give it another id (usermod -u) or remove it", wrong...)
	case len(bad) > 0:
		return malformed(passwdFile, bad)
	default:
		return audit.Passed("root alone")
	}
}

// malformed is the finding of a check that met lines it cannot parse.
func malformed(file string, bad []int) audit.Finding {
	return audit.Unseen(fmt.Sprintf("line %d of %s is malformed", bad[0], file))
}

// A field is the password field of one account.
type field struct {
	name, hash, file string
	line             int
}

// passwordFields returns the password fields of both files, without those of passwd
// that refer to shadow. incomplete is why there may be more.
func (m *machine) passwordFields() (fields []field, incomplete error) {
	users, bad, err := m.passwd()
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		if u.Password != "x" {
			fields = append(fields, field{u.Name, u.Password, passwdFile, u.Line})
		}
	}
	if len(bad) > 0 {
		incomplete = fmt.Errorf("line %d of %s is malformed", bad[0], passwdFile)
	}
	raw, err := m.accounts("/etc/shadow")
	if err != nil {
		return fields, err
	}
	secrets, bad := userdb.Shadow(raw)
	for _, s := range secrets {
		fields = append(fields, field{s.Name, s.Hash, "/etc/shadow", s.Line})
	}
	if len(bad) > 0 {
		incomplete = fmt.Errorf("line %d of /etc/shadow is malformed", bad[0])
	}
	return fields, incomplete
}

func emptyPasswords(_ context.Context, m *machine) audit.Finding {
	fields, incomplete := m.passwordFields()
	var wrong []string
	for _, f := range fields {
		if userdb.StrengthOf(f.hash) == userdb.Empty {
			wrong = append(wrong, audit.At(f.file, f.line, f.name+" has no password"))
		}
	}
	switch {
	case len(wrong) > 0:
		return audit.Failed(humanize.Count(len(wrong), "account has", "accounts have")+" no password", "Lock each account that is named: sudo passwd -l NAME", wrong...)
	case incomplete != nil:
		return audit.Unread("/etc/shadow", incomplete)
	default:
		return audit.Passed("None")
	}
}

func passwordHashes(_ context.Context, m *machine) audit.Finding {
	fields, incomplete := m.passwordFields()
	var weak, odd []string
	strong := 0
	for _, f := range fields {
		switch s := userdb.StrengthOf(f.hash); {
		case s == userdb.Weak, s == userdb.Strong && f.file == passwdFile:
			weak = append(weak, audit.At(f.file, f.line, f.name+" has a weak hash, or one that everyone can read"))
		case s == userdb.Unknown:
			odd = append(odd, audit.At(f.file, f.line, f.name+" has a hash of an unknown form"))
		case s == userdb.Strong:
			strong++
		}
	}
	const fix = "Set ENCRYPT_METHOD YESCRYPT in /etc/login.defs (and in PAM); then have each account that is named set a new password: sudo passwd NAME"
	switch {
	case len(weak) > 0:
		return audit.Failed(humanize.Count(len(weak), "password is", "passwords are")+" stored weakly", fix, weak...)
	case incomplete != nil:
		return audit.Unread("/etc/shadow", incomplete)
	case len(odd) > 0:
		return audit.Warned(humanize.Count(len(odd), "password is", "passwords are")+" stored in an unknown form", fix, odd...)
	default:
		return audit.Passed(humanize.Count(strong, "password", "passwords") + ", all stored well")
	}
}

func hashMethod(_ context.Context, m *machine) audit.Finding {
	method, where, err := m.hashMethod()
	if hostfile.Missing(err) {
		return audit.NotApplicable(noLoginDefs)
	}
	if err != nil {
		return audit.Unread("the method for new passwords", err)
	}
	if slices.Contains([]string{"yescrypt", "gost_yescrypt", "bcrypt", "blowfish", "sha512", "sha256"}, strings.ToLower(method)) {
		return audit.Passed(method)
	}
	return audit.Failed(method, "Set ENCRYPT_METHOD YESCRYPT in /etc/login.defs and the same for pam_unix in the password stack of PAM", where)
}

// hashMethod returns the method that passwd(1) uses: that of an option of
// pam_unix, else of login.defs.
func (m *machine) hashMethod() (method, where string, err error) {
	for _, file := range []string{"/etc/pam.d/common-password", "/etc/pam.d/system-auth", "/etc/pam.d/password-auth"} {
		raw, err := m.read(file)
		if hostfile.Missing(err) {
			continue
		}
		if err != nil {
			return "", "", err
		}
		if method, line := pamMethod(string(raw)); method != "" {
			return method, audit.At(file, line, "pam_unix "+method), nil
		}
	}
	defs, err := m.loginDefs()
	if err != nil {
		return "", "", err
	}
	if d, set := defs["ENCRYPT_METHOD"]; set {
		return d.Value, d.at("ENCRYPT_METHOD " + d.Value), nil
	}
	return "DES, which is the default", audit.At(loginDefs, 0, "no ENCRYPT_METHOD"), nil
}

// pamMethod returns the hash method that the password lines of a PAM stack give
// pam_unix(8), and the number of the line.
func pamMethod(stack string) (method string, line int) {
	for text := range strings.Lines(stack) {
		line++
		words := strings.Fields(text)
		if len(words) < 3 || strings.TrimPrefix(words[0], "-") != "password" || !strings.Contains(text, "pam_unix.so") {
			continue
		}
		for _, w := range words[2:] {
			if slices.Contains([]string{"yescrypt", "gost_yescrypt", "blowfish", "sha512", "sha256", "md5", "bigcrypt"}, w) {
				return w, line
			}
		}
	}
	return "", 0
}

const (
	loginDefs       = "/etc/login.defs"
	vendorLoginDefs = "/usr/etc/login.defs"
	noLoginDefs     = "there is no login.defs"
)

// A loginDefault is a setting of login.defs(5), and the file that it is in.
type loginDefault struct {
	userdb.Default
	file string
}

// own is the administrator's file to set it in: packages replace theirs.
func (d loginDefault) own() string {
	if strings.HasPrefix(d.file, "/usr/") {
		return loginDefs + ".d/90-local.defs"
	}
	return cmp.Or(d.file, loginDefs)
}

func (d loginDefault) at(text string) string {
	return audit.At(cmp.Or(d.file, loginDefs), d.Line, text)
}

// loginDefs reads the settings by name. The last of one name counts.
func (m *machine) loginDefs() (map[string]loginDefault, error) {
	files, err := m.loginDefsFiles()
	if err != nil {
		return nil, err
	}
	defs := map[string]loginDefault{}
	for _, file := range files {
		raw, err := m.read(file)
		if err != nil {
			return nil, err
		}
		for name, d := range userdb.LoginDefs(raw) {
			defs[name] = loginDefault{d, file}
		}
	}
	return defs, nil
}

// loginDefsFiles lists the files in the order in which they count. openSUSE has the defaults of its packages apart,
// and reads drop-ins (econf_readDirs(3)); others have one file.
func (m *machine) loginDefsFiles() ([]string, error) {
	if !m.exists(vendorLoginDefs) {
		return []string{loginDefs}, nil
	}
	main := loginDefs
	if !m.exists(loginDefs) {
		main = vendorLoginDefs
	}
	more, err := m.dropIns(".defs", loginDefs+".d", vendorLoginDefs+".d")
	return append([]string{main}, more...), err
}

func duplicates(_ context.Context, m *machine) audit.Finding {
	users, bad, err := m.passwd()
	if err != nil {
		return audit.Unread(passwdFile, err)
	}
	raw, err := m.accounts("/etc/group")
	if err != nil {
		return audit.Unread("/etc/group", err)
	}
	groups, badGroups := userdb.Groups(raw)
	wrong := append(malformedLines(passwdFile, bad), malformedLines("/etc/group", badGroups)...)
	names, ids := map[string]bool{}, map[int]bool{}
	for _, u := range users {
		if names[u.Name] || ids[u.UID] && u.UID != 0 {
			wrong = append(wrong, audit.At(passwdFile, u.Line, fmt.Sprintf("the name %s or the id %d is there before", u.Name, u.UID)))
		}
		names[u.Name], ids[u.UID] = true, true
	}
	names, ids = map[string]bool{}, map[int]bool{}
	for _, g := range groups {
		if names[g.Name] || ids[g.GID] {
			wrong = append(wrong, audit.At("/etc/group", g.Line, fmt.Sprintf("the name %s or the id %d is there before", g.Name, g.GID)))
		}
		names[g.Name], ids[g.GID] = true, true
	}
	if len(wrong) > 0 {
		return audit.Failed(humanize.Count(len(wrong), "line is", "lines are")+" wrong", "Look at the lines with: sudo pwck -r && sudo grpck -r; then give each account a name and an id of its own", wrong...)
	}
	return audit.Passed(humanize.Count(len(users), "account", "accounts") + ", " + humanize.Count(len(groups), "group", "groups"))
}

func malformedLines(file string, bad []int) []string {
	var lines []string
	for _, line := range bad {
		lines = append(lines, audit.At(file, line, "the line is malformed"))
	}
	return lines
}

// lowestUser is the first user id of ordinary accounts where login.defs sets none.
const lowestUser = 1000

func systemShells(_ context.Context, m *machine) audit.Finding {
	users, bad, err := m.passwd()
	if err != nil {
		return audit.Unread(passwdFile, err)
	}
	lowest := lowestUser
	if defs, err := m.loginDefs(); err == nil {
		if n, err := strconv.Atoi(defs["UID_MIN"].Value); err == nil {
			lowest = n
		}
	}
	var wrong []string
	for _, u := range users {
		if system := u.UID > 0 && u.UID < lowest || u.Name == "nobody"; system && logsIn(u.Shell) {
			wrong = append(wrong, audit.At(passwdFile, u.Line, u.Name+" has the shell "+u.Shell))
		}
	}
	switch {
	case len(wrong) > 0:
		return audit.Warned(humanize.Count(len(wrong), "system account has", "system accounts have")+" a shell", "Give each account that is named no shell, unless somebody needs it: sudo usermod -s /usr/sbin/nologin NAME", wrong...)
	case len(bad) > 0:
		return malformed(passwdFile, bad)
	default:
		return audit.Passed("None has a shell")
	}
}

// logsIn says whether a shell gives a login. An empty one means /bin/sh.
func logsIn(shell string) bool {
	directory, name := path.Split(shell)
	ofSystem := slices.Contains([]string{"", "/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"}, directory)
	return !ofSystem || !slices.Contains([]string{"nologin", "false", "sync", "halt", "shutdown"}, name)
}

func passwordAging(_ context.Context, m *machine) audit.Finding {
	defs, err := m.loginDefs()
	if hostfile.Missing(err) {
		return audit.NotApplicable(noLoginDefs)
	}
	if err != nil {
		return audit.Unread(loginDefs, err)
	}
	d, set := defs["PASS_MAX_DAYS"]
	days, err := strconv.Atoi(d.Value)
	if err == nil && days >= 1 && days <= 365 {
		return audit.Passed("after " + humanize.Count(days, "day", "days"))
	}
	value := "They do not expire"
	if set {
		value += ": PASS_MAX_DAYS " + d.Value
	}
	return audit.Warned(value, "Set PASS_MAX_DAYS 365 in "+d.own()+"; for accounts that exist: sudo chage -M 365 NAME", d.at("PASS_MAX_DAYS "+d.Value))
}

func umask(_ context.Context, m *machine) audit.Finding {
	defs, err := m.loginDefs()
	if hostfile.Missing(err) {
		return audit.NotApplicable(noLoginDefs)
	}
	if err != nil {
		return audit.Unread(loginDefs, err)
	}
	d, set := defs["UMASK"]
	if !set {
		d.Value = "022"
	}
	mask, err := strconv.ParseUint(d.Value, 8, 12)
	evidence := d.at("UMASK " + d.Value)
	fix := "Set UMASK 027 in " + d.own()
	switch {
	case err != nil || mask&0o022 != 0o022:
		return audit.Failed("UMASK "+d.Value, fix, evidence)
	case mask&0o007 != 0o007:
		return audit.Warned("UMASK "+d.Value, fix, evidence)
	default:
		return audit.Passed("UMASK " + d.Value)
	}
}
