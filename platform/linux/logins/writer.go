// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"sentinel/internal/logins"
	"sentinel/platform/linux/accounts"
	"sentinel/platform/linux/journald"
)

// byUsers are programs that users run, whose lines tell of these alone.
var byUsers = []string{"sudo", "su", "passwd"}

// asRoot are programs that root runs. Their lines are of the file that the kernel ran, and of root's group: the name in
// the journal, the transport and the user ID can be had by anybody with the help of sudo ([journald.Writer]). The group
// of whoever calls a set-user-ID program stays; of a process that has ended journald tells a file that it ran before.
func asRoot() []string {
	return slices.DeleteFunc(logins.Programs(), func(program string) bool { return slices.Contains(byUsers, program) })
}

// folders are where Debian, Ubuntu, Fedora, Arch and openSUSE have these programs, or who builds them anew;
// root alone writes there. /bin is none of these alone where it was never merged with /usr/bin, as in openSUSE Leap 15.
var folders = []string{
	"/usr/sbin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/local/bin", "/usr/libexec", "/usr/local/libexec", "/usr/lib", "/usr/lib/cargo/bin",
	"/usr/lib/openssh", "/usr/libexec/openssh", "/usr/lib/ssh", "/usr/libexec/ssh", "/usr/lib/gdm", "/usr/lib/gdm3", "/usr/libexec/gdm", "/usr/lib/cockpit",
	"/usr/lib/sddm", "/usr/libexec/sddm", "/usr/lib/x86_64-linux-gnu/sddm", "/usr/lib/aarch64-linux-gnu/sddm",
}

// genuine reports whether a file is the program that an entry names, or a part of it, such as sshd-session.
// journald tells it without the end that the kernel adds where the file was replaced since.
func genuine(program, exe string) bool {
	return slices.Contains(folders, path.Dir(exe)) && family(program) == family(path.Base(exe))
}

// family is what the parts of a program have in common: sshd of sshd-session, gdm of gdm-password].
func family(name string) string {
	name, _, _ = strings.Cut(name, "-")
	return name
}

// matchOf matches what programs say that root runs. With files, what only calls itself so is left to the bounds
// of others.
func matchOf(withFiles bool) []string {
	matches := []string{"_UID=0"}
	for _, program := range asRoot() {
		matches = append(matches, "SYSLOG_IDENTIFIER="+program)
	}
	if !withFiles {
		return matches
	}
	matches = append(matches, "_GID=0")
	for _, folder := range folders {
		for _, program := range append(asRoot(), "gdm-session-worker") {
			matches = append(matches, "_EXE="+path.Join(folder, program))
		}
	}
	return matches
}

// ofScreens matches what GDM says in the group of who logs in: it changes its group before it opens the session
// (daemon/gdm-session-worker.c, gdm_session_worker_accredit_user).
func ofScreens() []string {
	matches := []string{"_UID=0"}
	for _, program := range asRoot() {
		if family(program) == "gdm" {
			matches = append(matches, "SYSLOG_IDENTIFIER="+program)
		}
	}
	for _, folder := range folders {
		matches = append(matches, "_EXE="+path.Join(folder, "gdm-session-worker"))
	}
	return matches
}

// opensOwn reports whether GDM tells of a login in the group of who logged in, and that one is who the login counts for
// (_AUDIT_LOGINUID), or else has a group of that number. Whoever forges such a line can tell of their own logins alone.
func (e journalEntry) opensOwn(names accounts.Names) bool {
	if e.uid != 0 || e.gid <= 0 || family(e.program) != "gdm" || !genuine(e.program, e.exe) {
		return false
	}
	event, ok := logins.Parse(logins.Line{At: e.at, Program: e.program, Text: e.text})
	user, known := names[cmp.Or(e.login, e.gid)]
	return ok && known && event.Succeeded() && event.User == user
}

// line makes a line of an entry. ok is false for one that proves nothing: of a user who wrote it in the name of
// a program that root runs.
func (e journalEntry) line(names accounts.Names) (l logins.Line, ok bool) {
	user := journald.Writer(e.uid, e.login, e.owner)
	itself := e.uid == 0 && genuine(e.program, e.exe)
	l = logins.Line{At: e.at, Program: e.program, Text: e.text, PID: e.pid}
	switch {
	case e.uid < 0 || e.text == "":
		return l, false
	case e.program == "passwd" && itself && e.gid == 0: // who became root before may change what is another's
		return l, true
	case slices.Contains(byUsers, e.program) && user != 0:
		l.By = names.Name(user)
		return l, true
	case itself && e.gid == 0, e.opensOwn(names):
		return l, true
	}
	l.Doubtful = true
	return l, user == 0 || itself // chsh and gpasswd are set-user-ID programs, too
}

// linesOf makes lines of entries.
func linesOf(entries []journalEntry, names accounts.Names) (list []logins.Line) {
	for _, e := range entries {
		if l, ok := e.line(names); ok {
			list = append(list, l)
		}
	}
	return list
}

// proven makes the lines of entries of root's group that are not doubtful; those are [Reader.unproven].
func proven(entries []journalEntry, names accounts.Names) []logins.Line {
	own := slices.DeleteFunc(slices.Clone(entries), func(e journalEntry) bool { return e.gid != 0 })
	return slices.DeleteFunc(linesOf(own, names), func(l logins.Line) bool { return l.Doubtful })
}
