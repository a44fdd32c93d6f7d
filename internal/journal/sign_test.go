// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
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
	_, signed, _ := strings.Cut(strings.SplitN(genuine, "\n", 2)[0], " key=")
	log.logger("journal head seq=3 hash=" + strings.Repeat("ab", 32) + " key=" + signed)
	log.logger("journal head seq=99 hash=" + strings.Repeat("ab", 32) + " unsigned")
	r := verifiedWith(t, j, genuine+log.lines(4))
	if want := (Announced{Signed: 6, Unsigned: 2, Forged: 1, UnknownKey: 1, First: 1}); len(r.Problems) > 0 || r.Announced == nil || *r.Announced != want {
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
	if r := verifiedWith(t, j, log.lines(4)); len(r.Problems) > 0 || *r.Announced != (Announced{Signed: 4, First: 1}) {
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

// acted returns what is announced of n actions. A socket of datagrams keeps few.
func acted(t *testing.T, j *Journal, log *syslogd, n int) (said string) {
	t.Helper()
	for range n {
		act(t, j, 1)
		said += log.lines(2)
	}
	return said
}

// beginWith drops the first records from the journal, and has its head say that they were removed for their age.
func beginWith(t *testing.T, j *Journal, seq int) {
	t.Helper()
	lines := slices.Collect(strings.Lines(string(read(t, j.current()))))
	write0600(t, j.current(), []byte(strings.Join(lines[seq-1:], "")))
	saysFirst(t, j, j.current())
}

// saysFirst has the head say that the journal begins with this file.
func saysFirst(t *testing.T, j *Journal, path string) {
	t.Helper()
	line, _, _ := strings.Cut(string(read(t, path)), "\n")
	r, err := parseLine([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	h, err := j.readHead()
	if err != nil {
		t.Fatal(err)
	}
	h.First, h.FirstPrev = r.Seq, r.Prev
	raw, err := h.encode()
	if err != nil {
		t.Fatal(err)
	}
	write0600(t, j.headPath(), raw)
}

// ofEarlierVersions is a log without what heads say of the beginning.
func ofEarlierVersions(log string) string {
	return regexp.MustCompile(` first=.*`).ReplaceAllString(log, "")
}

// The head beside the journal is not signed: that old records were removed for their age is believed when
// enough full files are left, and when no signed head tells otherwise.
func TestABeginningThatWasDroppedIsFound(t *testing.T) {
	j, log := fresh(t), newSyslogd(t)
	j.Announce = log.announce
	genuine := acted(t, j, log, 6)
	if r := verifiedWith(t, j, genuine); len(r.Problems) > 0 || *r.Announced != (Announced{Signed: 12, First: 1}) {
		t.Fatalf("%+v, %v", r.Announced, messages(r))
	}
	beginWith(t, j, 9)
	few := "0: records 1 to 8 are missing, and not for their age: at least 8 full files after them are kept"
	if r := verify(t, j); !slices.Equal(messages(r), []string{few}) {
		t.Errorf("without a log: %v", messages(r))
	}
	want := []string{few, "0: records 1 to 8 are missing: by the newest signed head in the log, of record 12, they are kept"}
	for seq := 1; seq <= 8; seq++ {
		want = append(want, fmt.Sprintf("%d: syslog got the head of record %[1]d, which is not in the journal", seq))
	}
	if r := verifiedWith(t, j, genuine); !slices.Equal(messages(r), want) || r.Announced.NotKept != 0 {
		t.Errorf("%+v, %v", r.Announced, messages(r))
	}
	if r := verifiedWith(t, j, ofEarlierVersions(genuine)); *r.Announced != (Announced{Signed: 12, NotKept: 8}) || !slices.Equal(messages(r), []string{few}) {
		t.Errorf("heads of earlier versions: %+v, %v", r.Announced, messages(r))
	}
	j.maxKept = 0 // as though enough files were left
	if r := verifiedWith(t, j, genuine); !slices.Equal(messages(r), want[1:]) {
		t.Errorf("with enough files: %v", messages(r))
	}
	j.maxKept = maxKept
	act(t, j, 1) // signs what the head says
	later := log.lines(2)
	want = []string{
		"13: syslog got the head of record 13, when those before 9 were missing, and not for their age",
		"14: syslog got the head of record 14, when those before 9 were missing, and not for their age", few,
	}
	if r := verifiedWith(t, j, genuine+later); !slices.Equal(messages(r), want) || *r.Announced != (Announced{Signed: 14, NotKept: 8, First: 9}) {
		t.Errorf("after a later change: %+v, %v", r.Announced, messages(r))
	}
}

// Files split so that there are enough of them are not full.
func TestSmallFilesDoNotExcuseWhatIsMissing(t *testing.T) {
	j := fresh(t)
	j.maxFile, j.maxKept = 1, 20
	act(t, j, 12)
	j.maxKept = maxKept
	if err := os.Remove(j.rotatedPath(1)); err != nil {
		t.Fatal(err)
	}
	saysFirst(t, j, j.rotatedPath(3))
	sound(t, j) // rotation could leave this
	j.maxFile = maxFile
	says(t, j, ":0: 0: records 1 to 2 are missing, and not for their age: at least 8 full files after them are kept")
}

// What rotation removes is no problem, though no change but a report, which is not announced, moved the
// beginning: that head is.
func TestRotationIsAnnounced(t *testing.T) {
	j, log := fresh(t), newSyslogd(t)
	j.maxFile, j.maxKept = 1, 2
	j.Announce = log.announce
	early := acted(t, j, log, 3)
	for range 2 {
		e, err := j.Begin(t.Context(), Intent{Tool: routineTool})
		if err != nil {
			t.Fatal(err)
		}
		finish(t, e)
	}
	all := early + log.lines(2)
	if r := verifiedWith(t, j, all); len(r.Problems) > 0 || r.FirstSeq != 5 || *r.Announced != (Announced{Signed: 8, NotKept: 4, First: 5}) {
		t.Errorf("%+v, %+v, %v", r, r.Announced, messages(r))
	}
	// The log of an earlier time, such as part of one, does not tell of that.
	part := "0: records 1 to 4 are missing: by the newest signed head in the log, of record 6, they are kept. Where the log has no later heads because it is an old one or a part, they may have been removed for their age since"
	if r := verifiedWith(t, j, early); len(r.Problems) == 0 || messages(r)[0] != part {
		t.Errorf("%v", messages(r))
	}
}

// With journal, head and key gone nothing on the machine tells; the key that was kept elsewhere does.
func TestAKeyThatWasKeptElsewhereConvicts(t *testing.T) {
	j, log := fresh(t), newSyslogd(t)
	j.Announce = log.announce
	act(t, j, 2)
	k, err := j.readKeys()
	if err != nil {
		t.Fatal(err)
	}
	genuine := log.lines(4)
	with := func(log string) Report {
		r, err := j.Verify(t.Context(), strings.NewReader(log), k.public())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := with(genuine); len(r.Problems) > 0 || r.Announced.Signed != 4 {
		t.Errorf("%+v, %v", r.Announced, messages(r))
	}
	for _, path := range []string{j.current(), j.headPath(), filepath.Join(j.headDir, keyName)} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	lost := "0: the key of this machine is not the one that was given, and does not follow it: somebody removed or replaced it"
	missing := []string{"3: syslog got the head of record 3, which is not in the journal", "4: syslog got the head of record 4, which is not in the journal"}
	gone := append([]string{lost, "1: syslog got the head of record 1, which is not in the journal", "2: syslog got the head of record 2, which is not in the journal"}, missing...)
	if r := with(genuine); !slices.Equal(messages(r), gone) {
		t.Errorf("nothing there: %v", messages(r))
	}
	act(t, j, 1)
	changed := append([]string{lost, "1: the record is not the one whose head was sent to syslog", "2: the record is not the one whose head was sent to syslog"}, missing...)
	if r := with(genuine + log.lines(2)); !slices.Equal(messages(r), changed) {
		t.Errorf("begun anew: %v", messages(r))
	}
	if r := with(""); !slices.Equal(messages(r), []string{lost}) {
		t.Errorf("without heads: %v", messages(r))
	}
}

// Whoever repeats a genuine line does not take the place of others away.
func TestRepeatedHeadsHideNothing(t *testing.T) {
	j, log := fresh(t), newSyslogd(t)
	j.Announce = log.announce
	genuine := slices.Collect(strings.Lines(acted(t, j, log, 6)))
	lines := slices.Collect(strings.Lines(string(read(t, j.current()))))
	r, err := parseLine([]byte(strings.TrimSpace(lines[5])))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := Head{Seq: 6, Hash: r.Hash, First: 1}.encode()
	if err != nil {
		t.Fatal(err)
	}
	write0600(t, j.headPath(), raw)
	write0600(t, j.current(), []byte(strings.Join(lines[:6], "")))
	sound(t, j)
	flood := strings.Repeat(genuine[1], maxAnnounced/2) + strings.Repeat(ofEarlierVersions(genuine[1]), maxAnnounced/2)
	got := verifiedWith(t, j, strings.Join(genuine[:6], "")+flood+strings.Join(genuine[6:], ""))
	var want []string
	for seq := 7; seq <= 12; seq++ {
		want = append(want, fmt.Sprintf("%d: syslog got the head of record %[1]d, which is not in the journal", seq))
	}
	if *got.Announced != (Announced{Signed: 12, First: 1}) || !slices.Equal(messages(got), want) {
		t.Errorf("%+v, %v", got.Announced, messages(got))
	}
}

// A log is read to its bounds, and what is said of more is that it was cut.
func TestALongLogIsSaidToBeCut(t *testing.T) {
	j, log := fresh(t), newSyslogd(t)
	j.Announce = log.announce
	act(t, j, 1)
	genuine := log.lines(2)
	padded := io.MultiReader(strings.NewReader(genuine), io.LimitReader(zeros{}, maxLog))
	r, err := j.Verify(t.Context(), padded)
	if err != nil || !r.Announced.Cut || r.Announced.Signed != 2 || len(r.Problems) > 0 {
		t.Errorf("%+v, %v, %v", r.Announced, messages(r), err)
	}
	count := &Announced{Signed: maxAnnounced - 1}
	key, err := j.publicKeys()
	if err != nil {
		t.Fatal(err)
	}
	if err := (heads{}).read(t.Context(), strings.NewReader(genuine), count, key); err != nil || !count.Cut {
		t.Errorf("%+v, %v", count, err)
	}
}

// zeros is a log without lines.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
