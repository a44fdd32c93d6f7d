// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/audit"
)

func sshChecks() []check {
	return []check{
		{About: audit.About{
			ID: "ssh.root_login", Name: "SSH login of root", Severity: audit.High, Weight: 8,
			Reference:   "CIS 5.1.20, Lynis SSH-7408",
			Description: "root is the one name that every attacker knows, and its password opens everything.",
			Formula:     "PASS when PermitRootLogin is no, prohibit-password or forced-commands-only. WARN when it is yes and no password is taken. FAIL when it is yes.",
		}, Run: sshRule{[]string{"permitrootlogin", "passwordauthentication", "kbdinteractiveauthentication"}, rootLogin, "PermitRootLogin prohibit-password"}.run},
		{About: audit.About{
			ID: "ssh.password_auth", Name: "SSH login with passwords", Severity: audit.Medium, Weight: 5,
			Reference:   "Lynis SSH-7408",
			Description: "Passwords can be guessed and stolen; keys cannot be guessed.",
			Formula:     "PASS when PasswordAuthentication and KbdInteractiveAuthentication are no. WARN when one is yes.",
		}, Run: sshRule{[]string{"passwordauthentication", "kbdinteractiveauthentication"}, passwordAuth, "PasswordAuthentication no and KbdInteractiveAuthentication no, once your key is known to work"}.run},
		{About: audit.About{
			ID: "ssh.empty_passwords", Name: "SSH login without a password", Severity: audit.High, Weight: 10,
			Reference:   "CIS 5.1.19, Lynis SSH-7408",
			Description: "Accounts without a password are open to the network.",
			Formula:     "PASS when PermitEmptyPasswords is no. FAIL when it is yes.",
		}, Run: sshRule{[]string{"permitemptypasswords"}, equals("no", audit.Fail), "PermitEmptyPasswords no"}.run},
		{About: audit.About{
			ID: "ssh.max_auth_tries", Name: "SSH attempts per connection", Severity: audit.Low, Weight: 2,
			Reference:   "CIS 5.1.16, Lynis SSH-7408",
			Description: "Many attempts in one connection make guessing cheap.",
			Formula:     "PASS when MaxAuthTries is 1 to 4. WARN above.",
		}, Run: sshRule{[]string{"maxauthtries"}, within(1, 4), "MaxAuthTries 4"}.run},
		{About: audit.About{
			ID: "ssh.login_grace", Name: "SSH time to log in", Severity: audit.Low, Weight: 2,
			Reference:   "CIS 5.1.13, Lynis SSH-7408",
			Description: "Connections that never log in keep others out.",
			Formula:     "PASS when LoginGraceTime is 1 to 120 seconds. WARN for 0, which is no limit, and above.",
		}, Run: sshRule{[]string{"logingracetime"}, within(1, 120), "LoginGraceTime 60"}.run},
		{About: audit.About{
			ID: "ssh.idle", Name: "SSH idle connections end", Severity: audit.Low, Weight: 2,
			Reference:   "CIS 5.1.7, Lynis SSH-7408",
			Description: "The session of a machine that is gone stays open.",
			Formula:     "PASS when ClientAliveInterval and ClientAliveCountMax are above 0. WARN otherwise.",
		}, Run: sshRule{[]string{"clientaliveinterval", "clientalivecountmax"}, idle, "ClientAliveInterval 60 and ClientAliveCountMax 3"}.run},
		{About: audit.About{
			ID: "ssh.x11_forwarding", Name: "SSH X11 forwarding", Severity: audit.Low, Weight: 2,
			Reference:   "CIS 5.1.8, Lynis SSH-7408",
			Description: "Whoever controls this machine can watch the screen of those who log in to it with X11.",
			Formula:     "PASS when X11Forwarding is no. WARN when it is yes.",
		}, Run: sshRule{[]string{"x11forwarding"}, equals("no", audit.Warn), "X11Forwarding no"}.run},
		{About: audit.About{
			ID: "ssh.user_environment", Name: "SSH environment set by users", Severity: audit.Medium, Weight: 4,
			Reference:   "CIS 5.1.21, Lynis SSH-7408",
			Description: "A user who may run only some commands can set LD_PRELOAD and run any.",
			Formula:     "PASS when PermitUserEnvironment is no. WARN for a list of names, FAIL when it is yes.",
		}, Run: sshRule{[]string{"permituserenvironment"}, userEnvironment, "PermitUserEnvironment no"}.run},
		{About: audit.About{
			ID: "ssh.host_based", Name: "SSH trust in other hosts", Severity: audit.High, Weight: 5,
			Reference:   "CIS 5.1.10, CIS 5.1.11, Lynis SSH-7408",
			Description: "Whoever controls a trusted machine can log in here as any of its users.",
			Formula:     "PASS when HostbasedAuthentication is no. WARN when it is yes and IgnoreRhosts is yes or shosts-only, FAIL when IgnoreRhosts is no too.",
		}, Run: sshRule{[]string{"hostbasedauthentication", "ignorerhosts"}, hostBased, "HostbasedAuthentication no"}.run},
		{About: audit.About{
			ID: "ssh.strict_modes", Name: "SSH checks who can write keys", Severity: audit.High, Weight: 5,
			Reference:   "Lynis SSH-7408",
			Description: "A user who can write to the home of another can add a key there and log in.",
			Formula:     "PASS when StrictModes is yes. FAIL when it is no.",
		}, Run: sshRule{[]string{"strictmodes"}, equals("yes", audit.Fail), "StrictModes yes"}.run},
		{About: audit.About{
			ID: "ssh.log_level", Name: "SSH logging", Severity: audit.Medium, Weight: 2,
			Reference:   "CIS 5.1.14, Lynis SSH-7408",
			Description: "Without a log nobody sees who tried to get in.",
			Formula:     "PASS when LogLevel is INFO or VERBOSE. WARN for DEBUG, which logs what users do. FAIL for less.",
		}, Run: sshRule{[]string{"loglevel"}, logLevel, "LogLevel VERBOSE"}.run},
		{About: audit.About{
			ID: "ssh.protocol", Name: "SSH protocol version", Severity: audit.High, Weight: 4,
			Reference:   "Lynis SSH-7408",
			Description: "Version 1 of the protocol is broken.",
			Formula:     "PASS when Protocol is not set or is 2. FAIL when it names 1.",
		}, Run: sshRule{[]string{"protocol"}, equals("2", audit.Fail), "Protocol 2, or leave the line out"}.run},
		{About: audit.About{
			ID: "ssh.ciphers", Name: "SSH ciphers", Severity: audit.Medium, Weight: 4,
			Reference:   "CIS 5.1.6",
			Description: "What goes through a weak cipher can be read or changed on its way.",
			Formula:     "PASS when Ciphers holds neither. WARN for a CBC mode, FAIL for 3des, arcfour, blowfish or cast128.",
		}, Run: sshList{"ciphers", weakCiphers, "Ciphers chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr,aes192-ctr,aes128-ctr"}.run},
		{About: audit.About{
			ID: "ssh.macs", Name: "SSH message authentication", Severity: audit.Medium, Weight: 3,
			Reference:   "CIS 5.1.15",
			Description: "A weak check lets somebody on the way change what is sent.",
			Formula:     "PASS when MACs holds neither. WARN for umac-64, FAIL for MD5, RIPEMD or a code cut to 96 bits.",
		}, Run: sshList{"macs", weakMACs, "MACs hmac-sha2-512-etm@openssh.com,hmac-sha2-256-etm@openssh.com,umac-128-etm@openssh.com,hmac-sha2-512,hmac-sha2-256"}.run},
		{About: audit.About{
			ID: "ssh.kex", Name: "SSH key exchange", Severity: audit.Medium, Weight: 4,
			Reference:   "CIS 5.1.12",
			Description: "Who breaks the key exchange reads everything.",
			Formula:     "PASS when KexAlgorithms holds none with SHA-1. WARN for group14 and group-exchange, FAIL for group1 and gss-group1.",
		}, Run: sshList{"kexalgorithms", weakKex, "KexAlgorithms sntrup761x25519-sha512@openssh.com,curve25519-sha256,curve25519-sha256@libssh.org,diffie-hellman-group16-sha512"}.run},
		{About: audit.About{
			ID: "ssh.config_permissions", Name: "SSH configuration is root's", Severity: audit.High, Weight: 6, Unusual: true,
			Reference:   "CIS 5.1.1",
			Description: "Whoever can write the configuration decides who gets in.",
			Formula:     "PASS when sshd_config, each file of sshd_config.d and each that is included belong to root and nobody else can write them, nor the folders and links that lead to them. FAIL otherwise. Skipped when not all can be read.",
		}, Run: sshPermissions},
	}
}

// A valueOf returns the value of a keyword, in lower case.
type valueOf func(keyword string) string

func equals(value string, otherwise audit.Status) func(string, valueOf) audit.Status {
	return func(keyword string, get valueOf) audit.Status {
		if get(keyword) == value {
			return audit.Pass
		}
		return otherwise
	}
}

func within(least, most int) func(string, valueOf) audit.Status {
	return func(keyword string, get valueOf) audit.Status {
		n, ok := parseTime(get(keyword))
		if ok && n >= least && n <= most {
			return audit.Pass
		}
		return audit.Warn
	}
}

// mostSeconds is seventeen years; two of them fit into an int of 32 bits.
const mostSeconds = 1 << 29

// parseTime returns the seconds of a time of sshd_config(5), "2m", "1h30m" or a
// bare number (TIME FORMATS).
func parseTime(text string) (int, bool) {
	total := 0
	for text != "" {
		end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(text)
		}
		n, err := strconv.Atoi(text[:end])
		if err != nil || n > mostSeconds {
			return 0, false
		}
		text = text[end:]
		if text != "" {
			unit, ok := map[byte]int{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 604800}[text[0]]
			if !ok || n > mostSeconds/unit {
				return 0, false
			}
			n, text = n*unit, text[1:]
		}
		if total += n; total > mostSeconds {
			return 0, false
		}
	}
	return total, true
}

func rootLogin(_ string, get valueOf) audit.Status {
	switch get("permitrootlogin") {
	case "no", "prohibit-password", "without-password", "forced-commands-only":
		return audit.Pass
	}
	if passwordAuth("", get) == audit.Pass {
		return audit.Warn
	}
	return audit.Fail
}

func passwordAuth(_ string, get valueOf) audit.Status {
	if get("passwordauthentication") == "no" && get("kbdinteractiveauthentication") == "no" {
		return audit.Pass
	}
	return audit.Warn
}

func idle(_ string, get valueOf) audit.Status {
	interval, ok := parseTime(get("clientaliveinterval"))
	count, err := strconv.Atoi(get("clientalivecountmax"))
	if ok && err == nil && interval > 0 && count > 0 {
		return audit.Pass
	}
	return audit.Warn
}

func userEnvironment(keyword string, get valueOf) audit.Status {
	switch get(keyword) {
	case "no":
		return audit.Pass
	case "yes":
		return audit.Fail
	default:
		return audit.Warn
	}
}

func hostBased(_ string, get valueOf) audit.Status {
	switch {
	case get("hostbasedauthentication") == "no":
		return audit.Pass
	case get("ignorerhosts") == "no":
		return audit.Fail
	default:
		return audit.Warn
	}
}

func logLevel(keyword string, get valueOf) audit.Status {
	level := get(keyword)
	switch {
	case level == "info" || level == "verbose":
		return audit.Pass
	case strings.HasPrefix(level, "debug"):
		return audit.Warn
	default:
		return audit.Fail
	}
}

func weakCiphers(name string) audit.Status {
	for _, broken := range []string{"3des", "arcfour", "blowfish", "cast128", "des-"} {
		if strings.HasPrefix(name, broken) {
			return audit.Fail
		}
	}
	if strings.Contains(name, "cbc") {
		return audit.Warn
	}
	return audit.Pass
}

func weakMACs(name string) audit.Status {
	switch {
	case strings.Contains(name, "md5"), strings.Contains(name, "ripemd"), strings.Contains(name, "-96"):
		return audit.Fail
	case strings.HasPrefix(name, "umac-64"):
		return audit.Warn
	default:
		return audit.Pass
	}
}

func weakKex(name string) audit.Status {
	switch {
	case strings.Contains(name, "group1-sha1"):
		return audit.Fail
	case strings.Contains(name, "sha1"):
		return audit.Warn
	default:
		return audit.Pass
	}
}

// An sshList is a rule about a list of algorithms. The worst of them decides.
type sshList struct {
	keyword string
	judge   func(name string) audit.Status
	set     string
}

func (l sshList) run(ctx context.Context, m *machine) audit.Finding {
	var weak []string
	names := 0
	worst := func(keyword string, get valueOf) audit.Status {
		verdict := audit.Pass
		list := algorithms(get(keyword), sshDefaults()[keyword])
		names = max(names, len(list))
		for _, name := range list {
			if one := l.judge(name); one != audit.Pass {
				verdict = worse(verdict, one)
				weak = append(weak, name)
			}
		}
		return verdict
	}
	f := sshRule{[]string{l.keyword}, worst, l.set}.run(ctx, m)
	switch f.Status {
	case audit.Pass:
		f.Value = fmt.Sprintf("None of %d is weak", names)
	case audit.Warn, audit.Fail:
		f.Value = "Weak: " + strings.Join(weak, ", ")
	}
	return f
}

// algorithms returns the list in force: a list that begins with "+", "-" or "^"
// changes the default.
func algorithms(value, standard string) []string {
	list := strings.Split(strings.TrimLeft(value, "+-^"), ",")
	switch value[:min(1, len(value))] {
	case "+", "^":
		return append(strings.Split(standard, ","), list...)
	case "-":
		return slices.DeleteFunc(strings.Split(standard, ","), func(name string) bool {
			return slices.ContainsFunc(list, func(pattern string) bool {
				ok, err := path.Match(pattern, name)
				return ok && err == nil
			})
		})
	default:
		return list
	}
}

func worse(a, b audit.Status) audit.Status {
	order := []audit.Status{audit.Pass, audit.Warn, audit.Fail}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// sshDefaults are those of OpenSSH 9.2. Other versions differ only in the lists of
// algorithms.
func sshDefaults() map[string]string {
	return map[string]string{
		"permitrootlogin": "prohibit-password", "passwordauthentication": "yes", "kbdinteractiveauthentication": "yes",
		"permitemptypasswords": "no", "maxauthtries": "6", "logingracetime": "120", "clientaliveinterval": "0", "clientalivecountmax": "3",
		"x11forwarding": "no", "permituserenvironment": "no", "hostbasedauthentication": "no", "ignorerhosts": "yes", "strictmodes": "yes",
		"loglevel": "info", "protocol": "2",
		"ciphers": "chacha20-poly1305@openssh.com,aes128-ctr,aes192-ctr,aes256-ctr,aes128-gcm@openssh.com,aes256-gcm@openssh.com",
		"macs": "umac-64-etm@openssh.com,umac-128-etm@openssh.com,hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha1-etm@openssh.com," +
			"umac-64@openssh.com,umac-128@openssh.com,hmac-sha2-256,hmac-sha2-512,hmac-sha1",
		"kexalgorithms": "sntrup761x25519-sha512,sntrup761x25519-sha512@openssh.com,curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521," +
			"diffie-hellman-group-exchange-sha256,diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,diffie-hellman-group14-sha256",
	}
}
