// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sentinel/internal/logins"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/utmp"
)

func hour(h int) time.Time { return time.Unix(now.Unix(), 0).Add(time.Duration(h) * time.Hour) }

// claim is a record as utempter makes it, which any user can run.
func claim(kind int, terminal, user, host string, at time.Time) string {
	raw := []byte(record(kind, terminal, user, host, at))
	copy(raw[40:44], terminal[max(0, len(terminal)-4):])
	return string(raw)
}

func pastOf(t *testing.T, files map[string]string) (list []logins.Record, said string) {
	t.Helper()
	list, notes, err := New(testenv.Plant(t, files), nil, func() time.Time { return now }).Past(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range notes {
		said += n.Field + ": " + n.Reason
	}
	return list, said
}

// Who has logins recorded without end, true ones or others, pushes nobody out, nor true ones of their own.
func TestLoginsOfOneUserHideNobody(t *testing.T) {
	mira := record(7, "tty1", "mira", "", hour(-9)) + record(8, "tty1", "", "", hour(-8)) + record(7, "pts/0", "eve", "198.51.100.7", hour(-8))
	eve := record(7, "pts/0", "eve", "", hour(-7)) + record(8, "pts/0", "", "", hour(-6))
	claims := claim(7, "pts/0", "eve", "203.0.113.7", hour(-7)) + claim(8, "pts/0", "eve", "", hour(-6))
	for what, c := range map[string]struct {
		files  map[string]string
		logins int
		eves   int // that are no claims
		note   string
	}{
		"very many":          {map[string]string{"var/log/wtmp": mira + strings.Repeat(eve, 6000)}, 6002, 6001, ""},
		"too many":           {map[string]string{"var/log/wtmp": mira + strings.Repeat(eve, maxPast)}, maxPast, maxPast - 1, "last_logins: 2 of the oldest logins of users with very many in /var/log/wtmp are not counted"},
		"far too many":       {map[string]string{"var/log/wtmp": mira + strings.Repeat(claims, 3*maxPast)}, maxPast, 1, "last_logins: 40002 of the oldest logins of users with very many in /var/log/wtmp are not counted"},
		"and before":         {map[string]string{"var/log/wtmp": strings.Repeat(claims, maxPast), "var/log/wtmp.1": mira}, maxPast, 1, "last_logins: 2 of the oldest logins of users with very many in /var/log/wtmp are not counted"},
		"in what is rotated": {map[string]string{"var/log/wtmp": strings.Repeat(eve, 6000), "var/log/wtmp-20261101": mira}, 6002, 6001, ""},
	} {
		list, said := pastOf(t, c.files)
		eves := 0
		for _, r := range list {
			if r.User == "eve" && !r.Anybody {
				eves++
			}
		}
		found := slices.ContainsFunc(list, func(r logins.Record) bool { return r.User == "mira" })
		if len(list) != c.logins || eves != c.eves || !found || said != c.note {
			t.Errorf("%s: %d logins, %d of eve, of mira: %v, %q", what, len(list), eves, found, said)
		}
	}
	if list, said := pastOf(t, map[string]string{"var/log/wtmp": eve, "var/log/wtmp.1.gz": "x"}); len(list) != 1 || said != "last_logins: wtmp.1.gz is not read: it is compressed in a way that is not read" {
		t.Errorf("%v, %q", list, said)
	}
}

func TestWhatIsNotReadOfTheRecordsIsSaid(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"var/log/wtmp": record(7, "tty1", "mira", "", hour(-9))})
	eve := record(7, "pts/0", "eve", "", hour(-7))
	size := int64(len(eve))
	f, err := os.OpenFile(filepath.Join(root, wtmpFile), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(eve), maxWtmp/size*size); err != nil { // records of no type between
		t.Fatal(err)
	}
	list, notes, err := New(root, nil, func() time.Time { return now }).Past(t.Context())
	want := "what /var/log/wtmp had before 2026-11-23T05:00:00Z is more than is read, and not counted"
	if err != nil || len(list) != 1 || list[0].User != "eve" || len(notes) != 1 || notes[0].Reason != want {
		t.Errorf("%v, %+v, %v", list, notes, err)
	}
}

// Whoever made a terminal of that number in a namespace has the end of a login at it recorded.
func TestNobodyElseEndsARecordedLogin(t *testing.T) {
	list, _ := pastOf(t, map[string]string{"var/log/wtmp": record(7, "pts/0", "mira", "", hour(-9)) +
		claim(8, "pts/0", "mira", "", hour(-8)) + claim(7, "pts/0", "mira", "192.0.2.1", hour(-7)) + record(8, "pts/0", "", "", hour(-6)) +
		record(7, "pts/0", "ann", "", hour(-5)) + claim(7, "pts/1", "eve", "", hour(-4)) + claim(8, "pts/1", "eve", "", hour(-3))})
	var got []string
	for _, r := range list {
		got = append(got, r.User+" "+map[bool]string{true: "claims "}[r.Anybody]+r.Until.UTC().Format("15:04"))
	}
	if diff := cmp.Diff([]string{"eve claims 09:00", "ann 00:00", "mira claims 06:00", "mira 06:00"}, got); diff != "" {
		t.Error(diff)
	}
}

// Servers that name a terminal for each login make more names than are kept: of the others no end is told.
func TestTerminalsAreBounded(t *testing.T) {
	p := past{ends: map[string]ends{}, boot: hour(0)}
	for n := range maxTerminals {
		p.ends["ftpd"+strconv.Itoa(n)] = ends{hour(0), hour(0)}
	}
	raw := record(7, "tty1", "ann", "", hour(-12)) + record(7, "pts/0", "mira", "", hour(-9)) + record(8, "pts/0", "", "", hour(-8))
	records, _ := utmp.Parse([]byte(raw), runtime.GOARCH, 3)
	for _, rec := range slices.Backward(records) {
		p.take(rec)
	}
	want := []logins.Record{{User: "mira", Terminal: "pts/0", At: hour(-9), Until: hour(-8)}, {User: "ann", Terminal: "tty1", At: hour(-12)}}
	if diff := cmp.Diff(want, p.list, cmpopts.EquateComparable(netip.Addr{})); diff != "" || len(p.ends) > maxTerminals {
		t.Errorf("%d terminals %s", len(p.ends), diff)
	}
}
