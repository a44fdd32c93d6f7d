// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/lazyregexp"
)

// A Line is what a program has logged.
type Line struct {
	At      time.Time
	Program string // as it calls itself in the log: "sshd"
	Text    string
	PID     int // of the program; 0 if unknown
	// By is the account that the program ran for, as the kernel told the log; empty for root, and where
	// the log does not know.
	By string
	// Doubtful says that nothing shows that the program wrote it, where the log tells such things.
	Doubtful bool
}

// A kind of event.
type kind int

const (
	failed    kind = iota // somebody was refused
	opened                // nothing but the traces of a client that did not get in
	succeeded             // somebody logged in
	changed               // an account was made, removed or changed
)

// An Event is what a line, or a record of the system, tells about a login.
type Event struct {
	kind    kind
	At      time.Time
	Service string // such as ssh, sudo, login
	User    string // as the client gave it, in whatever characters
	By      string // the account that tried to become User
	From    netip.Addr
	Port    uint16 // of the client, 0 if unknown
	PID     int
	Method  string // how it logged in: password, publickey
	Detail  string // the fingerprint of its key, what was changed
	Count   int    // how many attempts the line stands for
	Unclear bool   // what the client sent keeps its address from being read
}

// Failure makes the event that a record of a failed login stands for.
func Failure(at time.Time, service, user string, from netip.Addr) Event {
	return Event{kind: failed, At: at, Service: service, User: user, From: from.Unmap(), Count: 1}
}

// Succeeded reports whether somebody logged in.
func (e Event) Succeeded() bool { return e.kind == succeeded }

// Parse returns what a line tells; ok is false for nothing.
//
// Users choose the names that they try, with any characters but control characters (sshd writes
// those as in vis(3)), so that a name can look like the rest of a line. Therefore
// each form is anchored at both ends, and an address is taken only from where the program itself has
// put it.
func Parse(l Line) (e Event, ok bool) {
	switch program := strings.TrimSuffix(l.Program, "]"); {
	case program == "sudo":
		e, ok = parseSudo(l)
	case program == "su":
		e, ok = parseSu(l)
	case program == "passwd":
		e, ok = parsePasswd(l)
	case l.By != "": // any user can send lines in any name
		return Event{}, false
	case program == "sshd" || program == "sshd-session" || program == "sshd-auth":
		e, ok = parseSSHD(l.Text)
	case accountTools[program]:
		e, ok = parseAccountTool(l.Text)
	case slices.Contains(letIn, program):
		e, ok = parsePAM(l.Text)
	}
	e.At, e.PID = l.At, l.PID
	if l.Doubtful {
		return e.doubted(), ok && (e.kind == failed || e.kind == opened)
	}
	return e, ok
}

// doubted leaves of a failure that there was one: users can have a program of root's write any name and address.
func (e Event) doubted() Event {
	e.User, e.By, e.From, e.Port, e.Unclear = "", "", netip.Addr{}, 0, true
	return e
}

// Forms of OpenSSH. The attempts are those of auth_log in auth.c, the ends of connections those of
// sshpkt_vfatal in packet.c; the first have a part of at most 100 bytes that the client chooses,
// and after the colon what the method says of a key.
var (
	sshAccepted = lazyregexp.New(`^Accepted (\S+) for (\S+) from (\S+) port (\d{1,5}) ssh2(?:: (.*))?$`)
	sshFailed   = lazyregexp.New(`^Failed (\S+) for (invalid user )?(.*)$`)
	sshInvalid  = lazyregexp.New(`^Invalid user (.*) from (\S+) port (\d{1,5})$`)
	sshEnded    = lazyregexp.New(`^(?:Connection (?:closed|reset) by|Disconnected from) (?:authenticating|invalid) user (.*) (\S+) port (\d{1,5}) \[preauth\]$`)
	sshTooMany  = lazyregexp.New(`^Disconnecting (?:authenticating|invalid) user (.*) (\S+) port (\d{1,5}): Too many authentication failures \[preauth\]$`)
	sshOrigin   = lazyregexp.New(` from (\S+) port (\d{1,5}) ssh2`)
	sshKey      = lazyregexp.New(`: [A-Za-z0-9-]+ SHA256:[A-Za-z0-9+/]{43}$`)
)

func parseSSHD(text string) (Event, bool) {
	if m := sshAccepted.Get().FindStringSubmatch(text); m != nil {
		return at(Event{kind: succeeded, Service: "ssh", User: m[2], Method: m[1], Detail: m[5]}, m[3], m[4])
	}
	if m := sshFailed.Get().FindStringSubmatch(text); m != nil {
		return parseAttempt(m[1], m[3])
	}
	for _, form := range []*lazyregexp.Regexp{sshInvalid, sshEnded, sshTooMany} {
		if m := form.Get().FindStringSubmatch(text); m != nil {
			return at(Event{kind: opened, Service: "ssh", User: m[1]}, m[2], m[3])
		}
	}
	return Event{}, false
}

// parseAttempt parses "USER from ADDRESS port PORT ssh2", which what the method says of a key may
// follow.
func parseAttempt(method, rest string) (Event, bool) {
	e := Event{kind: failed, Service: "ssh", Method: method, Count: 1}
	if method == "none" { // how clients ask which methods there are
		e.kind = opened
	}
	origin := originOf(rest)
	if origin == nil {
		e.Unclear = true
		return e, true
	}
	e.User = rest[:origin[0]]
	return at(e, rest[origin[2]:origin[3]], rest[origin[4]:origin[5]])
}

// sshCut is below the length at which sshd cuts a message off (MSGBUFSIZ of log.c, 1024), which
// begins before the part that is looked at.
const sshCut = 900

// originOf returns where sshd itself has put the address, or nil where a client makes that unclear.
// USER comes before it and can hold the same words; so the last counts, where it ends the line or only
// a key follows. A certificate that nobody has vouched for has a name too, which comes after it: the
// name can hold the same words, and can be so long that sshd cuts off what would show that.
func originOf(rest string) []int {
	all := sshOrigin.Get().FindAllStringSubmatchIndex(rest, -1)
	if len(all) < 2 {
		return slices.Concat(all...)
	}
	end := len(rest)
	if key := sshKey.Get().FindStringIndex(rest); key != nil {
		end = key[0]
	}
	last := all[len(all)-1]
	if last[1] != end || len(rest) > sshCut || strings.Contains(rest, "-CERT ") {
		return nil
	}
	return last
}

// at adds where a client is. A name instead of an address proves nothing.
func at(e Event, address, port string) (Event, bool) {
	a, err := netip.ParseAddr(address)
	if err != nil {
		e.Unclear = true
		return e, true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	e.From, e.Port = a.Unmap(), uint16(n)
	return e, err == nil
}

// Forms of sudo (logging.c), su of util-linux and of shadow, and pam_unix (support.c, pam_unix_sess.c).
var (
	sudoPassword = lazyregexp.New(`^\s*(\S+) : (\d{1,3}) incorrect password attempts? ; `)
	sudoNobody   = lazyregexp.New(`^\s*(\S+) : user NOT in sudoers ; `)
	suFailed     = lazyregexp.New(`^FAILED SU \(to (.*)\) (\S+) on \S+$`)
	suFailedBSD  = lazyregexp.New(`^BAD SU (\S+) to (.*) on \S+$`) // by, then whom: su of FreeBSD and macOS
	suFailedOld  = lazyregexp.New(`^FAILED su for (.*) by (\S+)$`)
	pamFailed    = lazyregexp.New(`^pam_[a-z0-9_]+\(([\w.-]+):auth\): authentication failure; logname=\S* uid=\d+ euid=\d+ tty=\S* ruser=.* rhost=(\S*)(?: +user=(.*?))? *$`)
	pamOpened    = lazyregexp.New(`^pam_unix\(([\w.-]+):session\): session opened for user (\S+?)(?:\(uid=\d+\))? by .*$`)
	pamPassword  = lazyregexp.New(`^pam_unix\([\w.-]+:chauthtok\): password changed for (\S+)$`)
)

func parseSudo(l Line) (Event, bool) {
	if m := sudoPassword.Get().FindStringSubmatch(l.Text); m != nil {
		n, err := strconv.Atoi(m[2])
		return whoever(Event{kind: failed, Service: "sudo", User: m[1], Method: "password", Count: n}, l), err == nil
	}
	if m := sudoNobody.Get().FindStringSubmatch(l.Text); m != nil {
		return whoever(Event{kind: failed, Service: "sudo", User: m[1], Detail: "may not use sudo", Count: 1}, l), true
	}
	return Event{}, false
}

// whoever corrects the account of a line of sudo: the kernel knows better who it ran for.
func whoever(e Event, l Line) Event {
	if l.By != "" {
		e.User = l.By
	}
	return e
}

func parseSu(l Line) (Event, bool) {
	for _, form := range []*lazyregexp.Regexp{suFailed, suFailedOld} {
		if m := form.Get().FindStringSubmatch(l.Text); m != nil {
			e := Event{kind: failed, Service: "su", User: m[1], By: m[2], Method: "password", Count: 1}
			if l.By != "" {
				e.By = l.By
			}
			return e, true
		}
	}
	if m := suFailedBSD.Get().FindStringSubmatch(l.Text); m != nil {
		return Event{kind: failed, Service: "su", User: m[2], By: m[1], Method: "password", Count: 1}, true
	}
	return Event{}, false
}

func parsePasswd(l Line) (Event, bool) {
	m := pamPassword.Get().FindStringSubmatch(l.Text)
	if m == nil || l.By != "" && l.By != m[1] {
		return Event{}, false
	}
	return Event{kind: changed, Service: "passwd", User: m[1], Detail: "password changed"}, true
}

// parsePAM parses lines of programs that let people in with PAM.
func parsePAM(text string) (Event, bool) {
	if m := pamFailed.Get().FindStringSubmatch(text); m != nil && !innerServices[m[1]] {
		e := Event{kind: failed, Service: m[1], User: m[3], Method: "password", Count: 1}
		if strings.Count(text, " rhost=") > 1 { // a client chooses the names before it and behind it
			e.User, e.Unclear = "", true
			return e, true
		}
		if a, err := netip.ParseAddr(m[2]); err == nil {
			e.From = a.Unmap()
		}
		return e, true
	}
	if m := pamOpened.Get().FindStringSubmatch(text); m != nil && !innerServices[m[1]] {
		return Event{kind: succeeded, Service: m[1], User: m[2]}, true
	}
	return Event{}, false
}

// innerServices of PAM are those with which programs of [letIn] start what is no login.
var innerServices = map[string]bool{"gdm-launch-environment": true, "lightdm-greeter": true, "sddm-greeter": true}

// letIn are the programs that let people in with PAM. GDM has the bracket of its PID in its name.
var letIn = []string{
	"login", "gdm-password", "gdm-password]", "gdm-fingerprint]", "gdm-smartcard]", "lightdm", "sddm-helper", "cockpit-session", "xrdp-sesman", "vsftpd",
}

// Tools of shadow that change accounts.
var accountTools = map[string]bool{
	"useradd": true, "adduser": true, "usermod": true, "userdel": true, "gpasswd": true, "chpasswd": true, "newusers": true, "chsh": true,
}

var accountForms = []struct {
	form   *lazyregexp.Regexp // the account, and what was done to it
	detail string             // before the second part
}{
	{lazyregexp.New(`^new user: name=([^,]+), (UID=\d+)(?:,.*)?$`), "created with "},
	{lazyregexp.New(`^add '([^']+)' to group '([^']+)'$`), "added to group "},
	{lazyregexp.New(`^user (\S+) added by \S+ to group (\S+)$`), "added to group "},
	{lazyregexp.New(`^delete user '([^']+)'()$`), "removed"},
	{lazyregexp.New(`^change user '([^']+)' (password|shell.*|UID.*|home.*)$`), "changed: "},
	{lazyregexp.New(`^change user name '([^']+)' to ('[^']+')$`), "renamed to "},
	{lazyregexp.New(`^changed user '([^']+)' (shell.*)$`), "changed: "},
}

func parseAccountTool(text string) (Event, bool) {
	if m := pamPassword.Get().FindStringSubmatch(text); m != nil {
		return Event{kind: changed, User: m[1], Detail: "password changed"}, true
	}
	for _, f := range accountForms {
		if m := f.form.Get().FindStringSubmatch(text); m != nil {
			return Event{kind: changed, User: m[1], Detail: f.detail + m[2]}, true
		}
	}
	return Event{}, false
}

// Programs are those whose lines [Parse] understands, as they call themselves in the log.
func Programs() []string {
	return append([]string{"sshd", "sshd-session", "sshd-auth", "sudo", "su", "passwd", "useradd", "adduser", "usermod", "userdel", "gpasswd", "chpasswd", "newusers", "chsh"}, letIn...)
}
