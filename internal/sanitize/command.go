// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"regexp"
	"strings"
	"sync"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// sensitive matches the names under which programs take secrets, as an
// option (--db-password), a variable (PGPASSWORD) or a parameter (api_key).
const sensitive = `[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|authorization)[\w.-]*`

type patterns struct {
	assign, option, userinfo, auth *regexp.Regexp
}

// secrets is compiled at first use: most runs show no command line, and
// start-up is part of every answer.
var secrets = sync.OnceValue(func() patterns {
	return patterns{
		assign:   regexp.MustCompile(`(?i)(` + sensitive + `\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s&;,]+)`),
		option:   regexp.MustCompile(`(?i)^-{1,2}` + sensitive + `$`),
		userinfo: regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/\s@]*@`),
		auth:     regexp.MustCompile(`(?i)\b(basic|bearer|digest|negotiate)\s+[A-Za-z0-9+/=_.~-]{6,}`),
	}
})

// Command joins the arguments of a process into one line of at most limit
// runes, with secrets replaced by [redacted]: values of options and variables
// whose name says so (--password=x, --password x, token=x), user and password
// in URLs, authorization headers, and the glued password of the MySQL and
// PostgreSQL family (-pSECRET). It errs on the side of hiding.
func Command(args []string, limit int) string {
	out := make([]string, 0, len(args))
	hide := false
	for i, arg := range args {
		switch {
		case hide:
			out = append(out, Redacted)
		case i > 0 && gluedPassword(args[0], arg):
			out = append(out, "-p"+Redacted)
		default:
			out = append(out, redact(arg))
		}
		hide = secrets().option.MatchString(arg)
	}
	return Text(strings.Join(out, " "), limit)
}

func redact(arg string) string {
	p := secrets()
	arg = p.userinfo.ReplaceAllString(arg, "${1}"+Redacted+"@")
	arg = p.auth.ReplaceAllString(arg, "${1} "+Redacted)
	return p.assign.ReplaceAllString(arg, "${1}"+Redacted)
}

// gluedPassword recognises -pSECRET of the MySQL clients and sshpass, where -p
// takes its value without a blank.
func gluedPassword(program, arg string) bool {
	if len(arg) < 3 || !strings.HasPrefix(arg, "-p") {
		return false
	}
	name := program[strings.LastIndexByte(program, '/')+1:]
	return name == "sshpass" || strings.HasPrefix(name, "mysql") || strings.HasPrefix(name, "mariadb")
}
