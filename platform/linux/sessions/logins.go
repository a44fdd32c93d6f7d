// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/utmp"
	"sentinel/platform/unix/hostfile"
)

const (
	sessionsDirectory = "run/systemd/sessions" // of systemd-logind and elogind, which root alone writes
	usersDirectory    = "run/systemd/users"    // likewise
	// maxSessionFiles is far above what the session manager keeps by itself (SessionsMax of
	// logind.conf(5), 8192, each with a pipe): the jobs of cron(8) count, which everybody may have.
	maxSessionFiles = 1 << 16
	maxLogins       = 4096
	utmpFile        = "run/utmp"
	maxUtmp         = 4 << 20
)

// logins reads what is recorded of logins, and says what could not be read.
func (r *reading) logins() (list []sessions.Login, unread []string) {
	directory := filepath.Join(r.root, sessionsDirectory)
	names, err := hostfile.Names(directory, maxSessionFiles)
	if err != nil && !hostfile.Missing(err) {
		unread = append(unread, fmt.Sprintf("the logins in /%s are not all known (%v)", sessionsDirectory, hostfile.Reason(err)))
	}
	for _, name := range names {
		if strings.Contains(name, ".") { // the pipe of a session
			continue
		}
		raw, err := hostfile.Read(filepath.Join(directory, name), 16<<10)
		if err != nil {
			continue // it ended meanwhile
		}
		if l, ok := parseLogin(name, raw); ok {
			list = append(list, l)
		}
	}
	raw, err := hostfile.Read(filepath.Join(r.root, utmpFile), maxUtmp)
	if err == nil {
		list = append(list, ofUtmp(raw)...)
	}
	return list, unread
}

// Recorded reports whether the session manager knows a session as that of a person.
func Recorded(root, id string) bool {
	if id == "" || strings.ContainsAny(id, "/.") {
		return false
	}
	raw, err := hostfile.Read(filepath.Join(root, sessionsDirectory, id), 16<<10)
	if err != nil {
		return false
	}
	_, is := parseLogin(id, raw)
	return is
}

// HasLogin reports whether a user is logged in, and not only allowed to run services (user_save in
// systemd's logind-user.c).
func HasLogin(root string, uid int) bool {
	raw, err := hostfile.Read(filepath.Join(root, usersDirectory, strconv.Itoa(uid)), 64<<10)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(raw)) {
		if list, ok := strings.CutPrefix(strings.TrimSpace(line), "SESSIONS="); ok {
			return slices.ContainsFunc(strings.Fields(list), func(id string) bool { return Recorded(root, id) })
		}
	}
	return false
}

// At reports whether a login of a user at a terminal is recorded (utmp(5)).
func At(root, terminal, user string) bool {
	raw, err := hostfile.Read(filepath.Join(root, utmpFile), maxUtmp)
	return err == nil && slices.ContainsFunc(ofUtmp(raw), func(l sessions.Login) bool { return l.Terminal == terminal && l.User == user })
}

// parseLogin parses a file of the session manager (session_save in systemd's logind-session.c). What
// is no person's, such as a job of cron or a login screen, is none.
func parseLogin(id string, raw []byte) (sessions.Login, bool) {
	values := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = value
	}
	if !strings.HasPrefix(values["CLASS"], "user") {
		return sessions.Login{}, false
	}
	l := sessions.Login{ID: id, User: values["USER"], Terminal: values["TTY"], Remote: values["REMOTE"] == "1", Manager: true, Seat: values["SEAT"] != ""}
	l.Leader, _ = strconv.Atoi(values["LEADER"])       //nolint:errcheck // 0 is unknown
	l.From, _ = netip.ParseAddr(values["REMOTE_HOST"]) //nolint:errcheck // a name, which is not looked up
	micros, err := strconv.ParseInt(values["REALTIME"], 10, 64)
	if err == nil {
		l.Since = time.UnixMicro(micros)
	}
	return l, true
}

// ofUtmp takes the logins of the records of who(1).
func ofUtmp(raw []byte) (list []sessions.Login) {
	records, _ := utmp.Parse(raw, runtime.GOARCH, maxUtmp)
	for _, r := range records {
		if r.Type == utmp.UserProcess && len(list) < maxLogins {
			list = append(list, sessions.Login{Leader: r.PID, Terminal: r.Terminal, User: r.User, From: r.From, Remote: r.From.IsValid(), Since: r.At})
		}
	}
	return list
}
