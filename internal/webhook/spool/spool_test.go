// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/lockfile"
	"sentinel/internal/testenv"
	"sentinel/internal/webhook"
)

// A receiver that a test drives.
type fake struct {
	down    bool
	refuses string   // this id
	got     []string // ids, in order
	asked   int
	during  func()
	partial func(id string) string // what it does not take of a document; nil takes all
}

func (f *fake) Deliver(_ context.Context, d webhook.Document) webhook.Result {
	f.asked++
	if f.during != nil {
		f.during()
	}
	switch {
	case f.down:
		return webhook.Result{Attempts: 4, Reason: "is down"}
	case d.ID == f.refuses:
		return webhook.Result{Verdict: webhook.Refused, Attempts: 1, Status: 400}
	}
	if string(d.Body) != "body of "+d.ID {
		return webhook.Result{Attempts: 1, Reason: "got another body: " + string(d.Body)}
	}
	f.got = append(f.got, d.ID)
	r := webhook.Result{Verdict: webhook.Delivered, Attempts: 1, Status: 200}
	if f.partial != nil {
		r.Partial = f.partial(d.ID)
	}
	return r
}

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A stage is a spool with a clock and a receiver of its own.
type stage struct {
	*Spool
	clock time.Time
	to    *fake
	n     int
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Spool: New(filepath.Join(t.TempDir(), "spool"), "https://hooks.example.com/", 1<<20, 72*time.Hour), clock: began, to: &fake{}}
	s.now = func() time.Time { return s.clock }
	s.lockTimeout = testenv.HangLimit
	return s
}

// report sends the next document, named after its number.
func (s *stage) report(t *testing.T) Sent {
	t.Helper()
	return s.reportWithin(t.Context())
}

func (s *stage) reportWithin(ctx context.Context) Sent {
	s.n++
	id := fmt.Sprintf("msg_%03d", s.n)
	return s.Send(ctx, webhook.Document{ID: id, Body: []byte("body of " + id)}, s.to)
}

// occupied has another process send until release is called.
func (s *stage) occupied(t *testing.T) (release func()) {
	t.Helper()
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	release, err := s.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func (s *stage) files(t *testing.T, kind string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.dir, "*"+kind))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestWhatArrivesLeavesNothing(t *testing.T) {
	s := newStage(t)
	got := s.report(t)
	if got.Verdict != webhook.Delivered || got.Kept || got.Waiting != 0 || len(got.Gaps) != 0 || got.Earlier != 0 {
		t.Errorf("%+v", got)
	}
	same(t, "files", len(s.files(t, suffix)), 0)
	for _, dir := range []string{s.dir, filepath.Dir(s.dir)} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
}

// The receiver is down for an hour while a timer reports every minute.
func TestEveryDocumentOfAnHourWithoutReceiverArrivesOnceAndInOrder(t *testing.T) {
	s := newStage(t)
	s.to.down = true
	for minute := range 60 {
		s.clock = began.Add(time.Duration(minute) * time.Minute)
		got := s.report(t)
		if got.Verdict != webhook.Unreached || !got.Kept || got.Waiting != minute+1 || got.Attempts != 4 || got.Reason != "is down" {
			t.Fatalf("minute %d: %+v", minute, got)
		}
		same(t, "asked", s.to.asked, minute+1) // the oldest alone
	}
	s.to.down, s.clock = false, began.Add(time.Hour)
	got := s.report(t)
	if got.Verdict != webhook.Delivered || got.Kept || got.Earlier != 60 || got.Waiting != 0 {
		t.Errorf("%+v", got)
	}
	var want []string
	for n := range 61 {
		want = append(want, fmt.Sprintf("msg_%03d", n+1))
	}
	same(t, "arrived", s.to.got, want)
	s.report(t)
	same(t, "arrived later", len(s.to.got), 62)
}

// A clock that is set back, or was wrong, neither loses a document nor keeps it
// for ever, and does not change the order.
func TestTheClockMayBeSet(t *testing.T) {
	s := newStage(t)
	s.to.down = true
	s.clock = began.AddDate(10, 0, 0)
	s.report(t)
	s.clock = began
	if got := s.report(t); got.Waiting != 2 || got.Dropped != 0 {
		t.Errorf("set back: %+v", got)
	}
	s.clock = began.Add(71 * time.Hour)
	if got := s.report(t); got.Waiting != 3 || got.Dropped != 0 {
		t.Errorf("within their age: %+v", got)
	}
	s.clock = began.Add(73 * time.Hour)
	if got := s.report(t); got.Waiting != 2 || got.Dropped != 2 {
		t.Errorf("beyond it: %+v", got)
	}
	s.to.down, s.clock = false, began.AddDate(-10, 0, 0)
	s.report(t)
	same(t, "arrived", s.to.got, []string{"msg_003", "msg_004", "msg_005"})
}

func TestAFullSpoolDropsTheOldestAndSaysSo(t *testing.T) {
	s := newStage(t)
	s.to.down = true
	one := int64(len(encode(webhook.Document{Body: []byte("body of msg_001")})))
	s.maxBytes = 3 * one
	for range 3 {
		same(t, "dropped", s.report(t).Dropped, 0)
	}
	if got := s.report(t); got.Dropped != 1 || got.Waiting != 3 || !got.Kept {
		t.Errorf("%+v", got)
	}
	s.to.down = false
	if got := s.report(t); got.Dropped != 0 || got.Earlier != 3 {
		t.Errorf("%+v", got)
	}
	same(t, "arrived", s.to.got, []string{"msg_002", "msg_003", "msg_004", "msg_005"})
}

// Whoever may have the machine's state sent has no say in what its owner waits for, nor one user in what
// another has sent.
func TestSendingsPushOutNoReports(t *testing.T) {
	s := newStage(t)
	s.to.down = true
	s.maxBytes = 6 * int64(len(encode(webhook.Document{Body: []byte("body of msg_001")})))
	send := func(sender string) Sent {
		s.n++
		id := fmt.Sprintf("msg_%03d", s.n)
		return s.Send(t.Context(), webhook.Document{ID: id, Body: []byte("body of " + id), Sender: sender}, s.to)
	}
	for _, sender := range []string{"", "1001", "", "1000", "1000", "1000"} {
		same(t, "dropped", send(sender).Dropped, 0)
	}
	same(t, "dropped by one more of 1000", send("1000").Dropped, 1) // msg_004, not msg_002 or a report
	for range 20 {
		send("0") // root's own, and a model's that has root
	}
	left, err := s.list()
	if err != nil {
		t.Fatal(err)
	}
	var who []string
	for _, e := range left {
		who = append(who, e.id+" "+e.sender)
	}
	if diff := cmp.Diff([]string{"msg_001 ", "msg_002 1001", "msg_003 ", "msg_006 1000", "msg_007 1000", "msg_027 0"}, who); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	for range 6 {
		send("")
	}
	if got := send("1000"); got.Kept || got.Dropped != 1 || got.Waiting != 6 {
		t.Errorf("where reports have all the room: %+v", got)
	}
	s.to.down, s.to.got = false, nil
	send("1000")
	same(t, "arrived", s.to.got, []string{"msg_028", "msg_029", "msg_030", "msg_031", "msg_032", "msg_033", "msg_035"})
}

// Where there is no room for a single document, it is sent all the same, and its
// end is told as it was.
func TestWithoutRoomItIsSentAndNotKept(t *testing.T) {
	s := newStage(t)
	s.maxBytes = 10
	if got := s.report(t); got.Verdict != webhook.Delivered || got.Kept || got.ByOther {
		t.Errorf("%+v", got)
	}
	s.to.down = true
	if got := s.report(t); got.Verdict != webhook.Unreached || got.Kept || got.ByOther || got.Reason != "is down" {
		t.Errorf("%+v", got)
	}
	same(t, "arrived", s.to.got, []string{"msg_001"})
}

func TestDamagedFilesAreSetAsideAndHoldNobodyUp(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"cut off":   func(p string) error { return os.Truncate(p, 20) },
		"empty":     func(p string) error { return os.Truncate(p, 0) },
		"changed":   func(p string) error { return write(p, func(b []byte) { b[len(b)-1]++ }) },
		"hash":      func(p string) error { return write(p, func(b []byte) { b[0] = 'x' }) },
		"directory": func(p string) error { os.Remove(p); return os.Mkdir(p, 0o700) },
		"link":      func(p string) error { os.Remove(p); return os.Symlink("/etc/passwd", p) },
		"huge":      func(p string) error { return os.Truncate(p, maxFile<<10+1) },
		"writable":  func(p string) error { return os.Chmod(p, 0o666) },
	} {
		s := newStage(t)
		s.maxBytes = 1 << 30
		s.to.down = true
		s.report(t)
		s.report(t)
		if err := spoil(s.files(t, suffix)[0]); err != nil {
			t.Fatal(err)
		}
		s.to.down = false
		got := s.report(t)
		if got.Verdict != webhook.Delivered || got.Damaged != 1 || got.Earlier != 1 || len(got.Gaps) != 1 || !strings.Contains(got.Gaps[0].Reason, "set aside") {
			t.Errorf("%s: %+v", name, got)
		}
		same(t, name+": arrived", s.to.got, []string{"msg_002", "msg_003"})
		same(t, name+": quarantined", len(s.files(t, corrupt)), 1)
		if got := s.report(t); got.Damaged != 0 {
			t.Errorf("%s, again: %+v", name, got)
		}
	}
}

func write(path string, change func([]byte)) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	change(raw)
	return os.WriteFile(path, raw, 0o600)
}

// The number of quarantined files is bounded: a receiver that refuses all must not fill the
// disk.
func TestFilesAsideAreBounded(t *testing.T) {
	s := newStage(t)
	for range maxQuarantined + 5 {
		s.to.refuses = fmt.Sprintf("msg_%03d", s.n+1)
		if got := s.report(t); got.Verdict != webhook.Refused || got.Kept || got.Unwanted != 0 {
			t.Fatalf("%+v", got)
		}
	}
	same(t, "quarantined", len(s.files(t, refused)), maxQuarantined)
}

// A document that the receiver does not want does not hold up those behind it.
func TestARefusedDocumentIsPassed(t *testing.T) {
	s := newStage(t)
	s.to.down = true
	s.report(t)
	s.report(t)
	s.to.down, s.to.refuses = false, "msg_001"
	if got := s.report(t); got.Verdict != webhook.Delivered || got.Unwanted != 1 || got.Earlier != 1 || got.Waiting != 0 {
		t.Errorf("%+v", got)
	}
	same(t, "arrived", s.to.got, []string{"msg_002", "msg_003"})
}

func TestADirThatIsNotSafeIsNotUsed(t *testing.T) {
	for name, spoil := range map[string]func(s *stage) error{
		"open to others": func(s *stage) error { return os.Chmod(s.dir, 0o755) },
		"written to":     func(s *stage) error { return os.Chmod(filepath.Dir(s.dir), 0o777) },
		"a file":         func(s *stage) error { os.RemoveAll(s.dir); return os.WriteFile(s.dir, nil, 0o600) },
		"a link": func(s *stage) error {
			os.RemoveAll(s.dir)
			return os.Symlink(os.TempDir(), s.dir)
		},
		"lock is a directory": func(s *stage) error { return os.Mkdir(filepath.Join(s.dir, lockName), 0o700) },
	} {
		s := newStage(t)
		if err := s.open(); err != nil {
			t.Fatal(err)
		}
		if err := spoil(s); err != nil {
			t.Fatal(err)
		}
		got := s.report(t)
		if name == "lock is a directory" {
			if !got.Kept || got.Verdict == webhook.Delivered || !strings.Contains(got.Reason, "lock") {
				t.Errorf("%s: %+v", name, got)
			}
			continue
		}
		if got.Verdict != webhook.Delivered || got.Kept || len(got.Gaps) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		s.to.down = true
		if got := s.report(t); got.Kept || got.Verdict != webhook.Unreached {
			t.Errorf("%s, down: it promises to keep it: %+v", name, got)
		}
	}
}

func TestADirOfSomebodyElseIsNotUsed(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to give folders away")
	s := newStage(t)
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(s.dir, testenv.Nobody, testenv.Nobody); err != nil {
		t.Fatal(err)
	}
	if got := s.report(t); got.Kept || got.Verdict != webhook.Delivered || len(got.Gaps) != 1 {
		t.Errorf("%+v", got)
	}
}

// Whoever comes while another run sends leaves its document to it.
func TestASecondRunWaitsOrLeavesItsDocument(t *testing.T) {
	s := newStage(t)
	release := s.occupied(t)
	s.lockTimeout = 50 * time.Millisecond
	got := s.report(t)
	s.lockTimeout = testenv.HangLimit
	if !got.Kept || got.Waiting != 1 || got.Attempts != 0 || got.Reason != "is being sent to by another run" || s.to.asked != 0 {
		t.Errorf("%+v", got)
	}
	release()
	if got := s.report(t); got.Verdict != webhook.Delivered || got.Earlier != 1 {
		t.Errorf("%+v", got)
	}
	same(t, "arrived", s.to.got, []string{"msg_001", "msg_002"})
}

// What there is no room for beside reports is not told to wait, whoever is sending meanwhile.
func TestWhatASecondRunDropsDoesNotWait(t *testing.T) {
	s := newStage(t)
	s.to.down = true
	s.report(t)
	s.maxBytes = int64(len(encode(webhook.Document{Body: []byte("body of msg_001")})))
	defer s.occupied(t)()
	s.lockTimeout = 50 * time.Millisecond
	got := s.Send(t.Context(), webhook.Document{ID: "msg_002", Body: []byte("body of msg_002"), Sender: "1000"}, s.to)
	if got.Kept || got.Dropped != 1 || got.Waiting != 1 || got.Verdict == webhook.Delivered {
		t.Errorf("%+v", got)
	}
}

func TestARunThatIsStoppedWhileItWaitsSaysSo(t *testing.T) {
	s := newStage(t)
	defer s.occupied(t)()
	s.lockTimeout = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	got := s.reportWithin(ctx)
	if !got.Kept || got.Waiting != 1 || got.Attempts != 0 || got.Reason != "was not asked before this run was stopped" || s.to.asked != 0 {
		t.Errorf("%+v", got)
	}
}

// While a run waits for its turn, another one settles what became of its document: it is told as that run found
// it, and sent where nobody has asked the receiver.
func TestWhatAnotherRunDidWithADocumentIsToldAsItWas(t *testing.T) {
	document := webhook.Document{ID: "msg_own", Body: []byte("body of msg_own")}
	for name, c := range map[string]struct {
		settle  func(f *flush, e entry)
		want    webhook.Verdict // to a run that has its turn
		asked   int             // by it
		outlast webhook.Verdict // to one that has waited in vain
	}{
		"delivered": {func(f *flush, e entry) { f.settle(e, webhook.Result{Verdict: webhook.Delivered}) }, webhook.Delivered, 0, webhook.Delivered},
		"refused":   {func(f *flush, e entry) { f.settle(e, webhook.Result{Verdict: webhook.Refused}) }, webhook.Refused, 0, webhook.Refused},
		"damaged":   {func(f *flush, e entry) { f.quarantineDamaged(e, fs.ErrInvalid) }, webhook.Delivered, 1, webhook.Unreached},
		"dropped":   {func(f *flush, e entry) { f.spool.remove(e) }, webhook.Delivered, 1, webhook.Unreached},
	} {
		s := newStage(t)
		s.clock = time.Now()
		settled := func() entry {
			own, err := s.put(document)
			if err != nil {
				t.Fatal(err)
			}
			c.settle(&flush{spool: s.Spool, to: s.to}, own)
			return own
		}
		f := flush{spool: s.Spool, own: settled(), document: document, to: s.to}
		f.run(t.Context())
		if got := f.sent; got.Verdict != c.want || got.Kept || got.ByOther != (c.asked == 0) || s.to.asked != c.asked || (got.Reason == "") != (c.want == webhook.Delivered) {
			t.Errorf("%s: %+v, asked %d times", name, got, s.to.asked)
		}
		got := s.leaveQueued(settled(), lockfile.BusyError{})
		if got.Verdict != c.outlast || got.Kept || got.ByOther != (c.asked == 0) || (got.Reason == "") != (c.outlast == webhook.Delivered) {
			t.Errorf("%s, without a turn: %+v", name, got)
		}
	}
}

// What tells other runs that their documents arrived is empty, and there only while they may wait.
func TestWhatTellsOtherRunsDoesNotStay(t *testing.T) {
	s := newStage(t)
	s.clock = time.Now()
	s.to.down = true
	s.report(t)
	s.to.down = false
	s.report(t)
	left := s.files(t, arrived)
	if len(left) != 1 || !strings.Contains(left[0], "msg_001") {
		t.Fatalf("%q", left)
	}
	if info, err := os.Stat(left[0]); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	s.clock = s.clock.Add(leftoverAge + time.Minute)
	s.report(t)
	same(t, "left", s.files(t, ""), []string{filepath.Join(s.dir, lockName)})
}

func TestLeftoversOfCrashesAreRemovedInTime(t *testing.T) {
	s := newStage(t)
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"old": time.Hour, "future": -time.Hour, "fresh": time.Second} {
		path := filepath.Join(s.dir, partial+name+suffix)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, s.clock.Add(-age), s.clock.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	s.report(t)
	left, err := filepath.Glob(filepath.Join(s.dir, partial+"*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != ".fresh.doc" {
		t.Errorf("%v, %v", left, err)
	}
	same(t, "arrived", s.to.got, []string{"msg_001"})
}

func TestOnlyOwnNamesAreDocuments(t *testing.T) {
	e := entry{number: 7, at: time.Unix(began.Unix(), 0), id: "msg_a-b"}
	if got, ok := parseName(e.name()); !ok || got.number != 7 || !got.at.Equal(began) || got.id != "msg_a-b" {
		t.Errorf("%+v", got)
	}
	e.sender = "1000"
	if got, ok := parseName(e.name()); !ok || got != e || e.name() != "000000000000007-1772366400-msg_a-b.1000.doc" {
		t.Errorf("%+v of %s", got, e.name())
	}
	for _, name := range []string{"", "x", ".doc", "1-2-x.doc", "000000000000007-1-x.corrupt", "000000000000000-1-x.doc", "-00000000000007-1-x.doc", "000000000000007-01-x.doc", "000000000000007-x-x.doc", "000000000000007-1-x..doc", lockName} {
		if e, ok := parseName(name); ok {
			t.Errorf("%q is %+v", name, e)
		}
	}
}

// What waits for a receiver that was taken out of the configuration gets old
// like any other; when the receiver comes back in time, it is sent.
func TestReceiversThatAreGoneKeepNothingForEver(t *testing.T) {
	s := newStage(t)
	s.clock = time.Now().Add(-time.Hour)
	s.to.down = true
	s.report(t)
	dir := filepath.Dir(s.dir)
	for _, c := range []struct {
		urls []string
		age  time.Duration
		want int
	}{{[]string{"https://hooks.example.com/"}, time.Minute, 0}, {nil, 2 * time.Hour, 0}, {[]string{"https://other.example.com/"}, time.Minute, 1}, {nil, time.Minute, 0}} {
		if n, err := Prune(dir, c.urls, c.age); n != c.want || err != nil {
			t.Errorf("%v, %v: %d, %v", c.urls, c.age, n, err)
		}
	}
	if n, err := Prune(filepath.Join(dir, "none"), nil, 0); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestEndpointsDoNotShareADir(t *testing.T) {
	a, b := New("/x", "https://a.example.com/", 1, 1), New("/x", "https://b.example.com/", 1, 1)
	if a.dir == b.dir || filepath.Dir(a.dir) != "/x" || slices.Contains([]string{"/x", "/x/"}, a.dir) {
		t.Errorf("%s and %s", a.dir, b.dir)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(webhook.Document{Body: []byte("{}")}))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		body, err := decode(raw)
		if err == nil && string(encode(webhook.Document{Body: body})) != string(raw) {
			t.Errorf("%q is %q", raw, body)
		}
	})
}

// A clock that is set forward, or that was wrong until the network set it, makes
// everything look too old at once. The first document says that nothing was lost.
func TestAClockThatIsSetForwardLosesNothing(t *testing.T) {
	s := newStage(t)
	s.to.down = true
	s.report(t)
	s.report(t)
	s.clock = began.AddDate(10, 0, 0)
	if got := s.report(t); got.Waiting != 3 || got.Dropped != 0 {
		t.Errorf("set forward: %+v", got)
	}
	s.clock = began.Add(time.Hour)
	if got := s.report(t); got.Waiting != 4 || got.Dropped != 0 {
		t.Errorf("and back: %+v", got)
	}
	s.clock = began.Add(72 * time.Hour)
	s.report(t)
	s.clock = began.Add(74 * time.Hour)
	if got := s.report(t); got.Waiting != 2 || got.Dropped != 4 {
		t.Errorf("they stay for ever: %+v", got)
	}
}

// What is too old, or too much, is sent all the same when the receiver is back.
func TestNothingIsDroppedThatTheReceiverTakes(t *testing.T) {
	s := newStage(t)
	s.to.down = true
	s.report(t)
	s.clock = began.Add(71 * time.Hour)
	s.report(t)
	s.to.down, s.clock, s.maxBytes = false, began.Add(73*time.Hour), 100
	if got := s.report(t); got.Dropped != 0 || got.Earlier != 2 || got.Verdict != webhook.Delivered {
		t.Errorf("%+v", got)
	}
}

// Another run put a document behind the own one, and the receiver goes down
// between the two.
func TestWhatHappensToALaterDocumentIsNotToldOfTheOwn(t *testing.T) {
	s := newStage(t)
	release := s.occupied(t)
	s.to.during = func() { s.to.down = s.to.asked > 1 }
	done := make(chan Sent)
	go func() { done <- s.report(t) }()
	testenv.WaitFor(t, "the own document", func() bool { return len(s.files(t, suffix)) > 0 })
	if _, err := s.put(webhook.Document{ID: "msg_later", Body: []byte("body of msg_later")}); err != nil {
		t.Fatal(err)
	}
	release()
	if got := <-done; got.Verdict != webhook.Delivered || got.Kept || got.Waiting != 1 {
		t.Errorf("%+v", got)
	}
}

func TestWaitingCountsAllReceiversAndChangesNothing(t *testing.T) {
	s := newStage(t)
	dir := filepath.Dir(s.dir)
	if b, err := Waiting(dir); err != nil || b != (Backlog{}) {
		t.Errorf("before the first: %+v, %v", b, err)
	}
	s.to.down = true
	s.report(t)
	s.clock = s.clock.Add(time.Hour)
	s.report(t)
	other := New(dir, "https://other.example.com/", 1<<20, 72*time.Hour)
	other.now, s.clock = s.now, s.clock.Add(time.Hour)
	other.Send(t.Context(), webhook.Document{ID: "msg_009", Body: []byte("body of msg_009")}, s.to)
	before := testenv.Modes(t, dir)

	b, err := Waiting(dir)
	if err != nil || b.Documents != 3 || !b.Oldest.Equal(began) || b.Bytes != 3*int64(len("body of msg_001")+hashLength+1) {
		t.Errorf("%+v, %v", b, err)
	}
	if diff := cmp.Diff(before, testenv.Modes(t, dir)); diff != "" {
		t.Errorf("counting changed (-before +after):\n%s", diff)
	}
}

// What was taken in part is told of the documents that waited as well, within bounds, and is not sent again.
func TestWhatWasTakenInPartIsToldAndDoesNotWait(t *testing.T) {
	s := newStage(t)
	s.to.down = true
	for range 5 {
		s.report(t)
	}
	s.to.down = false
	s.to.partial = func(id string) string {
		return map[bool]string{true: "a part of the first", false: "a part of " + id}[id <= "msg_002"]
	}
	got := s.report(t)
	same(t, "told", fmt.Sprintf("%q", got.Partials), `["a part of the first" "a part of msg_003" "a part of msg_004"]`)
	same(t, "waits", got.Waiting, 0)
	same(t, "earlier", got.Earlier, 5)
}

// A folder that cannot be read is not an empty one.
func TestNamesInWhatIsNoFolder(t *testing.T) {
	s := New(t.TempDir(), "https://example.com", 1, time.Hour)
	if err := os.WriteFile(s.dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if names, err := s.names(); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("%q, %v", names, err)
	}
}
