// SPDX-License-Identifier: Apache-2.0

package diskusage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/progress"
	"sentinel/internal/statefile"
)

// A machine answers with what it holds.
type machine struct {
	place                    Place
	tree                     Tree
	deleted                  Deleted
	placeErr, walkErr        error
	deletedErr, snapshotsErr error
	snapshots                []string
	stuckWalk, stuckDeleted  bool
	walked                   bool
	watched                  []string
}

func (m *machine) Place(context.Context, string) (Place, error) { return m.place, m.placeErr }

func (m *machine) Walk(ctx context.Context, _ Place, watch []string, seen *atomic.Int64) (Tree, error) {
	m.walked, m.watched = true, watch
	seen.Store(500)
	if m.stuckWalk {
		<-ctx.Done()
	}
	return m.tree, m.walkErr
}

func (m *machine) Deleted(ctx context.Context, _ Place) (Deleted, error) {
	if m.stuckDeleted {
		select {}
	}
	return m.deleted, m.deletedErr
}

func (m *machine) Caches() []Cache {
	return []Cache{{"journal", "/var/log/journal", "vacuum it"}, {"apt", "/var/cache/apt/archives", "clean it"}, {"dnf", "/var/cache/dnf", "clean it"}}
}

func (m *machine) Snapshots(context.Context, Place) ([]string, error) {
	return m.snapshots, m.snapshotsErr
}

const gib = 1 << 30

// full is a disk that a deleted log and a database fill.
func full() *machine {
	branch := func(path string, size, entries, largest, most int) Branch {
		return Branch{Path: path, Bytes: uint64(size), Entries: int64(entries), LargestBytes: uint64(largest), LargestEntries: int64(most)}
	}
	return &machine{
		place: Place{Path: "/", Whole: true, FileSystem: Mounted{Mountpoint: "/", Device: "/dev/sda1", Type: "ext4", Size: 100 * gib, Used: 60 * gib, Available: 35 * gib, Inodes: 1000, InodesUsed: 515},
			Below: []Mount{{"/proc", "proc", false}, {"/home", "xfs", true}}},
		tree: Tree{
			Bytes: 40 * gib, Entries: 480, Directories: 80,
			BySize: []Branch{
				branch("/var", 35*gib, 300, 34*gib, 290), branch("/var/lib", 34*gib, 200, 30*gib, 100), branch("/var/lib/mysql", 30*gib, 50, 9*gib, 9),
				branch("/usr", 5*gib, 100, 3*gib, 60), branch("/var/lib/mysql/shop", 9*gib, 9, 0, 0),
			},
			ByEntries: []Branch{branch("/var", 35*gib, 300, 34*gib, 290), branch("/var/spool/sessions", 1<<20, 290, 0, 0)},
			Files:     []FoundFile{{"/var/lib/mysql/shop/orders.ibd", 9 * gib, 9 * gib, time.Unix(1e9, 0)}, {"/var/lib/holes", gib, 50 * gib, time.Unix(1e9, 0)}},
			Watched:   map[string]Branch{"/var/log/journal": branch("/var/log/journal", 3*gib, 4, 0, 0), "/var/cache/dnf": branch("/var/cache/dnf", 4096, 1, 0, 0)},
			Elsewhere: []string{"/home", "/subvolume"}, Elsewheres: 2,
		},
		deleted: Deleted{Files: []DeletedFile{{7, "small", "", "/tmp/x", gib, 1}, {812, "rsyslogd", "rsyslog.service", "/var/log/syslog", 17 * gib, 2}}},
	}
}

func measured(t *testing.T, m *machine, o Options) Usage {
	t.Helper()
	u, err := Measure(t.Context(), m, "/", o)
	if err != nil {
		t.Fatal(err)
	}
	u.TimeMS = 0
	return u
}

func TestWhatFillsADisk(t *testing.T) {
	m := full()
	u := measured(t, m, Options{Rows: -1})
	percent := 51.5
	want := Usage{
		Path: "/", FileSystem: FileSystem{"/", "/dev/sda1", "ext4", new(uint64(100 * gib)), new(uint64(60 * gib)), new(uint64(35 * gib)), &percent},
		Bytes: 40 * gib, Entries: 480, Complete: true, OtherBytes: new(int64(2 * gib)), DirectoriesTotal: 80,
		// /var and /var/lib only lead to the database.
		Directories:      []Folder{{"/var/lib/mysql", 30 * gib, 50, false}, {"/usr", 5 * gib, 100, false}, {"/var/lib/mysql/shop", 9 * gib, 9, false}},
		ByEntries:        []Folder{{"/var/spool/sessions", 1 << 20, 290, false}},
		Files:            []File{{"/var/lib/mysql/shop/orders.ibd", 9 * gib, 0, "2001-09-09T01:46:40Z"}, {"/var/lib/holes", gib, 50 * gib, "2001-09-09T01:46:40Z"}},
		DeletedOpen:      []Open{{812, "rsyslogd", "rsyslog.service", "/var/log/syslog", 17 * gib, 2}, {7, "small", "", "/tmp/x", gib, 0}},
		DeletedOpenTotal: new(2), DeletedOpenBytes: new(uint64(18 * gib)),
		Caches:     []Cached{{"journal", "/var/log/journal", 3 * gib, false, "vacuum it"}},
		NotEntered: []Skipped{{"/home", "xfs"}, {"/subvolume", ""}}, NotEnteredTotal: 2,
		Unavailable: answer.Gaps{{Field: "grown", Reason: errNotKept.Error()}},
	}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Error(diff)
	}
	if want := []string{"/var/log/journal", "/var/cache/apt/archives", "/var/cache/dnf"}; !slices.Equal(m.watched, want) {
		t.Errorf("%v", m.watched)
	}
}

// Where files do not account for what is used, snapshots may.
func TestSnapshotsMayHoldWhatNoFileDoes(t *testing.T) {
	const note = "32.0 GiB of what is used belong to no file that was looked at; snapshots or others in the same pool may hold them. Root lists the snapshots with: btrfs subvolume list -s /"
	for name, c := range map[string]struct {
		change func(*machine)
		want   string
	}{
		"a pool that is full of snapshots": {func(*machine) {}, note},
		"little":                           {func(m *machine) { m.place.FileSystem.Used = 60 * gib }, ""},
		"less than was found":              {func(m *machine) { m.place.FileSystem.Used = 20 * gib }, ""},
		"a folder in it":                   {func(m *machine) { m.place.FileSystem.Mountpoint = "/srv" }, ""},
		"not all was seen":                 {func(m *machine) { m.tree.Bound = "the time for it was over" }, ""},
		"its size is not known":            {func(m *machine) { m.place.FileSystem.Err = errors.New("no figures") }, ""},
		"another file system":              {func(m *machine) { m.place.FileSystem.ListSnapshots = "" }, ""},
	} {
		m := full()
		m.place.Whole = false
		m.place.FileSystem.Type, m.place.FileSystem.SharesSpace, m.place.FileSystem.ListSnapshots, m.place.FileSystem.Used = "btrfs", true, "btrfs subvolume list -s /", 90*gib
		c.change(m)
		got := ""
		for _, g := range measured(t, m, Options{Rows: -1}).Unavailable {
			if g.Field == "snapshots" {
				got = g.Reason
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Unknown is not zero, and what was not looked at is said.
func TestWhatWasNotLookedAtIsSaid(t *testing.T) {
	m := full()
	m.tree.Bound, m.tree.Unread, m.tree.Unreadable, m.tree.Failed, m.tree.FailedAt, m.tree.Moved, m.tree.MovedFrom, m.tree.ManyLinks = "the time for it was over", 12, 3, 1, `/srv/"odd"`, 2, "/srv/b\n", true
	m.tree.Stuck, m.tree.StuckAt = 1, "/srv/held"
	m.place.FileSystem.Err, m.place.Note = errors.New("no figures"), "another one"
	m.deletedErr, m.snapshotsErr = errors.New("no files"), errors.New("no snapshots")
	u := measured(t, m, Options{Rows: 1})
	var said []string
	for _, g := range u.Unavailable {
		said = append(said, g.Field+": "+g.Reason)
	}
	want := []string{
		"filesystem.used_bytes: no figures", "deleted_open: no files", "snapshots: no snapshots",
		"bytes: the time for it was over, with 12 directories known of and not read; 1 file or directory could not be read, the first in \"/srv/'odd'\"",
		`bytes: 1 directory does not answer, such as "/srv/held": a user keeps it from being read by a file system that a process serves (FUSE), or its disk is gone`,
		`bytes: 2 directories were moved or removed before being read, the first from "/srv/b "`,
		"directories: 3 directories are not readable without root", "bytes: very many files have several names; not all of them were told apart", "path: another one",
		"grown: " + errNotKept.Error(),
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	if u.Complete || u.OtherBytes != nil || u.DeletedOpenTotal != nil || u.FileSystem.UsedBytes != nil || len(u.Directories) != 1 || !u.Truncated {
		t.Errorf("%+v", u)
	}
}

// What was removed between the walk and the look at open files is in both.
func TestNothingElseIsNeverLessThanNothing(t *testing.T) {
	m := full()
	m.place.FileSystem.Used = 58*gib - 1 // 40 in files, 18 in deleted ones
	u := measured(t, m, Options{})
	want := answer.Gap{Field: "other_bytes", Reason: "more was found than is used: files share what they hold, or were removed meanwhile"}
	if u.OtherBytes != nil || !slices.Contains(u.Unavailable, want) {
		t.Errorf("other_bytes %v, %v", u.OtherBytes, u.Unavailable)
	}
	m.place.FileSystem.Used++
	if u = measured(t, m, Options{}); u.OtherBytes == nil || *u.OtherBytes != 0 || slices.Contains(u.Unavailable, want) {
		t.Errorf("other_bytes %v, %v", u.OtherBytes, u.Unavailable)
	}
}

func TestPathsAreAbsolute(t *testing.T) {
	for path, want := range map[string]string{"/": "/", "/var/../etc//x/.": "/etc/x", "/../..": "/", "/-x": "/-x"} {
		if got, err := Parse(path); got != want || err != nil {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{"", "var", "-x", "--help", "./x", "~", "/a\x00b"} {
		if _, err := Parse(path); fault.From(err).Code != fault.InvalidArgument {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestDirectoriesThatCannotBeAddedUp(t *testing.T) {
	for name, c := range map[string]struct {
		m    machine
		code fault.Code
		says string
	}{
		"a server":    {machine{place: Place{Path: "/mnt/nas", Remote: true, FileSystem: Mounted{Mountpoint: "/mnt", Type: "nfs4"}}}, fault.Unavailable, `"/mnt/nas" is on "/mnt" ("nfs4"), which another machine or a process provides`},
		"the kernel":  {machine{place: Place{Path: "/proc/1/fd", MadeUp: true, FileSystem: Mounted{Mountpoint: "/proc", Type: "proc"}}}, fault.InvalidArgument, `"/proc/1/fd" is on "/proc" ("proc"), whose files the kernel makes up`},
		"no table":    {machine{placeErr: errors.New("broken")}, fault.Unavailable, `The file system of "/" cannot be found: broken`},
		"a link":      {machine{walkErr: ErrLink{"/var/run", "/run"}}, fault.InvalidArgument, `"/var/run" is a symbolic link to "/run"`},
		"some link":   {machine{walkErr: ErrLink{Link: "/x"}}, fault.InvalidArgument, `"/x" is a symbolic link; links`},
		"a file":      {machine{walkErr: ErrNotDirectory, place: Place{Path: "/f"}}, fault.InvalidArgument, `"/f" is not a directory.`},
		"nothing":     {machine{walkErr: fmt.Errorf("x: %w", fs.ErrNotExist), place: Place{Path: "/n\x1b"}}, fault.InvalidArgument, `There is no directory "/n�".`},
		"not for you": {machine{walkErr: fs.ErrPermission, place: Place{Path: "/root"}}, fault.PermissionDenied, `This user may not list "/root".`},
		"another":     {machine{walkErr: errors.New("broken"), place: Place{Path: "/x"}}, fault.Unavailable, `"/x" cannot be read: broken`},
	} {
		_, err := Measure(t.Context(), &c.m, "/", Options{})
		if known := fault.From(err); known.Code != c.code || !strings.Contains(known.Message, c.says) {
			t.Errorf("%s: %s %q", name, known.Code, known.Message)
		}
		if (c.m.place.Remote || c.m.place.MadeUp) && c.m.walked {
			t.Errorf("%s: it was entered", name)
		}
	}
}

// The answer comes in its time with what was found by then.
func TestNothingKeepsTheAnswerWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := full()
		m.stuckWalk = true
		m.tree.Bound = "the time for it was over"
		var said []string
		ctx := progress.With(t.Context(), func(percent int, words string) { said = append(said, fmt.Sprint(percent, " ", words)) })
		start := time.Now()
		u, err := Measure(ctx, m, "/", Options{Rows: -1})
		if took := time.Since(start); err != nil || u.Complete || u.Bytes != 40*gib || took != walkLimit {
			t.Errorf("%+v, %v after %v", u, err, took)
		}
		if len(said) < 20 || said[0] != "86 files and directories looked at: 500" || !strings.HasPrefix(said[len(said)-1], "90 ") {
			t.Errorf("%q", said)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := Measure(ctx, m, "/", Options{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// A machine whose files have names that are meant for the reader.
func TestNamesAreHarmless(t *testing.T) {
	m := full()
	evil := "/x\n\x1b[2J\u202e" + strings.Repeat("y", 5000)
	m.place.Path, m.place.Below = evil, []Mount{{evil, evil, true}}
	m.tree.BySize, m.tree.ByEntries, m.tree.Files = []Branch{{Path: evil, Bytes: 1, Entries: 1}}, []Branch{{Path: evil, Bytes: 1, Entries: 1}}, []FoundFile{{Path: evil}}
	m.tree.Elsewhere = []string{evil + "z"}
	m.deleted.Files = []DeletedFile{{1, evil, evil, evil, 1, 1}}
	m.snapshots = []string{evil}
	raw, err := json.Marshal(measured(t, m, Options{Rows: -1}))
	if err != nil || strings.ContainsAny(string(raw), "\x1b\u202e\n") || strings.Contains(string(raw), `\n`) || len(raw) > 4000 {
		t.Errorf("%v %s", err, raw)
	}
}

var first = time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)

// What grew is told against the last run of root for the same directory, where it grew.
func TestWhatGrewSinceTheLastRun(t *testing.T) {
	state := filepath.Join(t.TempDir(), "new", "disk_usage.json")
	m := full()
	at := func(now time.Time) Usage { return measured(t, m, Options{Rows: -1, State: state, Now: now}) }
	if u := at(first); u.Grown != nil || u.GrownSince != "" || !strings.Contains(fmt.Sprint(u.Unavailable), "first run for this directory") {
		t.Errorf("%+v", u)
	}
	info, err := os.Stat(state)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	for i := range 3 { // /var, /var/lib, /var/lib/mysql
		m.tree.BySize[i].Bytes += 5 * gib
	}
	m.tree.Bytes += 6 * gib
	m.tree.BySize = append(m.tree.BySize, Branch{Path: "/opt/new", Bytes: gib}, Branch{Path: "/opt/partly", Bytes: 2 * gib, AtLeast: true})
	u := at(first.Add(5 * time.Minute))
	want := []Growth{{"/var/lib/mysql", 5 * gib, 35 * gib, false}, {"/opt/partly", 2 * gib, 2 * gib, true}, {"/opt/new", gib, gib, false}}
	if diff := cmp.Diff(want, u.Grown); diff != "" || u.GrownSince != "2026-11-20T03:00:00Z" {
		t.Errorf("since %s: %s", u.GrownSince, diff)
	}
	for _, later := range []time.Duration{0, time.Minute} { // who asks twice compares twice with the same run
		if again := at(first.Add(48*time.Hour + later)); again.GrownSince != "2026-11-20T03:00:00Z" || len(again.Grown) != 3 {
			t.Errorf("%+v", again)
		}
	}
	if last := at(first.Add(72 * time.Hour)); last.GrownSince != "2026-11-22T03:00:00Z" || last.Grown == nil || len(last.Grown) != 0 {
		t.Errorf("%+v", last)
	}
	m.place.Path = "/var"
	if u := at(first.Add(72 * time.Hour)); u.Grown != nil {
		t.Errorf("%+v", u.Grown)
	}
}

// A file in the directory itself grows with it.
func TestTheDirectoryItselfMayGrow(t *testing.T) {
	r := newRun(Tree{BySize: []Branch{{Path: "/", Bytes: gib}}}, first)
	if got := r.grown([]Branch{{Path: "/", Bytes: 3 * gib}, {Path: "/small", Bytes: gib}}); len(got) != 2 || got[0].Path != "/" || got[0].Grown != 2*gib {
		t.Errorf("%+v", got)
	}
}

// What was too small to be kept, or not read to its end, has not grown from nothing.
func TestWhatWasNotKeptMayHaveBeenThere(t *testing.T) {
	var list []Branch
	for i := range maxKept + 5 {
		list = append(list, Branch{Path: fmt.Sprintf("/d%d", i), Bytes: uint64(gib - i*1000)})
	}
	list[3].AtLeast = true
	r := newRun(Tree{BySize: list}, first)
	if len(r.Sizes) != maxKept || r.Floor != list[3].Bytes {
		t.Errorf("%d sizes, floor %d", len(r.Sizes), r.Floor)
	}
	if got := r.grown([]Branch{{Path: "/other", Bytes: gib + gib/2}, {Path: "/other/small", Bytes: gib / 2}}); len(got) != 1 || !got[0].AtLeast || got[0].Grown != gib+gib/2-list[3].Bytes {
		t.Errorf("%+v", got)
	}
	if r := newRun(Tree{Bytes: 9 * gib, Unread: 1}, first); r.Floor != 9*gib {
		t.Errorf("%+v", r)
	}
}

func TestTheRecordIsBounded(t *testing.T) {
	var f stateFile
	f.keep("/", Run{At: first.Add(-time.Hour)})
	for i := range maxRuns + 3 {
		f.keep(fmt.Sprintf("/%d", i), Run{At: first.Add(time.Duration(i) * time.Hour)})
	}
	if len(f.Runs) != maxRuns || !f.Runs["/3"].None() || f.Runs["/4"].None() || f.Runs["/"].None() {
		t.Errorf("%v", f.Runs)
	}
	most := stateFile{Version: 1, Runs: map[string]statefile.Runs[Run]{}}
	for i := range maxRuns {
		sizes := map[string]uint64{}
		for j := range maxKept {
			sizes[fmt.Sprintf("%0*d", maxKeptPath, j)] = 1 << 60
		}
		for range 2 {
			most.keep(fmt.Sprint(i), Run{At: first, Sizes: sizes})
		}
	}
	raw, err := json.Marshal(most)
	if err != nil || len(raw) > maxState<<10 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	if _, err := statefile.Parse[stateFile](raw); err != nil {
		t.Error(err)
	}
	named := stateFile{Version: 1}
	for i := range maxRuns { // of directories that somebody named with characters that take six bytes each
		tree := Tree{BySize: []Branch{{Path: "/plain", Bytes: gib}}}
		for j := range maxKept {
			tree.BySize = append(tree.BySize, Branch{Path: fmt.Sprintf("/%d/%s", j, strings.Repeat("<", 150)), Bytes: uint64(gib - j)})
		}
		for range 2 {
			named.keep(fmt.Sprint("/", i), newRun(tree, first))
		}
	}
	path := filepath.Join(t.TempDir(), "s")
	if err := statefile.Write(path, named, maxState); err != nil {
		t.Fatal(err)
	}
	if kept, err := statefile.Read[stateFile](path, maxState); err != nil || kept.Runs["/7"].Before.Sizes["/plain"] != gib || kept.Runs["/7"].Last.Floor != gib {
		t.Errorf("%+v, %v", kept.Runs["/7"], err)
	}
}

// A record that is damaged costs the comparison alone, and is replaced.
func TestADamagedRecord(t *testing.T) {
	for _, content := range []string{"", "{", `{"version":2,"runs":{}}`, `{"version":1,"runs":{"/":{"last":{"at":"0001-01-01T00:00:00Z","sizes":{},"floor":0}}}}`, `{"version":1,"more":1}`, `{"version":1}{}`} {
		state := filepath.Join(t.TempDir(), "s")
		if err := os.WriteFile(state, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		u := measured(t, full(), Options{State: state, Now: first})
		if u.Grown != nil || !strings.Contains(fmt.Sprint(u.Unavailable), "cannot be used") {
			t.Errorf("%q: %v", content, u.Unavailable)
		}
		if u := measured(t, full(), Options{State: state, Now: first}); u.Grown == nil {
			t.Errorf("%q: %v", content, u.Unavailable)
		}
	}
}

func FuzzState(f *testing.F) {
	f.Add([]byte(`{"version":1,"runs":{"/":{"last":{"at":"2026-11-20T03:00:00Z","sizes":{"/a":5},"floor":3}}}}`))
	f.Add([]byte(`{"version":1,"runs":{"/":{"last":{"at":"2026-11-20T03:00:00Z","sizes":{"/a":18446744073709551615},"floor":18446744073709551615}}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := statefile.Parse[stateFile](raw)
		if err != nil {
			return
		}
		for path, r := range s.Runs {
			for _, g := range r.Last.grown([]Branch{{Path: path, Bytes: 1 << 40}, {Path: "/a", Bytes: 1 << 30}}) {
				if g.Grown < leastGrowth || g.Grown > g.Bytes {
					t.Errorf("%+v", g)
				}
			}
		}
	})
}
