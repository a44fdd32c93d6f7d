// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"sentinel/internal/lazyregexp"
)

// Logs call ordinary things by the names of secrets: "code=exited", "session=3", "password policy",
// "token 7". What stands behind such a name is judged by its form.

// likePassword reports whether a word looks as passwords do and words of a sentence do not: letters and
// digits, six of them.
func likePassword(word string) bool {
	const shortest = 6
	return len(word) >= shortest && mixed(word) && !thing(word)
}

// likeToken reports whether a word looks made at random: letters of both cases and digits, or long.
func likeToken(word string) bool {
	const shortest, long = 8, 16
	cases := strings.ContainsFunc(word, unicode.IsUpper) && strings.ContainsFunc(word, unicode.IsLower)
	return len(word) >= shortest && (cases || len(word) >= long) && mixed(word) && !thing(word)
}

func mixed(word string) bool {
	return strings.ContainsAny(word, "0123456789") && strings.ContainsFunc(word, unicode.IsLetter)
}

// thing recognizes addresses, paths, fingerprints, numbers, times, versions and names of algorithms and
// of devices.
func thing(word string) bool {
	_, port := netip.ParseAddrPort(word)
	_, err := netip.ParseAddr(word)
	return err == nil || port == nil || strings.Contains(word, "://") || things.Get().MatchString(word)
}

var things = lazyregexp.New(`^(?:\.{0,2}/|[A-Za-z]:\\|SHA\d+:|MD5:|S-1-|\d+[:/]\d*\w)|\(uid=` +
	`|^(?i:0x[0-9a-f]+|\d+(?:\.\d+)*[a-z%]{1,7}|v?\d+(?:\.\d+)+\S*|\d{4}-\d\d-\d\d\S*` +
	`|[a-z]+-(?:md5|sha\d+)\S*|(?:sha|md|ed|rsa|dsa|ecdsa|aes|des|oauth|ipv|x|base|utf|pkcs|tls|ssl|http|ssh|eth|ens|enp|wlan|tty|pts|pam|saml|u2f|ntlmv|krb|id|type|key|user|node|host)[_./-]?\d+\w{0,4})$`)

// A rule finds what may be a secret, its second group, behind the first, and says whether it is one.
type rule struct {
	pattern *lazyregexp.Regexp
	secret  func(before, value, after string) bool
}

// rules are for text in which the name of a secret stands in a sentence or in XML, or is that of other
// things too.
var rules = []rule{
	{lazyregexp.New(`(?i)(\b(?:passw(?:or)?ds?|passphrase|passcode|pwd|otp|token|secret|credentials?|authorization|community|psk|verification code|(?:api|private|secret|encryption|access|signing|master)[ _-]?key)` +
		`["']?(?:\s+(?:for|of)(?:\s+[^\s:=]{1,64}){1,2}\s*[:=]\s*|\s*(?:[:=,\[(]|=>)\s*|\s+(?:is|was|(?:(?:re)?set|changed)\s+to|to|with)\s+|\s+))(` + value + `)`), inSentence},
	{lazyregexp.New(`(?i)((?:^|[\s?&;,{\["'(|])(?:code|session|sid|session[_-]?key|key|ticket|pat|\w+_pat|auth|[\w-]*community|assertion|samlresponse)\\*["']?\s*(?:=>|:=|=|:|%3[ad])\s*)(` + value + `)`), token},
	{lazyregexp.New(`(\bAUTH\s+(?:(?:PLAIN|LOGIN|NTLM|XOAUTH2|CRAM-MD5)\s+)?)(\S+)`), token}, // SMTP, IMAP, Redis
	{lazyregexp.New(`(?i)(/(?:reset|verify|confirm|activate|invite|magic)[\w-]*/)([\w.~=-]+)`), token},
	{lazyregexp.New(`((?:^|[\s"'=])(?:[\w.-]+/)?[\w.$-]+:)([^\s:@/"']+)@[A-Za-z]`), ofUser},
	{lazyregexp.New(`(?i)(\bjdbc:[\w:]+:[^\s/@:"']+/)([^\s@"']+)@`), always},
	{lazyregexp.New(`(?i)(<(?:[\w-]+:)?` + name + `(?:\s[^<>]*)?>\s*(?:<!\[CDATA\[)?)([^<>]+)(?:</|<?…$)`), always},
	{lazyregexp.New(`(?i)((?:key|name)=["']` + name + `["']\s+value=)("[^"]*"?|'[^']*'?)`), always},
	{lazyregexp.New(`(\$(?:\d\w?|g?y|argon2\w+|apr1|sha1|scrypt|pbkdf2[\w-]*)\$)([\w./$,=+-]{8,})`), func(_, value, _ string) bool { return mixed(value) }}, // crypt(5)
	{lazyregexp.New(`(?i)(\becho\s+(?:-\w+\s+)?)("[^"]*"|'[^']*'|[^\s"'|]+)\s*\|\s*(?:\S*/)?(?:sudo|su|passwd|chpasswd|cryptsetup|docker\s+login)\b`), always},
}

func always(_, _, _ string) bool { return true }

func token(_, value, _ string) bool { return likeToken(strings.Trim(value, `"'`)) }

// inSentence judges what follows the word for a secret: by its form; where a value is said to come, what
// is in quotes, and a single word at the end of "Password for ann: "; the digits of a code.
func inSentence(before, value, after string) bool {
	before = strings.ToLower(before)
	word := strings.Trim(value, `"'`)
	told := strings.ContainsAny(before, ":=") || strings.HasSuffix(before, " is ") || strings.HasSuffix(before, "set to ") || strings.HasSuffix(before, "changed to ")
	last := strings.HasPrefix(before, "pass") && strings.Contains(before, " for ") && strings.Contains(before, ":") && strings.TrimSpace(after) == ""
	digits := strings.Trim(word, "0123456789") == "" && len(word) >= 4
	code := strings.HasPrefix(before, "otp") || strings.HasPrefix(before, "passcode") || strings.HasPrefix(before, "verification")
	return likePassword(word) || told && word != value || last || code && digits
}

// ofUser judges user:value@host. An image of a container has a tag and a digest there.
func ofUser(_, value, after string) bool {
	return likePassword(value) && !strings.HasPrefix(after, "@sha256:")
}

// apply redacts the secrets that the rule finds. What it took for the value of another word is looked at
// again, long ones a few times: a line of nothing else would take time with the square of its length.
func (r rule) apply(s string) string {
	const long, most = 64, 8
	var out strings.Builder
	for again := 0; ; {
		at := r.pattern.Get().FindStringSubmatchIndex(s)
		if at == nil {
			return out.String() + s
		}
		value := strings.TrimRight(s[at[4]:at[5]], ".,;:!)]}>")
		end := at[4] + len(value)
		if value != "" && !strings.HasPrefix(s[at[4]:], Redacted) && r.secret(s[at[2]:at[3]], value, s[end:]) {
			out.WriteString(s[:at[4]] + Redacted)
			s = s[end:]
			continue
		}
		next := at[3]
		if len(value) > long {
			again++
		}
		if again > most {
			next = max(next, end)
		}
		out.WriteString(s[:next])
		s = s[next:]
	}
}

// hints are in every text to which a rule may apply.
var hints = []string{
	"pass", "pwd", "otp", "token", "secret", "credential", "authorization", "community", "psk", "key", "code", "session", "sid", "ticket", "pat", "auth", "assertion", "samlresponse",
	"reset", "verif", "confirm", "activate", "invite", "magic", "$", "@", "<", "|",
}

// hinted is a cheap test without false negatives for what rules redact.
func hinted(s string) bool {
	if !strings.ContainsAny(s, "0123456789\"'<|:") {
		return false
	}
	lower := strings.ToLower(s)
	return slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(lower, h) })
}
