// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/logins"
	"sentinel/internal/userdb"
)

// systemDirectories are those of the programs that let people in. A program elsewhere may have the
// name of one of them.
var systemDirectories = []string{"/usr/sbin", "/usr/bin", "/usr/libexec"}

// parseLog parses the output of "log show --style ndjson": an object per entry, and one at the end that
// says so.
func parseLog(out []byte) (list []logins.Line, whole bool) {
	for line := range bytes.Lines(out) {
		var e struct {
			Time     string `json:"timestamp"`
			Path     string `json:"processImagePath"`
			Text     string `json:"eventMessage"`
			PID      int    `json:"processID"`
			User     *int64 `json:"userID"`
			Finished int    `json:"finished"`
		}
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		whole = whole || e.Finished == 1
		at, err := time.Parse("2006-01-02 15:04:05.000000-0700", e.Time)
		if err != nil || !slices.Contains(systemDirectories, path.Dir(e.Path)) {
			continue
		}
		program := path.Base(e.Path)
		list = append(list, logins.Line{At: at, Program: program, Text: e.Text, PID: e.PID, By: ranFor(program, e.User)})
	}
	return list, whole
}

// sshdAccount is the number of _sshd, as whom sshd talks to clients that have not logged in.
const sshdAccount = 75

// ranFor is whose line it is, by number: anybody can run a program of macOS, such as a sshd with a
// configuration of their own. It is empty for root and _sshd, and for sudo and su, which run as root
// whoever calls them and name that user themselves. Where log(1) does not print a user, the path of the
// program alone counts: nobody can leave the user out of one line, and without the lines there were no failures.
func ranFor(program string, uid *int64) string {
	if uid == nil || *uid == 0 || *uid == sshdAccount || program == "sudo" || program == "su" {
		return ""
	}
	return strconv.FormatInt(*uid, 10)
}

// lastTime is where a line of last(1) has its time, which has no year.
var lastTime = lazyregexp.New(` ((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d)(.*)$`)

// lastLength is how long a session was: "(02:03)", with days "(1+02:03)".
var lastLength = lazyregexp.New(`\((?:(\d{1,4})\+)?(\d\d):(\d\d)\)`)

// parseLast parses the output of last(1), newest first. The last line says since when there are records.
func parseLast(out []byte, now time.Time) (list []logins.Record, ended bool) {
	for line := range bytes.Lines(out) {
		text := strings.TrimRight(string(line), "\n")
		ended = ended || strings.HasPrefix(text, "wtmp begins ") || strings.HasPrefix(text, "utx.log begins ")
		m := lastTime.Get().FindStringSubmatchIndex(text)
		if m == nil {
			continue
		}
		words := strings.Fields(text[:m[0]])
		at, ok := lastMoment(text[m[2]:m[3]], now)
		if !ok || len(words) < 2 || slices.Contains([]string{"reboot", "shutdown", "wtmp"}, words[0]) {
			continue
		}
		r := logins.Record{User: words[0], Terminal: words[1], At: at, Open: strings.Contains(text[m[4]:], "still logged in")}
		if len(words) > 2 {
			r.From, _ = netip.ParseAddr(words[2]) //nolint:errcheck // a name, which is not looked up
		}
		if length := lastLength.Get().FindStringSubmatch(text[m[4]:]); length != nil {
			r.Until = at.Add(duration(length[1], 24*time.Hour) + duration(length[2], time.Hour) + duration(length[3], time.Minute))
		}
		list = append(list, r)
	}
	return list, ended
}

func duration(digits string, unit time.Duration) time.Duration {
	n, _ := strconv.Atoi(digits) //nolint:errcheck // no digits are none
	return time.Duration(n) * unit
}

// lastMoment finds the year of a time: the last in which that day had that weekday.
func lastMoment(text string, now time.Time) (time.Time, bool) {
	for back := range 12 {
		t, err := time.ParseInLocation("2006 Mon Jan _2 15:04", strconv.Itoa(now.Year()-back)+" "+text, now.Location())
		if err == nil && t.Format("Mon") == text[:3] && !t.After(now.Add(24*time.Hour)) {
			return t, true
		}
	}
	return time.Time{}, false
}

// parseList parses the output of "dscl . -list /Users ATTRIBUTE": a name and the value.
func parseList(out []byte) (map[string]string, error) {
	values := map[string]string{}
	for line := range bytes.Lines(out) {
		name, value, ok := strings.Cut(strings.TrimSpace(string(line)), " ")
		if ok {
			values[name] = strings.TrimSpace(value)
		}
	}
	if len(values) == 0 {
		return nil, errors.New("dscl lists no accounts")
	}
	return values, nil
}

// usersOf makes accounts of their homes and numbers. Services have a home too, which holds nothing.
func usersOf(homes, numbers map[string]string) (users []userdb.User) {
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		if uid, err := strconv.Atoi(numbers[name]); err == nil {
			home, _, _ := strings.Cut(homes[name], " ") // root's stands there twice, with and without links
			users = append(users, userdb.User{Name: name, UID: uid, Home: home})
		}
	}
	return users
}
