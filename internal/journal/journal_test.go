// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/testenv"
)

// fresh returns a new journal that sends nothing to syslog. It is in memory: the
// tests sync it thousands of times.
func fresh(t testing.TB) *Journal {
	t.Helper()
	return in(testenv.MemDir(t))
}

// in returns the journal below root.
func in(root string) *Journal {
	return at(filepath.Join(root, "log"), filepath.Join(root, "lib"))
}

func at(dir, headDir string) *Journal {
	j := New(dir, headDir)
	j.Announce = nil
	j.keepFor = -time.Hour // so that the number of files alone decides
	return j
}

func block(reason string) Intent {
	return Intent{
		Tool: "block_ip_address", Arguments: map[string]any{"ip": "203.0.113.7", "ttl": 60}, Reason: reason,
		Who: Who{UID: 0, User: "root", Caller: "a client"}, Program: Program{PID: 4242, StartID: "0f8fad5b.1234"},
	}
}

func begin(t testing.TB, j *Journal, reason string) *Entry {
	t.Helper()
	e, err := j.Begin(t.Context(), block(reason), nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func finish(t testing.TB, e *Entry) {
	t.Helper()
	if err := e.Finish(t.Context(), Outcome{Result: Done}); err != nil {
		t.Fatal(err)
	}
}

// act makes n actions with their outcomes.
func act(t testing.TB, j *Journal, n int) {
	t.Helper()
	for range n {
		finish(t, begin(t, j, "brute force"))
	}
}

func verify(t testing.TB, j *Journal) Report {
	t.Helper()
	report, err := j.Verify(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// sound fails the test when Verify finds a problem.
func sound(t testing.TB, j *Journal) Report {
	t.Helper()
	report := verify(t, j)
	if report.ProblemsTotal > 0 || len(report.Problems) > 0 || report.Torn {
		t.Fatalf("%d problems, torn %v: %+v", report.ProblemsTotal, report.Torn, report.Problems)
	}
	return report
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func write0600(t testing.TB, path string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (j *Journal) current() string  { return filepath.Join(j.dir, currentName) }
func (j *Journal) headPath() string { return filepath.Join(j.headDir, headName) }

func TestAnActionIsOnDiskBeforeAndAfter(t *testing.T) {
	j := in(t.TempDir())
	j.now = func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 3600)) }
	e := begin(t, j, "brute force")
	if lines := strings.Count(string(read(t, j.current())), "\n"); lines != 1 || e.Seq() != 1 {
		t.Fatalf("%d lines before the write, seq %d", lines, e.Seq())
	}
	if err := e.Finish(t.Context(), Outcome{Result: Failed, Code: "FIREWALL_FAILED", Detail: "no room"}); err != nil {
		t.Fatal(err)
	}
	want := `{"seq":1,"time":"2026-03-01T11:00:00.123Z","event":"intent","tool":"block_ip_address","arguments":{"ip":"203.0.113.7","ttl":60},` +
		`"reason":"brute force","who":{"uid":0,"user":"root","caller":"a client"},"program":{"pid":4242,"start_id":"0f8fad5b.1234"},"prev":"","hash":"H1"}
{"seq":2,"time":"2026-03-01T11:00:00.123Z","event":"outcome","of":1,"result":"failed","code":"FIREWALL_FAILED","detail":"no room","prev":"H1","hash":"H2"}
`
	raw := string(read(t, j.current()))
	for i, line := range strings.Split(strings.TrimSpace(raw), "\n") {
		r, err := parseLine([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		want = strings.ReplaceAll(want, []string{"H1", "H2"}[i], r.Hash)
	}
	if diff := cmp.Diff(want, raw); diff != "" {
		t.Error(diff)
	}
	report := sound(t, j)
	if report.Records != 2 || report.Files != 1 || report.FirstSeq != 1 || report.LastSeq != 2 || !strings.Contains(raw, report.LastHash) {
		t.Errorf("%+v", report)
	}
	if err := e.Finish(t.Context(), Outcome{Result: Done}); err == nil {
		t.Error("an action ended twice")
	}
}

func TestFilesAreForRootAloneWhateverTheUmask(t *testing.T) {
	if !testenv.Inside(t, "env") { // the umask is that of the whole process
		return
	}
	syscall.Umask(0o077)
	j := fresh(t)
	act(t, j, 1)
	for path, want := range map[string]fs.FileMode{
		j.dir: fs.ModeDir | 0o700, j.headDir: fs.ModeDir | 0o755, j.current(): 0o600, j.headPath(): 0o600, filepath.Join(j.dir, lockName): 0o600,
	} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
}

func TestReadingMakesNothing(t *testing.T) {
	j := fresh(t)
	history, err := j.History(t.Context(), 10, nil)
	if err != nil || history.Total != 0 || history.Actions == nil {
		t.Errorf("%+v, %v", history, err)
	}
	if report := sound(t, j); report.Records != 0 {
		t.Errorf("%+v", report)
	}
	if _, err := os.Lstat(j.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
}

func TestCancelledBeforeTheIntentWritesNothing(t *testing.T) {
	j := fresh(t)
	act(t, j, 1)
	before := read(t, j.current())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.Begin(ctx, block("late"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(string(before), string(read(t, j.current()))); diff != "" {
		t.Error(diff)
	}
}

func TestOutcomeIsWrittenThoughTheCallerHasGone(t *testing.T) {
	j := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	e, err := j.Begin(ctx, block("brute force"), nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := e.Finish(ctx, Outcome{Result: RolledBack}); err != nil {
		t.Fatal(err)
	}
	if history, err := j.History(t.Context(), 1, nil); err != nil || history.Actions[0].State != RolledBack {
		t.Errorf("%+v, %v", history, err)
	}
}

func TestALockThatIsNotReleasedEndsTheWait(t *testing.T) {
	j := fresh(t)
	act(t, j, 1)
	release, err := j.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	other := at(j.dir, j.headDir)
	other.lockTimeout = 20 * time.Millisecond
	_, err = other.Begin(t.Context(), block("x"), nil)
	var known *fault.Error
	if !errors.As(err, &known) || known.Code != fault.JournalFailed || !strings.Contains(known.Message, "another run") || strings.Contains(known.Fix, "chown") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := j.Begin(ctx, block("x"), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestHostileTextsAreMadeSafeAndShort(t *testing.T) {
	j := fresh(t)
	long := strings.Repeat("\"é<\x1b[2K\u202e", 100_000)
	arguments := map[string]any{
		"a": long, "b": []any{long, map[string]any{"c": long}}, "d\n": 1.5, "url": "https://user:hunter2@example.org/x?token=s3cr3t",
		"odd": func() {}, "number": json.Number("12"), "nothing": nil, "yes": true,
	}
	for i := range 100 {
		arguments[strings.Repeat("z", 100)+string(rune('a'+i%26))+long[:i*10]] = long
	}
	intent := Intent{Tool: long, Arguments: arguments, Reason: long, Who: Who{User: long, SudoUser: long, Caller: long}, Program: Program{PID: 1, StartID: long}}
	e, err := j.Begin(t.Context(), intent, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Finish(t.Context(), Outcome{Result: long, Code: long, Detail: long}); err != nil {
		t.Fatal(err)
	}
	intent.Arguments = map[string]any{"url": arguments["url"], "d\n": 1.5, "yes": true, "nothing": nil, "list": []int{1, 2}, "odd": arguments["odd"]}
	intent.Reason = "as password=hunter2 says"
	if _, err := j.Begin(t.Context(), intent, nil); err != nil {
		t.Fatal(err)
	}
	raw := string(read(t, j.current()))
	for line := range strings.Lines(raw) {
		var decoded map[string]any
		if err := json.Unmarshal([]byte(line), &decoded); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"hunter2", "s3cr3t", "\x1b", "\u202e", "\n"} {
			if strings.Contains(fmt.Sprint(decoded), bad) {
				t.Errorf("the journal holds %q", bad)
			}
		}
		if len(line) > maxLine {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	r := sound(t, j)
	history, err := j.History(t.Context(), 1, nil)
	if err != nil || r.Records != 3 {
		t.Fatal(err, r)
	}
	want := map[string]any{"url": "https://[redacted]@example.org/x?token=[redacted]", "d ": 1.5, "yes": true, "nothing": nil, "list": "[1,2]", "odd": "a value of type func()"}
	if diff := cmp.Diff(want, history.Actions[0].Arguments); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsAreBoundedTogether(t *testing.T) {
	many, long := map[string]any{}, map[string]any{}
	for i := range 100 {
		many[fmt.Sprintf("%03d", i)] = i
	}
	for i := range 20 {
		long[fmt.Sprint(i)] = strings.Repeat("é", maxText)
	}
	if kept := arguments(many); len(kept) != maxMembers+1 || kept["031"] != 31 || kept["…"] != "68 more" {
		t.Errorf("%v", kept)
	}
	if diff := cmp.Diff(map[string]any{"…": "20 arguments that are too long to keep"}, arguments(long)); diff != "" {
		t.Error(diff)
	}
}

func TestEveryHeadIsAnnouncedOnceItIsWritten(t *testing.T) {
	j := fresh(t)
	var seen []Head
	j.Announce = func(_ context.Context, h Announcement) {
		onDisk, err := j.readHead()
		if err != nil || onDisk != h.Head {
			t.Errorf("%+v announced, %+v on disk, %v", h, onDisk, err)
		}
		seen = append(seen, h.Head)
	}
	act(t, j, 2)
	if len(seen) != 4 || seen[3].Seq != 4 || seen[3].Hash != sound(t, j).LastHash {
		t.Errorf("%+v", seen)
	}
}

// Syslog is not filled by reports that arrive; the chain still covers them.
func TestRoutineIsAnnouncedWhenItFails(t *testing.T) {
	for result, want := range map[string]int{Done: 0, Pending: 1, Failed: 1} {
		j, seen := fresh(t), 0
		j.Announce = func(context.Context, Announcement) { seen++ }
		e, err := j.Begin(t.Context(), Intent{Tool: routineTool}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Finish(t.Context(), Outcome{Result: result}); err != nil {
			t.Fatal(err)
		}
		if seen != want || sound(t, j).Records != 2 {
			t.Errorf("%s: %d announced, want %d", result, seen, want)
		}
	}
}

func TestTheFixForAReadOnlyJournalNamesItsFileSystems(t *testing.T) {
	j := New("/a", "/b")
	if fix := fault.From(j.failed(syscall.EROFS)).Fix; !strings.HasSuffix(fix, "/a and /b for writing: df -h /a /b") {
		t.Error(fix)
	}
}

// Removing the lock file does not affect readers.
func TestAJournalWithoutItsLockIsRead(t *testing.T) {
	j := fresh(t)
	act(t, j, 3)
	if err := os.Remove(j.lockPath()); err != nil {
		t.Fatal(err)
	}
	v, err := j.Verify(t.Context(), nil)
	if err != nil || v.ProblemsTotal != 0 || v.Records != 6 {
		t.Errorf("%+v, %v", v, err)
	}
}
