// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/progress"
	"sentinel/internal/sanitize"
)

// A complaint is something that ssh says when it gets no session, or loses one. ssh has one exit status for all
// of them, so its words are all there is (OpenSSH: ssh.c, sshconnect.c, sshconnect2.c, packet.c).
type complaint struct {
	begins, words string // a line of it, and what follows in that
	code          fault.Code
	early         bool   // before there is a session, in which something could have been done
	what          string // what is wrong with the host, the end of a sentence that begins with its name
	fix           string // "" is that of the code
}

// complaints are looked for in the first line that is one: some of them repeat words of the host, which may have
// ends of lines. So those come before what has no beginning.
var complaints = []complaint{
	{"@ ", "HOST IDENTIFICATION HAS CHANGED", fault.HostUnverified, true, "shows another host key than the one that is known: it was installed anew, or somebody else answers in its place", keyChanged},
	{"@ ", "REVOKED HOST KEY", fault.HostUnverified, true, "shows a host key that was revoked", keyChanged},
	{"Host key ", " revoked by ", fault.HostUnverified, true, "shows a host key that was revoked", keyChanged},
	{"The ", " host key for ", fault.HostUnverified, true, "shows a host key that is not the one that is known", keyChanged},
	{"Warning: the ", " host key for ", fault.HostUnverified, true, "shows a host key that is not the one that is known", keyChanged},
	{"Host key verification failed", "", fault.HostUnverified, true, "has a host key that is not known here", keyUnknown},
	{"ssh: Could not resolve hostname ", "", fault.HostNotFound, true, "has no address: the name is not known", "Check how the name is written, in ~/.ssh/config too."},
	{"Received disconnect from ", ": Too many authentication failures", fault.HostRefused, true, "has refused too many keys", "Name the one key that is right in ~/.ssh/config, with IdentityFile and IdentitiesOnly yes."},
	{"Received disconnect from ", "", fault.HostUnreachable, false, "has ended the connection", ""},
	{"Unable to negotiate with ", "", fault.HostUnreachable, true, "has no algorithm in common with the ssh of this machine", ""},
	{"channel ", ": open failed: ", fault.HostUnreachable, true, "opens no session", ""},
	{"ssh: connect to host ", "Connection refused", fault.HostUnreachable, true, "refuses the connection", "See that sshd runs there, and listens at the port that ~/.ssh/config has for it."},
	{"ssh: connect to host ", "timed out", fault.HostUnreachable, true, "does not answer", ""},
	{"ssh: connect to host ", "", fault.HostUnreachable, true, "cannot be reached", ""},
	{"Connection timed out during banner exchange", "", fault.HostUnreachable, true, "does not answer", ""},
	{closedEarly, "", fault.HostUnreachable, true, lost, ""},
	{"Timeout, server ", " not responding", fault.HostUnreachable, false, "does not answer any longer", ""},
	{"", ": Permission denied (", fault.HostRefused, true, "lets this user in with none of the keys at hand", ""},
	{"", "timed out", fault.HostUnreachable, false, "does not answer", ""},
	{"", "Bad configuration option", fault.Unavailable, true, "cannot be reached, because ssh refuses a configuration", "Correct the file that the message names."},
	{"", "Bad owner or permissions", fault.Unavailable, true, "cannot be reached, because ssh does not trust a configuration", "Correct the rights of the file that the message names."},
}

const (
	keyChanged = "Do not go on: tell the user. Only a person may find out with the administrator of the host why, and then remove the old key with: ssh-keygen -R HOST"
	keyUnknown = "Nobody but a person may accept a key: the user runs ssh HOST once by hand, and compares the fingerprint with the one that the administrator of the host tells."
)

// closedEarly begins what ssh says where a connection ends before the other side has spoken.
const closedEarly = "kex_exchange_identification: "

// lost is what is wrong with a host of which ssh says nothing that is known.
const lost = "cannot be reached, or the connection was lost"

// refusal returns the error for what came of a host that gave no answer.
func refusal(host string, r reply) *fault.Error {
	if reason, line := complaintOf(r.said); line != "" {
		return reason.error(host, host, line)
	}
	if line := lastLine(r.said); line != "" {
		return complaint{code: fault.HostUnreachable, what: lost}.error(host, host, line)
	}
	e := complaint{code: fault.HostUnreachable, what: lost + ", or what ran there ended with status 255"}.error(host, host, "")
	if line := lastLine(r.Stderr); line != "" {
		e.Message += " " + says(host, line, maxLine)
	}
	return e
}

// complaintOf finds what ssh complained of, and the line that says so; "" for nothing that is known.
func complaintOf(said []byte) (reason complaint, line string) {
	for line := range strings.Lines(string(said)) {
		for _, c := range complaints {
			if rest, is := strings.CutPrefix(line, c.begins); is && strings.Contains(rest, c.words) {
				return c, line
			}
		}
	}
	return complaint{}, ""
}

// error is that for host, of which at is the one that ssh complained of.
func (c complaint) error(host, at, line string) *fault.Error {
	message := host + " " + c.what + "."
	if line != "" && !strings.HasPrefix(line, "@") {
		message += " ssh said: " + quoted(line, host)
	}
	_, name, both := strings.Cut(at, "@") // the known hosts are without a user
	if !both {
		name = at
	}
	fix := strings.NewReplacer("-R HOST", "-R "+name, "HOST", at).Replace(cmp.Or(c.fix, c.code.Fix()))
	return fault.New(c.code, message).WithFix(fix)
}

// lastLine returns the last line of an output that is not blank, as it is.
func lastLine(output []byte) string {
	lines := strings.Split(strings.TrimSpace(progress.Without(string(output))), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// maxLine is how much of a line is repeated, in runes.
const maxLine = 200

// quoted makes a line safe to repeat in a sentence of this side: another machine has chosen it.
func quoted(line, host string) string {
	return sanitize.Quoted(ops.OnHost(strings.TrimSpace(line), host), maxLine)
}

// says is a text of another machine such that nobody takes it for one of this side.
func says(host, text string, most int) string {
	return host + " says: " + sanitize.Quoted(ops.OnHost(text, host), most)
}
