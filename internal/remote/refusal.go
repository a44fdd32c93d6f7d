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

// A complaint is something that ssh says when it gets no session. ssh has one exit status for all of
// them, so its words are all there is (OpenSSH: ssh.c, sshconnect.c, sshconnect2.c, packet.c).
type complaint struct {
	words string // in a line of it
	code  fault.Code
	what  string // what is wrong with the host, the end of a sentence that begins with its name
	fix   string // "" is that of the code
}

// complaints are in the order in which they count: where a jump host has the trouble, ssh complains
// of the connection that it then lacks, too.
var complaints = []complaint{
	{"HOST IDENTIFICATION HAS CHANGED", fault.HostUnverified, "shows another host key than the one that is known: it was installed anew, or somebody else answers in its place", keyChanged},
	{"host key for", fault.HostUnverified, "shows a host key that is not the one that is known", keyChanged},
	{"revoked", fault.HostUnverified, "shows a host key that was revoked", keyChanged},
	{"Host key verification failed", fault.HostUnverified, "has a host key that is not known here", keyUnknown},
	{"Could not resolve hostname", fault.HostNotFound, "has no address: the name is not known", "Check how the name is written, in ~/.ssh/config too."},
	{"Permission denied (", fault.HostRefused, "lets this user in with none of the keys at hand", ""},
	{"Too many authentication failures", fault.HostRefused, "has refused too many keys", "Name the one key that is right in ~/.ssh/config, with IdentityFile and IdentitiesOnly yes."},
	{"Connection refused", fault.HostUnreachable, "refuses the connection", "See that sshd runs there, and listens at the port that ~/.ssh/config has for it."},
	{"timed out", fault.HostUnreachable, "does not answer", ""},
	{"not responding", fault.HostUnreachable, "does not answer any longer", ""},
	{"No route to host", fault.HostUnreachable, "cannot be reached", ""},
	{"is unreachable", fault.HostUnreachable, "cannot be reached", ""},
	{"Bad configuration option", fault.Unavailable, "cannot be reached, because ssh refuses a configuration", "Correct the file that the message names."},
	{"Bad owner or permissions", fault.Unavailable, "cannot be reached, because ssh does not trust a configuration", "Correct the rights of the file that the message names."},
}

const (
	keyChanged = "Do not go on: tell the user. Only a person may find out with the administrator of the host why, and then remove the old key with: ssh-keygen -R HOST"
	keyUnknown = "Nobody but a person may accept a key: the user runs ssh HOST once by hand, and compares the fingerprint with the one that the administrator of the host tells."
)

// closedEarly is what ssh says where a connection ends before the other side has spoken.
const closedEarly = "kex_exchange_identification: Connection closed by remote host"

// refusal returns the error for what ssh said of a host.
func refusal(host string, stderr []byte) *fault.Error {
	if c, line, known := complaintOf(stderr); known {
		return c.error(host, line)
	}
	return complaint{code: fault.HostUnreachable, what: "cannot be reached, or the connection was lost"}.error(host, lastLine(stderr))
}

// complaintOf finds what ssh complained of, and the line that says so.
func complaintOf(stderr []byte) (reason complaint, line string, known bool) {
	said := progress.Without(string(stderr))
	for _, c := range complaints {
		for line := range strings.Lines(said) {
			if strings.Contains(line, c.words) {
				return c, line, true
			}
		}
	}
	return complaint{}, "", false
}

func (c complaint) error(host, line string) *fault.Error {
	message := host + " " + c.what + "."
	if strings.TrimSpace(line) != "" && !strings.Contains(line, "@@@") {
		message += " ssh said: " + quoted(line, host)
	}
	_, name, both := strings.Cut(host, "@") // the known hosts are without a user
	if !both {
		name = host
	}
	fix := strings.NewReplacer("-R HOST", "-R "+name, "HOST", host).Replace(cmp.Or(c.fix, c.code.Fix()))
	return fault.New(c.code, message).WithFix(fix)
}

// lastLine returns the last line of an output that is not blank, as it is.
func lastLine(output []byte) string {
	lines := strings.Split(strings.TrimSpace(progress.Without(string(output))), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// quoted makes a line safe to repeat in a sentence of this side: another machine has chosen it.
func quoted(line, host string) string {
	const most = 200
	return sanitize.Quoted(ops.OnHost(strings.TrimSpace(line), host), most)
}

// says is a text of another machine such that nobody takes it for one of this side.
func says(host, text string, most int) string {
	return host + " says: " + sanitize.Quoted(ops.OnHost(text, host), most)
}
