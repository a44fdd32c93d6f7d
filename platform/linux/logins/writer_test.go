// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"sentinel/internal/logins"
)

// told is what is told of one entry of root's.
func told(t *testing.T, program, text string, known map[string]string) (last, changes []string, r *logins.Report) {
	t.Helper()
	j := &journalctlSays{root: entryOf(0, program, text, now, known)}
	if slices.Contains(byUsers, program) {
		j = &journalctlSays{users: entryOf(0, program, text, now, known)}
	}
	reader := New(journalRoot(t, now.Add(-48*time.Hour), nil), j, func() time.Time { return now })
	r, err := logins.Collect(t.Context(), reader, logins.Options{Since: now.Add(-time.Hour), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Last {
		last = append(last, strings.TrimSpace(l.User+" "+l.From))
	}
	for _, c := range r.Changes {
		changes = append(changes, c.User+" "+c.What)
	}
	return last, changes, r
}

// A user ID of 0 proves nothing without the file that ran, nor with it where the group is a user's: journald keeps
// what it knew of a process that has ended. A login may have begun before it looks at sshd.
func TestALineOfRootIsBelievedByWhatRan(t *testing.T) {
	const failed, accepted = "Failed password for root from 203.0.113.9 port 1 ssh2", "Accepted password for eve from 203.0.113.9 port 1 ssh2"
	const opened, added = "pam_unix(login:session): session opened for user eve(uid=1001) by eve(uid=0)", "new user: name=joe, UID=1002, GID=1002"
	const refused = "root : 3 incorrect password attempts ; TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/bin/sh"
	const screen, changed = "pam_unix(gdm-password:session): session opened for user eve(uid=1001) by eve(uid=0)", "pam_unix(passwd:chauthtok): password changed for joe"
	sshd := "/usr/sbin/sshd"
	for name, c := range map[string]struct {
		program, text  string
		exe            string
		login, owner   string
		gid            string // 0 if empty
		last, changes  []string
		addresses      []string
		unclear, doubt int
		user           string // of the failure
	}{
		"of sshd":                      {program: "sshd", text: failed, exe: sshd, addresses: []string{"203.0.113.9"}, user: "root"},
		"of a part of sshd":            {program: "sshd-session", text: failed, exe: "/usr/libexec/openssh/sshd-session", addresses: []string{"203.0.113.9"}, user: "root"},
		"of sudo":                      {program: "sshd", text: failed, exe: "/usr/bin/sudo", unclear: 1, doubt: 1},
		"of sudo, in a login":          {program: "sshd", text: failed, exe: "/usr/bin/sudo", login: "1001"},
		"of what had ended":            {program: "sshd", text: failed, unclear: 1, doubt: 1},
		"in a folder of a user":        {program: "sshd", text: failed, exe: "/home/eve/sshd", unclear: 1, doubt: 1},
		"of another program of logins": {program: "sshd", text: failed, exe: "/usr/sbin/useradd", unclear: 1, doubt: 1},
		"of sshd, in a login":          {program: "sshd", text: failed, exe: sshd, login: "1001", addresses: []string{"203.0.113.9"}, user: "root"},
		"of sshd before sudo":          {program: "sshd", text: failed, exe: sshd, gid: "33", unclear: 1, doubt: 1},
		"of sshd, and in a session":    {program: "sshd", text: failed, exe: sshd, gid: "1001", owner: "1001", unclear: 1, doubt: 1},
		"of gpasswd of a user":         {program: "gpasswd", text: "user joe added by eve to group sudo", exe: "/usr/bin/gpasswd", gid: "1001", login: "1001", doubt: 1},
		"of gpasswd":                   {program: "gpasswd", text: "user joe added by root to group sudo", exe: "/usr/bin/gpasswd", login: "1001", changes: []string{"joe added to group sudo"}},
		"of no known group":            {program: "sshd", text: failed, exe: sshd, gid: "?", unclear: 1, doubt: 1},
		"a login":                      {program: "sshd", text: accepted, exe: sshd, last: []string{"eve 203.0.113.9"}},
		"a login that has begun":       {program: "sshd", text: accepted, exe: sshd, login: "1001", owner: "1001", last: []string{"eve 203.0.113.9"}},
		"a login before sudo":          {program: "sshd", text: accepted, exe: sshd, gid: "33", doubt: 1},
		"a login that sudo tells":      {program: "sshd", text: accepted, exe: "/usr/bin/sudo", doubt: 1},
		"of login":                     {program: "login", text: opened, exe: "/usr/bin/login", login: "1001", last: []string{"eve"}},
		"of the screen":                {program: "gdm-password]", text: strings.Replace(opened, "login:", "gdm-password:", 1), exe: "/usr/libexec/gdm-session-worker", login: "1001", last: []string{"eve"}},
		"of the screen, as it is":      {program: "gdm-password]", text: screen, exe: "/usr/libexec/gdm-session-worker", gid: "1001", login: "1001", last: []string{"eve"}},
		"of the screen, without audit": {program: "gdm-password]", text: screen, exe: "/usr/libexec/gdm-session-worker", gid: "1001", last: []string{"eve"}},
		"of the screen, for another":   {program: "gdm-password]", text: strings.Replace(screen, "user eve", "user root", 1), exe: "/usr/libexec/gdm-session-worker", gid: "1001", login: "1001", doubt: 1},
		"of the screen, by sudo":       {program: "gdm-password]", text: screen, exe: "/usr/bin/sudo", gid: "1001", doubt: 1},
		"a password by an admin":       {program: "passwd", text: changed, exe: "/usr/bin/passwd", login: "1001", changes: []string{"joe password changed"}},
		"a password that sudo tells":   {program: "passwd", text: changed, exe: "/usr/bin/sudo", login: "1001"},
		"a password by a user":         {program: "passwd", text: changed, exe: "/usr/bin/passwd", gid: "1001", login: "1001"},
		"of login in /bin":             {program: "login", text: opened, exe: "/bin/login", login: "1001", last: []string{"eve"}},
		"an account":                   {program: "useradd", text: added, exe: "/usr/sbin/useradd", changes: []string{"joe created with UID=1002"}},
		"an account by somebody":       {program: "useradd", text: added, exe: "/usr/sbin/useradd", login: "1001", changes: []string{"joe created with UID=1002"}},
		"an account that sudo tells":   {program: "useradd", text: added, exe: "/usr/bin/sudo", doubt: 1},
		"sudo of a user":               {program: "sudo", text: refused, exe: "/usr/bin/sudo", login: "1001", user: "eve"},
		"sudo of a service":            {program: "sudo", text: refused, exe: "/usr/bin/sudo", user: "root"},
	} {
		t.Run(name, func(t *testing.T) {
			known := map[string]string{"_EXE": c.exe, "_AUDIT_LOGINUID": c.login, "_SYSTEMD_OWNER_UID": c.owner, "_GID": cmp.Or(c.gid, "0")}
			last, changes, r := told(t, c.program, c.text, known)
			var addresses []string
			for _, a := range r.ByAddress {
				addresses = append(addresses, a.Address)
			}
			var user string
			for _, u := range r.ByUser {
				user += u.User
			}
			doubt := 0
			for _, n := range r.Unavailable {
				if strings.HasPrefix(n.Reason, "of 1 lines that were written as root, nothing shows") {
					doubt++
				}
			}
			got := []any{last, changes, addresses, r.Unattributed, doubt, user}
			if diff := gocmp.Diff([]any{c.last, c.changes, c.addresses, c.unclear, c.doubt, c.user}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a user has sudo write takes no room from what sshd writes.
func TestLinesOfRootAreAskedForByTheFileThatRan(t *testing.T) {
	j := &journalctlSays{}
	if _, err := New(journalRoot(t, now, nil), j, func() time.Time { return now }).Log(t.Context(), now.Add(-time.Hour)); err != nil || len(j.asked) != 5 {
		t.Fatalf("%v, %q", err, j.asked)
	}
	if j.limits > 14*time.Second { // a part of the answer has 15 s
		t.Errorf("journalctl may take %v", j.limits)
	}
	root := j.asked[0]
	for _, match := range []string{"_UID=0", "_GID=0", "SYSLOG_IDENTIFIER=sshd", "_EXE=/usr/sbin/sshd", "_EXE=/usr/bin/sshd", "_EXE=/usr/lib/openssh/sshd-session", "_EXE=/usr/lib/ssh/sshd-auth", "_EXE=/usr/libexec/gdm-session-worker"} {
		if !slices.Contains(root, match) {
			t.Errorf("no %s in %q", match, root)
		}
	}
	for _, match := range []string{"SYSLOG_IDENTIFIER=sudo", "SYSLOG_IDENTIFIER=su", "SYSLOG_IDENTIFIER=passwd", "_EXE=/usr/bin/sudo", "_EXE=/usr/bin/su"} {
		if slices.Contains(root, match) {
			t.Errorf("%s is asked for as root's", match)
		}
	}
	if screens := j.asked[1]; !slices.Contains(screens, "_UID=0") || !slices.Contains(screens, "SYSLOG_IDENTIFIER=gdm-password]") || slices.Contains(screens, "SYSLOG_IDENTIFIER=sshd") || slices.Contains(screens, "_GID=0") {
		t.Errorf("%q", screens)
	}
	j.asked = j.asked[1:]
	if want := []string{"SYSLOG_IDENTIFIER=sudo", "SYSLOG_IDENTIFIER=su", "SYSLOG_IDENTIFIER=passwd"}; !slices.Equal(want, j.asked[1][len(j.asked[1])-3:]) || !slices.Contains(j.asked[1], "--lines=2000") || !slices.Contains(j.asked[2], "--lines=2000") {
		t.Errorf("%q", j.asked[1:])
	}
}
