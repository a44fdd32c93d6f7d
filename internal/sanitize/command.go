// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Redacted replaces a secret.
const Redacted = "[redacted]"

// Command joins the arguments of a process into one line of at most limit runes,
// with secrets replaced by [redacted]: values of options, variables, parameters and
// JSON members whose name indicates a secret (--password=x, --password x,
// DB_PASS=x, ?token=x), user and password in URLs, authorization headers and
// cookies, tokens of a known form, and the secrets that well-known programs take
// after a short option (mysql -pSECRET, curl -u user:SECRET). Arguments that are
// command lines themselves (sh -c, process titles) are treated alike. When in doubt
// it redacts.
func Command(args []string, limit int) string {
	var r redactor
	var out strings.Builder
	for i, runes := 0, 0; i < len(args) && runes <= limit; i++ { // Text cuts the rest off
		shown := r.argument(args[i])
		if i > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(shown)
		runes += utf8.RuneCountInString(shown) + 1
	}
	return Text(out.String(), limit)
}

// A redactor reads a command line word by word. Each word may decide how the next
// one is treated.
type redactor struct {
	script  bool     // the words are those of a shell, with quotes
	words   int      // number of words read so far
	program program  // whose short options apply
	behind  []string // the words behind its name, as far as they decide
	hide    bool     // the next word is a secret
	prose   bool     // it may be one, or the rest of a sentence about passwords
	login   bool     // the next word may be user:SECRET
	until   string   // a quote: all words up to the one that ends with it are secret
}

// maxExamined bounds how much of an argument is examined, in bytes; far less of it
// is shown.
const maxExamined = 2 << 10

// argument redacts one argument. One that contains blanks may be a command line.
func (r *redactor) argument(arg string) string {
	p := secrets
	arg = Cut(arg, maxExamined)
	if r.hide {
		return r.word(arg)
	}
	if at := p.assignment(arg); at > 0 {
		r.words++
		return arg[:at] + Redacted
	}
	if strings.ContainsFunc(arg, unicode.IsSpace) {
		r.words++
		return shellWords(p.text(arg))
	}
	return r.word(arg)
}

func shellWords(text string) string {
	inner := redactor{script: true}
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = inner.word(w)
	}
	return strings.Join(words, " ")
}

// word redacts one word and notes what it implies for the next.
func (r *redactor) word(w string) string {
	r.words++
	bare := w
	if r.script {
		bare = strings.Trim(w, `"'`)
	}
	if r.secret(w, bare) {
		return Redacted
	}
	if known, ok := programNamed(bare, r.words == 1); ok && !r.program.knows(bare) {
		r.program, r.behind = known, nil
	} else if r.operand(bare) {
		return Redacted
	}
	if option, ok := r.program.secretIn(bare); ok {
		return option + Redacted
	}
	r.hide = r.announces(w, bare)
	login := r.login
	r.login = secrets.takesLogin.Get().MatchString(bare)
	if user, secret, found := strings.Cut(w, ":"); login && found && secret != "" && secret[0] != '/' && !strings.Contains(user, "/") && !port.Get().MatchString(bare) {
		return user + ":" + Redacted
	}
	if r.script {
		return w // the whole line went through text before
	}
	return secrets.text(w)
}

// operand notes a word behind the name of a program that takes secrets as words, and reports whether it
// is one.
func (r *redactor) operand(bare string) bool {
	const most = 16
	if len(r.program.words) == 0 || bare == "" || len(r.behind) == most {
		return false
	}
	r.behind = append(r.behind, bare)
	return r.program.operand(r.behind)
}

// schemes are the words between the name of a header and its secret.
var schemes = []string{"basic", "bearer", "digest", "negotiate", "token"}

// secret reports whether w is a secret because of the word before it. A secret may
// announce another one all the same: it may have been an option after all.
func (r *redactor) secret(w, bare string) bool {
	if r.until != "" {
		if strings.HasSuffix(w, r.until) {
			r.until = ""
		}
		return true
	}
	if !r.hide || strings.HasPrefix(bare, Redacted) { // redacted before
		return false
	}
	if r.prose && slices.Contains(afterPassword, strings.ToLower(strings.TrimRight(bare, ".,;:!"))) {
		r.hide = false
		return false
	}
	r.hide = slices.Contains(schemes, strings.ToLower(bare)) || r.announces(w, bare)
	if quote := w[:min(1, len(w))]; r.script && (quote == `"` || quote == `'`) && (len(w) == 1 || !strings.HasSuffix(w, quote)) {
		r.until = quote
	}
	return true
}

// plainWords announce a secret without a dash, as in "nmcli ... password x",
// "ALTER USER ... PASSWORD 'x'" and "aws configure set aws_secret_access_key x".
var plainWords = []string{
	"password", "passphrase", "psk", "authtoken", "add-authtoken", "auth-token", "auth_token", "client_secret", "secret_access_key", "aws_secret_access_key", "aws_session_token",
}

// plainWord recognizes one of them, alone or behind the last dot or colon of a property, as in
// "wifi-sec.psk" and "//registry.npmjs.org/:_authToken"; w is in lower case.
func plainWord(w string) bool {
	return slices.Contains(plainWords, strings.TrimLeft(w[strings.LastIndexAny(w, ".:")+1:], "_"))
}

// afterPassword are words that go on with a sentence about a password, and are none. They are those of
// sshd, PAM and servers of databases.
var afterPassword = []string{
	"for", "from", "of", "is", "was", "has", "not", "in", "and", "or", "by", "to", "with", "check", "changed", "expired", "expiry", "required", "mismatch", "incorrect", "accepted", "rejected", "failed", "failure",
	"auth", "authentication", "login", "policy", "prompt", "file", "hash", "database", "attempt", "attempts", "guessing", "reset", "set", "request", "must", "will", "cannot", "too",
}

// announces reports whether the word after w is a secret; bare is w without quotes.
func (r *redactor) announces(w, bare string) bool {
	p := secrets
	r.prose = false
	switch {
	case strings.HasPrefix(bare, "-") && p.option.Get().MatchString(bare):
		return !p.flag.Get().MatchString(bare)
	case strings.HasSuffix(bare, "=") || strings.HasSuffix(bare, ":"):
		return p.ends.Get().MatchString(bare)
	case r.program.announces(bare):
		return true
	default:
		r.prose = r.words > 1 && plainWord(strings.ToLower(w))
		return r.prose
	}
}
