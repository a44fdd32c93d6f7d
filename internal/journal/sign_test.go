// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// syslogd is a socket as /dev/log is, and what came.
type syslogd struct {
	t    *testing.T
	path string
	conn *net.UnixConn
}

func newSyslogd(t *testing.T) *syslogd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &syslogd{t, path, conn}
}

// announce is for Journal.Announce.
func (s *syslogd) announce(ctx context.Context, a Announcement) {
	if !send(ctx, []string{s.path}, a) {
		s.t.Error("nobody took it")
	}
}

// logger writes a line, as every user can.
func (s *syslogd) logger(text string) {
	s.t.Helper()
	if err := write(s.t.Context(), "unixgram", s.path, "<85>Jan  1 00:00:00 sentinel[1]: "+text); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Fatal(err)
	}
}

// lines returns what came, as a log has it.
func (s *syslogd) lines(n int) string {
	s.t.Helper()
	var all strings.Builder
	buf := make([]byte, 2048)
	for range n {
		length, err := s.conn.Read(buf)
		if err != nil {
			s.t.Fatal(err)
		}
		fmt.Fprintf(&all, "Jan  1 00:00:00 host %s\n", buf[:length])
	}
	return all.String()
}

func verifiedWith(t *testing.T, j *Journal, log string) Report {
	t.Helper()
	r, err := j.Verify(t.Context(), strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func messages(r Report) (all []string) {
	for _, p := range r.Problems {
		all = append(all, fmt.Sprintf("%d: %s", p.Seq, p.Message))
	}
	return all
}

// What anybody writes to syslog neither makes a sound journal look tampered with nor takes the place of
// what root signed.
func TestHeadsOfOthersAreToldFromThoseOfThisMachine(t *testing.T) {
	j, log := fresh(t), newSyslogd(t)
	j.Announce = log.announce
	for range 3 {
		act(t, j, 1)
	}
	genuine := log.lines(6)
	other := fresh(t)
	act(t, other, 1)
	foreign := other.announcement(Head{Seq: 3, Hash: strings.Repeat("ab", 32)})
	log.logger("journal head seq=3 hash=" + strings.Repeat("ab", 32))
	log.logger(foreign.text())
	parts := strings.Fields(strings.SplitN(genuine, "\n", 2)[0])
	log.logger("journal head seq=3 hash=" + strings.Repeat("ab", 32) + " " + parts[len(parts)-2] + " " + parts[len(parts)-1])
	log.logger("journal head seq=99 hash=" + strings.Repeat("ab", 32) + " unsigned")
	r := verifiedWith(t, j, genuine+log.lines(4))
	if want := (Announced{Signed: 6, Unsigned: 2, Forged: 1, UnknownKey: 1}); len(r.Problems) > 0 || r.Announced == nil || *r.Announced != want {
		t.Errorf("%+v, %v", r.Announced, messages(r))
	}
	info, err := os.Stat(filepath.Join(j.headDir, keyName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	if r, err := j.Verify(t.Context(), nil); err != nil || r.Announced != nil {
		t.Errorf("without a log: %+v, %v", r.Announced, err)
	}
}

// Whoever became root and rewrote journal and head cannot take back what syslog sent elsewhere.
func TestAJournalThatWasRewrittenIsFound(t *testing.T) {
	j, log := fresh(t), newSyslogd(t)
	j.Announce = log.announce
	for range 2 {
		act(t, j, 1)
	}
	genuine := log.lines(4)
	for _, name := range []string{filepath.Join(j.dir, currentName), filepath.Join(j.headDir, headName)} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	act(t, j, 1) // with the key of this machine
	r := verifiedWith(t, j, genuine+log.lines(2))
	want := []string{
		"1: the record is not the one whose head was sent to syslog", "2: the record is not the one whose head was sent to syslog",
		"3: syslog got the head of record 3, which is not in the journal", "4: syslog got the head of record 4, which is not in the journal",
	}
	if diff := cmp.Diff(want, messages(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A key is made anew after a year; what the one before it signed still holds.
func TestTheKeyIsMadeAnewAndTheFormerKept(t *testing.T) {
	j, log := fresh(t), newSyslogd(t)
	j.Announce = log.announce
	act(t, j, 1)
	first, err := j.readKeys()
	if err != nil {
		t.Fatal(err)
	}
	start := j.now()
	j.now = func() time.Time { return start.Add(keyAge + time.Hour) }
	act(t, j, 1)
	second, err := j.readKeys()
	if err != nil || slices.Equal(first.Seed, second.Seed) || len(second.Former) != 1 || !slices.Equal(second.Former[0], first.public()) {
		t.Errorf("%+v, %v", second, err)
	}
	if r := verifiedWith(t, j, log.lines(4)); len(r.Problems) > 0 || *r.Announced != (Announced{Signed: 4}) {
		t.Errorf("%+v, %v", r.Announced, messages(r))
	}
	if err := os.WriteFile(filepath.Join(j.headDir, keyName), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Verify(t.Context(), strings.NewReader("")); err == nil {
		t.Error("a damaged key is none")
	}
	act(t, j, 1)
	if third, err := j.readKeys(); err != nil || slices.Equal(third.Seed, second.Seed) {
		t.Errorf("%+v, %v", third, err)
	}
}

// A log is read to its bound, and what is said of more is that it was cut.
func TestALongLogIsSaidToBeCut(t *testing.T) {
	j, log := fresh(t), newSyslogd(t)
	j.Announce = log.announce
	act(t, j, 1)
	genuine := log.lines(2)
	r := verifiedWith(t, j, strings.Repeat(genuine, maxAnnounced/2+1)+strings.Repeat("x", 2*maxLine)+"\n")
	if !r.Announced.Cut || r.Announced.Signed != maxAnnounced || len(r.Problems) > 0 {
		t.Errorf("%+v, %v", r.Announced, messages(r))
	}
}
