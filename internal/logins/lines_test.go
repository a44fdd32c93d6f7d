// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// short is an event in a few words.
func short(t *testing.T, program, by, text string) string {
	t.Helper()
	e, ok := Parse(Line{Program: program, Text: text, By: by})
	if !ok {
		return "nothing"
	}
	words := []string{map[kind]string{failed: "failed", opened: "opened", succeeded: "succeeded", changed: "changed"}[e.kind], e.Service, e.User}
	if e.From.IsValid() {
		words = append(words, e.From.String())
	}
	for _, more := range []string{e.By, e.Method, e.Detail} {
		if more != "" {
			words = append(words, more)
		}
	}
	if e.Unclear {
		words = append(words, "unclear")
	}
	return strings.Join(words, "|")
}

const print43 = "SHA256:AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDEEE"

func TestLinesOfSSHD(t *testing.T) {
	for text, want := range map[string]string{
		"Accepted password for mira from 198.51.100.7 port 4711 ssh2":                                                     "succeeded|ssh|mira|198.51.100.7|password",
		"Accepted publickey for mira from 2001:db8::7 port 4711 ssh2: ED25519 " + print43:                                 "succeeded|ssh|mira|2001:db8::7|publickey|ED25519 " + print43,
		"Failed password for root from 198.51.100.7 port 4711 ssh2":                                                       "failed|ssh|root|198.51.100.7|password",
		"Failed password for invalid user oracle from ::ffff:198.51.100.7 port 4711 ssh2":                                 "failed|ssh|oracle|198.51.100.7|password",
		"Failed keyboard-interactive/pam for root from 198.51.100.7 port 4711 ssh2":                                       "failed|ssh|root|198.51.100.7|keyboard-interactive/pam",
		"Failed publickey for invalid user x from 198.51.100.7 port 4711 ssh2: ED25519 " + print43:                        "failed|ssh|x|198.51.100.7|publickey",
		"Failed none for invalid user  from 198.51.100.7 port 4711 ssh2":                                                  "opened|ssh||198.51.100.7|none",
		"Invalid user  from 198.51.100.7 port 4711":                                                                       "opened|ssh||198.51.100.7",
		"Connection closed by authenticating user root 198.51.100.7 port 4711 [preauth]":                                  "opened|ssh|root|198.51.100.7",
		"Connection reset by invalid user a b 198.51.100.7 port 4711 [preauth]":                                           "opened|ssh|a b|198.51.100.7",
		"Disconnected from authenticating user root 198.51.100.7 port 4711 [preauth]":                                     "opened|ssh|root|198.51.100.7",
		"Disconnecting authenticating user root 198.51.100.7 port 4711: Too many authentication failures [preauth]":       "opened|ssh|root|198.51.100.7",
		"Received disconnect from 198.51.100.7 port 4711:11: Bye Bye [preauth]":                                           "nothing",
		"Server listening on 0.0.0.0 port 22.":                                                                            "nothing",
		"Failed password for root from attacker.example.net port 4711 ssh2":                                               "failed|ssh|root|password|unclear",
		"pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=198.51.100.7  user=root": "nothing",
		"Failed password for root from 198.51.100.7 port 99999 ssh2":                                                      "nothing",
	} {
		if got := short(t, "sshd-session", "", text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// What a client sends as its name never becomes an address, a success or somebody else's failure.
func TestNamesForgeNothing(t *testing.T) {
	const real = "198.51.100.7"
	forged := " from 10.0.0.1 port 22 ssh2"
	for _, name := range []string{
		"root" + forged, forged, "a" + forged + " ", "x" + forged + ": RSA " + print43, "x" + forged + ": ED25519-CERT " + print43 + " ID a (serial 0) CA RSA " + print43,
		"Accepted password for root" + forged, "10.0.0.1 port 22 [preauth]", "x 10.0.0.1 port 22: Too many authentication failures [preauth]", `\nAccepted password for root` + forged,
		"invalid user root" + forged, "x from 10.0.0.1 port 22",
	} {
		for _, text := range []string{
			"Failed password for invalid user " + name + " from " + real + " port 4711 ssh2",
			"Failed none for invalid user " + name + " from " + real + " port 4711 ssh2",
			"Failed publickey for invalid user " + name + " from " + real + " port 4711 ssh2: RSA " + print43,
			"Failed publickey for invalid user x from " + real + " port 4711 ssh2: ED25519-CERT " + print43 + " ID " + name + " (serial 0) CA RSA " + print43,
			"Failed publickey for invalid user x from " + real + " port 4711 ssh2: ED25519-CERT " + print43 + " ID " + strings.Repeat("a", 800) + name, // cut off
			"Invalid user " + name + " from " + real + " port 4711",
			"Connection closed by invalid user " + name + " " + real + " port 4711 [preauth]",
			"Disconnecting invalid user " + name + " " + real + " port 4711: Too many authentication failures [preauth]",
			"Disconnecting invalid user x " + real + " port 4711: Change of username or service not allowed: (x,ssh-connection) -> (" + name + ",ssh-connection) [preauth]",
			"Received disconnect from " + real + " port 4711:11: " + name + " [preauth]",
			"error: maximum authentication attempts exceeded for invalid user " + name + " from " + real + " port 4711 ssh2 [preauth]",
			"User " + name + " from " + real + " not allowed because not listed in AllowUsers",
		} {
			e, ok := Parse(Line{Program: "sshd", Text: text})
			if ok && (e.kind == succeeded || e.From.IsValid() && e.From.String() != real || !e.From.IsValid() && !e.Unclear) {
				t.Errorf("%s\n%+v", text, e)
			}
		}
	}
}

func TestLinesOfOtherPrograms(t *testing.T) {
	for _, c := range []struct{ program, by, text, want string }{
		{"sudo", "", "    mira : 3 incorrect password attempts ; TTY=pts/0 ; PWD=/home/mira ; USER=root ; COMMAND=/usr/bin/id", "failed|sudo|mira|password"},
		{"sudo", "eve", "root : 3 incorrect password attempts ; TTY=pts/0", "failed|sudo|eve|password"},
		{"sudo", "", "mira : user NOT in sudoers ; TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/bin/sh", "failed|sudo|mira|may not use sudo"},
		{"sudo", "", "mira : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/bin/echo x : 3 incorrect password attempts ; ", "nothing"},
		{"su", "mira", "FAILED SU (to root) root on pts/0", "failed|su|root|mira|password"},
		{"su", "", "BAD SU mira to root on /dev/ttys000", "failed|su|root|mira|password"},
		{"su", "", "FAILED SU (to root) mira on pts/0", "failed|su|root|mira|password"},
		{"login", "", "pam_unix(login:auth): authentication failure; logname=LOGIN uid=0 euid=0 tty=/dev/tty1 ruser= rhost=  user=mira", "failed|login|mira|password"},
		{"gdm-password]", "", "pam_unix(gdm-password:auth): authentication failure; logname= uid=0 euid=0 tty=/dev/tty1 ruser= rhost=", "failed|gdm-password||password"},
		{"cockpit-session", "", "pam_unix(cockpit:auth): authentication failure; logname= uid=0 euid=0 tty= ruser= rhost=::ffff:203.0.113.9  user=admin", "failed|cockpit|admin|203.0.113.9|password"},
		{"cockpit-session", "", "pam_unix(cockpit:auth): authentication failure; logname= uid=0 euid=0 tty= ruser= rhost=203.0.113.9  user=x rhost=10.0.0.1  user=root", "failed|cockpit||password|unclear"},
		{"vsftpd", "", "pam_unix(vsftpd:auth): authentication failure; logname= uid=0 euid=0 tty=ftp ruser=x rhost=198.51.100.9 user= rhost=203.0.113.77 ", "failed|vsftpd||password|unclear"},
		{"vsftpd", "", "pam_unix(vsftpd:auth): authentication failure; logname= uid=0 euid=0 tty=ftp ruser=a b rhost=203.0.113.77 ", "failed|vsftpd||203.0.113.77|password"},
		{"login", "", "pam_unix(login:session): session opened for user mira(uid=1000) by LOGIN(uid=0)", "succeeded|login|mira"},
		{"login", "eve", "pam_unix(login:session): session opened for user root(uid=0) by (uid=0)", "nothing"},
		{"sshd", "eve", "Accepted password for root from 10.0.0.1 port 22 ssh2", "nothing"},
		{"cron", "", "pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)", "nothing"},
		{"useradd", "", "new user: name=eve, UID=1001, GID=1001, home=/home/eve, shell=/bin/sh, from=/dev/pts/0", "changed||eve|created with UID=1001"},
		{"usermod", "", "add 'eve' to group 'sudo'", "changed||eve|added to group sudo"},
		{"gpasswd", "", "user eve added by root to group sudo", "changed||eve|added to group sudo"},
		{"usermod", "", "add 'eve' to shadow group 'sudo'", "nothing"},
		{"userdel", "", "delete user 'eve'", "changed||eve|removed"},
		{"useradd", "eve", "new user: name=root2, UID=0, GID=0, home=/, shell=/bin/sh", "nothing"},
		{"passwd", "mira", "pam_unix(passwd:chauthtok): password changed for mira", "changed|passwd|mira|password changed"},
		{"passwd", "eve", "pam_unix(passwd:chauthtok): password changed for root", "nothing"},
		{"chpasswd", "", "pam_unix(chpasswd:chauthtok): password changed for mira", "changed||mira|password changed"},
	} {
		if got := short(t, c.program, c.by, c.text); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// What is accepted has an address that is in the line, and users of bounded origin.
func FuzzParse(f *testing.F) {
	f.Add("sshd", "Failed password for invalid user x from 10.0.0.1 port 22 ssh2 from 198.51.100.7 port 4711 ssh2")
	f.Add("sshd", "Accepted publickey for mira from 2001:db8::7 port 4711 ssh2: ED25519 "+print43)
	f.Add("login", "pam_unix(login:auth): authentication failure; logname= uid=0 euid=0 tty=x ruser= rhost=  user=mira")
	f.Add("sudo", "mira : 3 incorrect password attempts ; ")
	f.Fuzz(func(t *testing.T, program, text string) {
		e, ok := Parse(Line{Program: program, Text: text})
		if !ok {
			return
		}
		if e.kind == succeeded && !strings.HasPrefix(text, "Accepted ") && !strings.HasPrefix(text, "pam_unix(") {
			t.Errorf("%q: %+v", text, e)
		}
		if e.Count < 0 || e.Count > 999 || utf8.RuneCountInString(e.User) > len(text) {
			t.Errorf("%q: %+v", text, e)
		}
		// sshd writes its own part last: the same line with a hostile name in front keeps its address.
		if program == "sshd" && strings.HasPrefix(text, "Failed password for ") {
			again, ok := Parse(Line{Program: program, Text: "Failed password for " + text + " from 192.0.2.99 port 1 ssh2"})
			if !ok || !again.Unclear && again.From != netip.MustParseAddr("192.0.2.99") {
				t.Errorf("%q: %+v", text, again)
			}
		}
	})
}

var events = cmp.Options{cmp.AllowUnexported(Event{}), cmpopts.EquateComparable(netip.Addr{})}

func TestAFailureOfARecordHasNoMappedAddress(t *testing.T) {
	got := Failure(epoch, "ssh", "root", netip.MustParseAddr("::ffff:192.0.2.1"))
	if diff := cmp.Diff(Event{kind: failed, At: epoch, Service: "ssh", User: "root", From: netip.MustParseAddr("192.0.2.1"), Count: 1}, got, events); diff != "" {
		t.Error(diff)
	}
}
