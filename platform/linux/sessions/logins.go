// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sessions"
	"sentinel/platform/unix/hostfile"
)

const (
	sessionsDirectory = "run/systemd/sessions" // of systemd-logind and elogind, which root alone writes
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
		list = append(list, parseUtmp(raw, runtime.GOARCH)...)
	}
	return list, unread
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

// A utmpLayout is where the fields of a struct utmp are (utmp(5)), which depends on the machine.
type utmpLayout struct{ size, seconds, wide, address int }

func layoutOf(arch string) utmpLayout {
	switch arch {
	case "amd64", "386", "arm":
		return utmpLayout{384, 340, 4, 348}
	default:
		return utmpLayout{400, 344, 8, 360}
	}
}

// userProcess is USER_PROCESS of utmp(5).
const userProcess = 7

// parseUtmp parses the records of who(1).
func parseUtmp(raw []byte, arch string) (list []sessions.Login) {
	at := layoutOf(arch)
	for ; len(raw) >= at.size && len(list) < maxLogins; raw = raw[at.size:] {
		if binary.NativeEndian.Uint16(raw) != userProcess {
			continue
		}
		l := sessions.Login{Leader: int(binary.NativeEndian.Uint32(raw[4:])), Terminal: cString(raw[8:40]), User: cString(raw[44:76])}
		l.From, l.Remote = utmpAddress(raw[at.address:][:16], cString(raw[76:332]))
		seconds := int64(binary.NativeEndian.Uint32(raw[at.seconds:]))
		if at.wide == 8 {
			seconds = int64(binary.NativeEndian.Uint64(raw[at.seconds:]))
		}
		l.Since = time.Unix(seconds, 0)
		list = append(list, l)
	}
	return list
}

// utmpAddress takes the address of a record from its field, or from the first word of the host, where
// mosh and others write it.
func utmpAddress(field []byte, host string) (a netip.Addr, remote bool) {
	switch zero := make([]byte, 16); {
	case bytes.Equal(field, zero):
		word, _, _ := strings.Cut(host, " ")
		a, _ = netip.ParseAddr(word) //nolint:errcheck // a name, which is not looked up
	case bytes.Equal(field[4:], zero[4:]):
		a, _ = netip.AddrFromSlice(field[:4])
	default:
		a, _ = netip.AddrFromSlice(field)
	}
	return a, a.IsValid()
}

func cString(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}
