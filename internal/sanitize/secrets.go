// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"sentinel/internal/lazyregexp"
)

// name matches the names of secrets: of an option (--db-password), a variable
// (PGPASSWORD), a parameter (api_key), a member (keyStorePassword). The words in
// the first two lines may be followed by anything; "pass" and the like must end the
// name, and "tokenizer" is not a token.
const name = `[\w.-]*(?:(?:passw(?:or)?d|passwort|passphrase|passcode|secret|authorization|credential` +
	`|(?:api|access|account|private|auth|encryption|signing|master|app|storage|shared|license|service)[_.-]?key)[\w.-]*` +
	`|token(?:[a-hj-z0-9_.-][\w.-]*|i(?:[a-y0-9_.-][\w.-]*)?)?` +
	`|pass|passin|passout|pw|pwd|psk|otp|pin|creds?|jwt|bearer|cookies?|sig|signature|mnemonic|seed[_-]?phrase|session[_-]?id|from-literal)`

// value matches a value: quoted, quoted inside quotes, or up to a blank, semicolon
// or ampersand. An unclosed quote was cut off.
const value = `"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|\\+["'][^"']*(?:["']|$)|[^\s;"'&]+`

// patterns find secrets in text.
type patterns struct {
	first      *lazyregexp.Regexp // an argument that is one assignment: everything after it is the value
	option     *lazyregexp.Regexp // the next word is the value
	flag       *lazyregexp.Regexp // an option that takes no value
	ends       *lazyregexp.Regexp // the next word is the value of a header or an assignment
	assign     *lazyregexp.Regexp
	parameter  *lazyregexp.Regexp // the next parameter of a URL, which ends the value before it
	rest       *lazyregexp.Regexp // the rest of a value, after an ampersand that does not end it
	userinfo   *lazyregexp.Regexp
	oddInfo    *lazyregexp.Regexp // a password with a slash in it
	driver     *lazyregexp.Regexp // user:password@tcp(...), as in Go's MySQL driver
	header     *lazyregexp.Regexp
	scheme     *lazyregexp.Regexp // authorization=basic ...
	bearer     *lazyregexp.Regexp
	basic      *lazyregexp.Regexp // user and password in base64
	identified *lazyregexp.Regexp // SQL
	login      *lazyregexp.Regexp // an option or a parameter with user:password
	takesLogin *lazyregexp.Regexp // an option before such a word
	object     *lazyregexp.Regexp // a secret of QEMU
	known      *lazyregexp.Regexp // tokens that are recognized by their form
}

// secrets are each compiled on first use: most runs show few command lines, and start-up
// time is part of every answer.
var secrets = &patterns{
	first:      lazyregexp.New(`(?i)^-{0,2}` + name + `\s*[=:]`),
	option:     lazyregexp.New(`(?i)^-{1,2}` + name + `$`),
	flag:       lazyregexp.New(`(?i)^-{1,2}(?:no|ask|prompt)[-_]|[-_](?:stdin|prompt)$`),
	ends:       lazyregexp.New(`(?i)(?:` + name + `|^["']?x-[\w-]*(?:token|key|secret|auth)[\w-]*)["']?[=:]$`),
	assign:     lazyregexp.New(`(?i)(` + name + `\\*["']?\s*(?:=>|:=|=|:|%3[ad])\s*)(` + value + `)`),
	parameter:  lazyregexp.New(`^&[\w.%-]{1,64}=`),
	rest:       lazyregexp.New(`^&[^\s;"'&]*`),
	userinfo:   lazyregexp.New(`([A-Za-z][\w+.-]*://)[^/\s"']*@`),
	oddInfo:    lazyregexp.New(`([A-Za-z][\w+.-]*://)[^\s/@:]*:\d*[^\s/@\d][^\s@]*@`),
	driver:     lazyregexp.New(`[^\s:/@="']+:[^\s@/"']+(@(?:tcp|unix)\()`),
	header:     lazyregexp.New(`(?i)((?:authorization|cookie|x-[\w-]*(?:token|key|secret|auth)[\w-]*)\s*:\s*)[^"'\r\n]+`),
	scheme:     lazyregexp.New(`(?i)(authorization["']?\s*=\s*["']?(?:basic|bearer|digest|negotiate|ntlm|token)\s+)[^\s"',;]+`),
	bearer:     lazyregexp.New(`(?i)\b(bearer\s+)[^\s"']{6,}`),
	basic:      lazyregexp.New(`(?i)\b(basic\s+)([A-Za-z0-9+/]{4,}={0,2})`),
	identified: lazyregexp.New(`(?i)\b(identified\s+(?:with\s+\S+\s+)?by\s+)(?:` + value + `)`),
	login:      lazyregexp.New(`(?i)((?:^|[\s,])-{0,2}[\w-]*(?:auth|login)=["']?[^\s:=/@"',]+:)[^\s"',/][^\s"',]*`),
	takesLogin: lazyregexp.New(`(?i)^-{1,2}[\w-]*(?:auth|login)$`),
	object:     lazyregexp.New(`(?i)(\bsecret\w*,\S*?\bdata=)[^\s,]+`),
	known: lazyregexp.New(`\b(?:(?:AKIA|ASIA)[0-9A-Z]{16}|dckr_pat_[\w-]{16,}|hooks\.slack\.com/services/[\w/]+|discord(?:app)?\.com/api/webhooks/\d+/[\w-]+|[\w-]+\.webhook\.office\.com/\S+|bot\d{6,}:[\w-]{20,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|[srp]k_(?:live|test)_\w{10,}` +
		`|sk-[\w-]{16,}|hf_\w{20,}|npm_\w{30,}|tskey-[\w-]{10,}|hvs\.[\w-]{16,}|AIza[\w-]{30,}|SG\.[\w-]{16,}\.[\w-]{16,}` +
		`|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*`),
}

// text redacts secrets that can be recognized without the words around them. The
// cheap comparisons spare most arguments the regular expressions.
func (p *patterns) text(s string) string {
	if strings.Contains(s, "://") {
		s = p.userinfo.Get().ReplaceAllString(s, "${1}"+Redacted+"@")
		s = p.oddInfo.Get().ReplaceAllString(s, "${1}"+Redacted+"@")
	}
	if strings.Contains(s, "(") {
		s = p.driver.Get().ReplaceAllString(s, Redacted+"${1}")
	}
	if strings.ContainsAny(s, " \t\n") {
		s = p.bearer.Get().ReplaceAllString(s, "${1}"+Redacted)
		s = p.basic.Get().ReplaceAllStringFunc(s, p.withoutBasic)
		s = p.identified.Get().ReplaceAllString(s, "${1}"+Redacted)
	}
	if strings.Contains(s, "=") {
		s = p.login.Get().ReplaceAllString(s, "${1}"+Redacted)
		s = p.object.Get().ReplaceAllString(s, "${1}"+Redacted)
	}
	if strings.ContainsAny(s, "=:%") {
		s = p.scheme.Get().ReplaceAllString(s, "${1}"+Redacted)
		s = p.header.Get().ReplaceAllString(s, "${1}"+Redacted)
		s = p.assignments(s)
	}
	if len(s) > 16 {
		s = p.known.Get().ReplaceAllString(s, Redacted)
	}
	if hinted(s) {
		for _, r := range rules {
			s = r.apply(s)
		}
	}
	return s
}

// withoutBasic redacts what follows the word "basic" where that is a user and a password (RFC 7617).
func (p *patterns) withoutBasic(match string) string {
	parts := p.basic.Get().FindStringSubmatch(match)
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(parts[2], "="))
	if err != nil || !bytes.Contains(decoded, []byte(":")) {
		return match
	}
	return parts[1] + Redacted
}

// SecretName says whether what is called so is a secret: an option, a variable, a member, a header.
func SecretName(s string) bool {
	const longest = 256
	if s == "" || len(s) > longest {
		return false
	}
	p := secrets
	s = strings.TrimLeft(s, "-")
	return p.option.Get().MatchString("--"+s) || p.header.Get().MatchString(s+": x")
}

// assignment returns where the value begins if the whole argument is one
// assignment, or 0.
func (p *patterns) assignment(arg string) int {
	if !strings.ContainsAny(arg, "=:") {
		return 0
	}
	at := p.first.Get().FindStringIndex(arg)
	if at == nil || at[1] == len(arg) {
		return 0
	}
	return at[1]
}

// assignments redacts values up to the next parameter of a URL, in one pass over s.
func (p *patterns) assignments(s string) string {
	var out strings.Builder
	for {
		at := p.assign.Get().FindStringSubmatchIndex(s)
		if at == nil {
			return out.String() + s
		}
		if directory(s, at) {
			out.WriteString(s[:at[1]])
			s = s[at[1]:]
			continue
		}
		out.WriteString(s[:at[3]] + Redacted)
		s = s[at[1]:]
		for strings.HasPrefix(s, "&") && !p.parameter.Get().MatchString(s) {
			s = s[len(p.rest.Get().FindString(s)):]
		}
	}
}

// directory says that an assignment is the working directory as sudo logs it, "; PWD=/srv ;", which has
// the name of a secret of ODBC's.
func directory(s string, at []int) bool {
	before, after := s[:at[0]], s[at[1]:]
	return s[at[2]:at[3]] == "PWD=" && s[at[3]] == '/' && (before == "" || strings.HasSuffix(before, " ")) && (after == "" || after[0] == ' ')
}

// A program lists the short options with which it takes a secret.
type program struct {
	next  string   // letters of options followed by a secret: -u SECRET, -su SECRET
	long  []string // the same for long options whose name does not indicate a secret
	glued []string // prefixes of words that contain the secret: -pSECRET
	slash bool     // words are user/SECRET
	words []string // words in a row: "*" is a secret, "_" any word, "-b" options with that letter; other options do not count
}

// programs are matched by prefix, the longest first, or as a whole where a "$" follows.
var programs = []struct {
	begins string
	program
}{
	{"mysql", program{glued: []string{"-p"}}},
	{"mariadb", program{glued: []string{"-p"}}},
	{"sshpass", program{next: "p", glued: []string{"-p"}}},
	{"ssh-keygen", program{next: "NP"}},
	{"ssh", program{}}, // after sshpass: -p is a port of ssh
	{"curl", program{next: "uUbE", long: []string{"--user", "--proxy-user", "--cert", "--proxy-cert"}, glued: []string{"-u", "-U", "--user=", "--proxy-user=", "--cert=", "--proxy-cert="}}},
	{"mongo", program{next: "p", glued: []string{"-p"}}},
	{"cqlsh", program{next: "p"}},
	{"redis-cli", program{next: "a", glued: []string{"-a"}}},
	{"valkey-cli", program{next: "a", glued: []string{"-a"}}},
	{"ldappasswd", program{next: "wsa", glued: []string{"-w", "-s", "-a"}}},
	{"ldap", program{next: "w", glued: []string{"-w"}}},
	{"bcp", program{next: "P", glued: []string{"-P"}}},
	{"sqlplus", program{slash: true}},
	{"sqlldr", program{slash: true}},
	{"expdp", program{slash: true}},
	{"impdp", program{slash: true}},
	{"rman", program{slash: true}},
	{"sqlcmd", program{next: "P", glued: []string{"-P"}}},
	{"ipmitool", program{next: "P"}},
	{"snmp", program{next: "cAX"}},
	{"smbclient", program{next: "U", glued: []string{"-U"}}},
	{"rpcclient", program{next: "U", glued: []string{"-U"}}},
	{"smbpasswd", program{words: []string{"_ *"}}},
	{"winexe", program{next: "U", glued: []string{"-U"}}},
	{"samba-tool", program{words: []string{"user create _ *", "user add _ *"}}},
	{"net$", program{next: "U", words: []string{"user _ *"}}},
	{"transmission-remote", program{next: "n"}},
	{"swaks", program{long: []string{"-ap"}}},
	{"sendemail", program{long: []string{"-xp"}}},
	{"sendEmail", program{long: []string{"-xp"}}},
	{"http$", program{next: "a"}},
	{"https$", program{next: "a"}},
	{"xh$", program{next: "a"}},
	{"xhs$", program{next: "a"}},
	{"htpasswd", program{words: []string{"-b _ * * *"}}}, // a user, or a file and a user; and the value of -C
	{"vault", program{words: []string{"login *", "kv put _ * * * *", "kv patch _ * * * *", "write _ * * * *"}}},
	{"etcdctl", program{long: []string{"--user"}, glued: []string{"--user="}}},
	{"rabbitmqctl", program{words: []string{"add_user _ *", "change_password _ *", "authenticate_user _ *"}}},
	{"mc$", program{words: []string{"alias set _ _ * * *", "config host add _ _ * * *"}}},
	{"mcli$", program{words: []string{"alias set _ _ * * *"}}},
	{"wpa_passphrase", program{words: []string{"_ *"}}},
	{"iwconfig", program{words: []string{"key *", "enc *"}}},
	{"isql", program{words: []string{"_ _ *"}}},
	{"hydra", program{next: "p"}},
	{"frpc", program{next: "t"}},
	{"mosquitto_", program{next: "P"}}, //nolint:misspell // the name of a program
	{"lftp", program{next: "u"}},
	{"unzip", program{next: "P"}},
	{"zip", program{next: "P"}},
	{"rar", program{glued: []string{"-p", "-hp"}}},
	{"unrar", program{glued: []string{"-p"}}},
	{"twine", program{next: "p"}},
	{"7z", program{glued: []string{"-p"}}},
	{"openssl", program{next: "kK"}},
	{"rdesktop", program{next: "p"}},
	{"xfreerdp", program{glued: []string{"/p:"}}},
	{"useradd", program{next: "p"}},
	{"usermod", program{next: "p"}},
	{"login", program{next: "p"}}, // docker login, az login; not login(1), see below
}

// programNamed finds the program that a word names. login(1) itself, unlike "docker
// login", has another meaning for -p.
func programNamed(word string, first bool) (program, bool) {
	base := word[strings.LastIndexByte(word, '/')+1:]
	for _, p := range programs {
		begins, whole := strings.CutSuffix(p.begins, "$")
		if strings.HasPrefix(base, begins) && (!whole || base == begins) && (p.begins != "login" || base == "login" && !first) {
			return p.program, true
		}
	}
	return program{}, false
}

// announces reports whether w is an option followed by a secret. Letters may be
// combined, as in -su.
func (p program) announces(w string) bool {
	letters := len(w) > 1 && w[0] == '-' && w[1] != '-'
	return slices.Contains(p.long, w) || letters && strings.IndexByte(p.next, w[len(w)-1]) >= 0
}

// operand reports whether the last of the words behind the name of the program is a secret.
func (p program) operand(words []string) bool {
	return slices.ContainsFunc(p.words, func(pattern string) bool { return endsAtSecret(strings.Fields(pattern), words) })
}

// knows reports whether w is one of the words of the program, as "login" is of "vault login", and so
// names no other.
func (p program) knows(w string) bool {
	return slices.ContainsFunc(p.words, func(pattern string) bool { return slices.Contains(strings.Fields(pattern), w) })
}

// fits reports whether a word may stand where a pattern has p.
func fits(p, w string) bool {
	switch {
	case p == "_" || p == "*":
		return w[0] != '-'
	case p[0] == '-':
		return w[0] == '-' && !strings.HasPrefix(w, "--") && strings.Contains(w, p[1:])
	default:
		return p == w
	}
}

// endsAtSecret reports whether words, from their first that fits, run through the pattern up to a "*".
func endsAtSecret(pattern, words []string) bool {
	at := 0
	for i, w := range words {
		switch fit := at < len(pattern) && fits(pattern[at], w); {
		case fit && i == len(words)-1:
			return pattern[at] == "*"
		case fit:
			at++
		case w[0] != '-' && at > 0:
			return false
		}
	}
	return false
}

// port matches a port mapping, which is not a password.
var port = lazyregexp.New(`^\d+:\d+`)

// secretIn returns the option part of a word that also contains its secret.
func (p program) secretIn(w string) (option string, ok bool) {
	for _, g := range p.glued {
		if rest, found := strings.CutPrefix(w, g); found && rest != "" && !port.Get().MatchString(rest) {
			return g, true
		}
	}
	if user, rest, found := strings.Cut(w, "/"); p.slash && found && user != "" && rest != "" && !strings.Contains(rest, "/") && user[0] != '@' && user[0] != '-' {
		return user + "/", true
	}
	return "", false
}
