// SPDX-License-Identifier: Apache-2.0

package treesize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/diskusage"
	"sentinel/internal/testenv"
	"sentinel/platform/unix/dirpath"
	"sentinel/platform/unix/workerpool"
)

// file writes a file of so many bytes, and the directories above it.
func file(t *testing.T, path string, size int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// walkOf walks a directory whose path holds no link.
func walkOf(t *testing.T, dir string, more Options) diskusage.Tree {
	t.Helper()
	more.Root, more.Dir = "/", dir
	if more.Entries == 0 {
		more.Entries = 1 << 30
	}
	tree, err := Walk(t.Context(), more)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// plain is a temporary directory on the way to which there is no link.
func plain(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// duOf returns what du prints for each directory.
func duOf(t *testing.T, dir string, options ...string) map[string]uint64 {
	t.Helper()
	du := testenv.Program(t, "du", "coreutils")
	out, err := exec.Command(du, append(append([]string{"-x", "-0"}, options...), dir)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]uint64{}
	for row := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		digits, path, _ := strings.Cut(row, "\t")
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sizes[path] = n
	}
	return sizes
}

func branches(list []diskusage.Branch, size func(diskusage.Branch) uint64) map[string]uint64 {
	m := map[string]uint64{}
	for _, b := range list {
		m[b.Path] = size(b)
	}
	return m
}

func bytesOf(b diskusage.Branch) uint64 { return b.Bytes }

// A tree of every kind of file has the sizes that du has: allocated ones, links themselves and not
// what they lead to, names of any bytes.
func TestSizesAreThoseOfDu(t *testing.T) {
	dir := plain(t)
	for i := range 40 {
		file(t, fmt.Sprintf("%s/a/%d/deep/er/f", dir, i), i*4096+100)
	}
	file(t, dir+"/b/line\nbreak/\xff\xfe/f", 9000)
	file(t, dir+"/b/empty/none", 0)
	if err := errors.Join(os.Symlink("/", dir+"/b/root"), os.Symlink("/"+strings.Repeat("x", 3000), dir+"/b/long"), unix.Mkfifo(dir+"/b/fifo", 0o600)); err != nil {
		t.Fatal(err)
	}
	file(t, dir+"/b/holes", 1)
	if err := os.Truncate(dir+"/b/holes", 1<<40); err != nil {
		t.Fatal(err)
	}
	tree := walkOf(t, dir, Options{})
	want := duOf(t, dir, "--block-size=1")
	inodes := duOf(t, dir, "--inodes")
	if tree.Bytes != want[dir] || uint64(tree.Entries) != inodes[dir] || int(tree.Directories) != len(want) || !tree.Complete() {
		t.Errorf("%+v, want %d bytes, %d entries, %d directories", tree, want[dir], inodes[dir], len(want))
	}
	delete(want, dir)
	delete(inodes, dir)
	if diff := cmp.Diff(want, branches(tree.BySize, bytesOf)); diff != "" {
		t.Error(diff)
	}
	// du counts a directory among its own.
	if diff := cmp.Diff(inodes, branches(tree.ByEntries, func(b diskusage.Branch) uint64 { return uint64(b.Entries) + 1 })); len(inodes) == len(tree.ByEntries) && diff != "" {
		t.Error(diff)
	}
	if first := tree.Files[0]; first.Path != dir+"/a/39/deep/er/f" || first.Bytes < 39*4096 || first.Size != 39*4096+100 || first.Modified.IsZero() {
		t.Errorf("%+v", first)
	}
}

// A file with several names counts once, and each of its names has the same share, whichever is seen
// first.
func TestAFileWithSeveralNamesCountsOnce(t *testing.T) {
	dir := plain(t)
	file(t, dir+"/in/one/f", 1<<20)
	file(t, dir+"/out/x", 1)
	for _, other := range []string{"/in/two", "/in/three", "/out/f"} {
		os.Mkdir(dir+other, 0o755)
	}
	if err := errors.Join(os.Link(dir+"/in/one/f", dir+"/in/two/f"), os.Link(dir+"/in/one/f", dir+"/in/three/f"), os.Link(dir+"/in/one/f", dir+"/out/g")); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		tree := walkOf(t, dir+"/in", Options{})
		if want := duOf(t, dir+"/in", "--block-size=1")[dir+"/in"]; tree.Bytes != want {
			t.Errorf("%d bytes, want %d", tree.Bytes, want)
		}
		sizes := branches(tree.BySize, bytesOf)
		if len(sizes) != 3 || sizes[dir+"/in/one"] != sizes[dir+"/in/two"] || sizes[dir+"/in/two"] != sizes[dir+"/in/three"] || sizes[dir+"/in/one"] < 1<<18 {
			t.Errorf("%v", sizes)
		}
		if len(tree.Files) != 1 || tree.Files[0].Bytes < 1<<20 {
			t.Errorf("%+v", tree.Files)
		}
	}
}

func TestLinksBeyondTheBoundCountInShares(t *testing.T) {
	s := links{}
	for i := range uint64(maxLinks) {
		s.first(identity{inode: i})
	}
	if whole, share := s.add(linked{identity: identity{inode: maxLinks + 1}, names: 4, bytes: 4096}); whole != 1024 || share != 1024 {
		t.Errorf("%d, %d", whole, share)
	}
	if whole, share := s.add(linked{identity: identity{inode: 7}, names: 2, bytes: 4096}); whole != 0 || share != 2048 || s.files != maxLinks-1 {
		t.Errorf("%d, %d, %d files", whole, share, s.files)
	}
}

// Of a directory with very many directories in it only some are known of at a time.
func TestAWideDirectoryIsReadInParts(t *testing.T) {
	dir := plain(t)
	const wide = 6000
	for i := range wide {
		if err := os.Mkdir(fmt.Sprintf("%s/%s%d", dir, strings.Repeat("n", 100), i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w, most := begun(t, dir), 0
	for len(w.waiting) > 0 {
		w.step()
		most = max(most, len(w.waiting))
	}
	if tree := w.tree(); tree.Entries != wide+1 || tree.Directories != wide+1 || most > 1000 {
		t.Errorf("%d entries, %d directories, at most %d waited", tree.Entries, tree.Directories, most)
	}
}

// Of a directory with very many names of one file only some are kept at a time.
func TestManyNamesInOneDirectoryAreReadInParts(t *testing.T) {
	dir := plain(t)
	const names = 30_000
	first := dir + "/first"
	if err := os.WriteFile(first, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range names {
		if err := os.Link(first, fmt.Sprintf("%s/%d", dir, i)); err != nil {
			t.Fatal(err)
		}
	}
	w, most := begun(t, dir), 0
	for len(w.waiting) > 0 {
		f := w.step()
		most = max(most, len(f.linked)+len(f.files))
	}
	if tree := w.tree(); tree.Entries != names+2 || tree.Directories != 1 || len(tree.Files) != 1 || most > 10*maxFound {
		t.Errorf("%d entries, %d directories, %d files, at most %d were kept", tree.Entries, tree.Directories, len(tree.Files), most)
	}
}

func TestTheWayToTheDirectoryHasNoLink(t *testing.T) {
	dir := plain(t)
	file(t, dir+"/real/sub/f", 1)
	if err := os.Symlink("real", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		"/link":       diskusage.ErrLink{Link: "/link", Target: "real"},
		"/link/sub":   diskusage.ErrLink{Link: "/link", Target: "real"},
		"/real/sub/f": diskusage.ErrNotDirectory,
		"/real/none":  fs.ErrNotExist,
	} {
		if _, err := Walk(t.Context(), Options{Root: dir, Dir: path, Entries: 10}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

// What is put in the place of a directory after it was seen is not followed, and what is gone is no
// failure.
func TestADirectoryThatIsReplacedIsNotFollowed(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"a link":  func(path string) error { return os.Symlink("/", path) },
		"nothing": func(string) error { return nil },
		"a file":  func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		dir := plain(t)
		file(t, dir+"/seen/f", 1<<20)
		w := begun(t, dir)
		w.step()
		if err := errors.Join(os.RemoveAll(dir+"/seen"), replace(dir+"/seen")); err != nil {
			t.Fatal(err)
		}
		w.finish()
		if tree := w.tree(); tree.Bytes > 1<<16 || !tree.Complete() || len(tree.Files) != 0 {
			t.Errorf("%s: %+v", name, tree)
		}
	}
}

// walkWith walks a directory and does something between the first reading, in which the directories in it are
// found, and the others.
func walkWith(t *testing.T, dir string, meanwhile func() error) diskusage.Tree {
	t.Helper()
	w := begun(t, dir)
	w.step()
	if err := meanwhile(); err != nil {
		t.Fatal(err)
	}
	w.finish()
	if n := w.held.Load(); n != 0 {
		t.Errorf("%d directories are still held", n)
	}
	return w.tree()
}

// A user who moves a directory away, or changes it for another one, while it is still to be read hides nothing.
func TestADirectoryThatIsMovedIsRead(t *testing.T) {
	for name, move := range map[string]func(dir string) error{
		"away": func(dir string) error { return os.Rename(dir+"/top/seen", dir+"/away") },
		"exchanged": func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/other", 0o755), unix.Renameat2(unix.AT_FDCWD, dir+"/top/seen", unix.AT_FDCWD, dir+"/other", unix.RENAME_EXCHANGE))
		},
	} {
		dir := plain(t)
		file(t, dir+"/top/seen/f", 1<<20)
		tree := walkWith(t, dir+"/top", func() error { return move(dir) })
		if tree.Bytes < 1<<20 || !tree.Complete() || len(tree.Files) != 1 || tree.Files[0].Path != dir+"/top/seen/f" {
			t.Errorf("%s: %+v", name, tree)
		}
	}
}

// Of very many directories only some are held; of the others it is told that they were moved.
func TestWhatWasMovedAndIsNotReadIsSaid(t *testing.T) {
	const more = 100
	for name, move := range map[string]func(dir, away string) error{
		"away":     func(dir, away string) error { return os.Rename(dir, away) },
		"a link":   func(dir, away string) error { return errors.Join(os.Rename(dir, away), os.Symlink(away, dir)) },
		"replaced": func(dir, away string) error { return errors.Join(os.Rename(dir, away), os.Mkdir(dir, 0o755)) },
	} {
		dir := plain(t)
		for i := range maxHeld + more {
			file(t, fmt.Sprintf("%s/top/%d/f", dir, i), 4096)
		}
		tree := walkWith(t, dir+"/top", func() (err error) {
			if err := os.Mkdir(dir+"/away", 0o755); err != nil {
				return err
			}
			for i := range maxHeld + more {
				err = errors.Join(err, move(fmt.Sprintf("%s/top/%d", dir, i), fmt.Sprintf("%s/away/%d", dir, i)))
			}
			return err
		})
		if tree.Moved != more || tree.Complete() || tree.Directories != maxHeld+1 || !strings.HasPrefix(tree.MovedFrom, dir+"/top/") || tree.Bytes < maxHeld*4096 {
			t.Errorf("%s: %d moved, the first from %q, %d directories, %d bytes", name, tree.Moved, tree.MovedFrom, tree.Directories, tree.Bytes)
		}
	}
}

// What is held is let go of at a bound, too.
func TestNothingIsHeldAfterABound(t *testing.T) {
	dir := plain(t)
	for i := range 50 {
		file(t, fmt.Sprintf("%s/%d/f", dir, i), 1)
	}
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := open()
	if tree := walkOf(t, dir, Options{Entries: 20}); tree.Unread == 0 {
		t.Fatalf("%+v", tree)
	}
	if after := open(); after != before {
		t.Errorf("%d files are open, before it were %d", after, before)
	}
}

// The files of an overlay have the device of the layer that they are in, and each layer numbers its files by itself.
func TestFilesOfEachLayerOfAnOverlayCount(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	const base = "/mnt"
	if err := unix.Mount("m", base, "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	for _, layer := range []string{"/lower", "/upper", "/all"} {
		if err := os.Mkdir(base+layer, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(unix.Mount("m", base+"/lower", "tmpfs", 0, "mode=755"), unix.Mount("m", base+"/upper", "tmpfs", 0, "mode=755")); err != nil {
		t.Fatal(err)
	}
	file(t, base+"/lower/srv/below", 3<<20)
	file(t, base+"/upper/scratch/x", 0)
	file(t, base+"/upper/files/srv/above", 2<<20)
	if err := errors.Join(os.Link(base+"/lower/srv/below", base+"/lower/srv/below too"), os.Link(base+"/upper/files/srv/above", base+"/upper/files/srv/above too"), os.Remove(base+"/upper/scratch/x")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("o", base+"/all", "overlay", 0, "xino=off,lowerdir="+base+"/lower,upperdir="+base+"/upper/files,workdir="+base+"/upper/scratch"); err != nil {
		t.Fatal(err)
	}
	file(t, base+"/page", 1)
	file(t, base+"/all/srv/mounted", 0)
	if err := unix.Mount(base+"/page", base+"/all/srv/mounted", "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	tree := walkOf(t, base+"/all", Options{})
	if len(tree.Files) != 2 || tree.Files[0].Bytes != 3<<20 || tree.Files[1].Bytes != 2<<20 || tree.Bytes != 5<<20 || !tree.Complete() {
		t.Errorf("%+v", tree)
	}
	if !slices.Equal(tree.Elsewhere, []string{base + "/all/srv/mounted"}) || tree.Elsewheres != 1 {
		t.Errorf("%d: %q", tree.Elsewheres, tree.Elsewhere)
	}
}

// Layers may have files of the same number.
func TestFilesOfTwoDevicesAreTwo(t *testing.T) {
	s := links{}
	for device := range uint64(2) {
		if whole, share := s.add(linked{identity: identity{device, 7}, names: 2, bytes: 4096}); whole != 4096 || share != 2048 {
			t.Errorf("device %d: %d, %d", device, whole, share)
		}
	}
}

// What was not looked at is said, and sums above it are at least theirs.
func TestBounds(t *testing.T) {
	dir := plain(t)
	for i := range 50 {
		file(t, fmt.Sprintf("%s/%d/sub/f", dir, i), 4096)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx     context.Context
		entries int64
		bound   string
	}{
		"time":    {over, 1 << 30, outOfTime},
		"entries": {t.Context(), 60, tooManyFiles},
	} {
		var seen atomic.Int64
		tree, err := Walk(c.ctx, Options{Root: "/", Dir: dir, Entries: c.entries, Seen: &seen})
		if err != nil || tree.Bound != c.bound || tree.Unread == 0 || tree.Complete() || tree.Entries > 151 {
			t.Errorf("%s: %+v, %v", name, tree, err)
		}
		for _, b := range tree.BySize {
			if !b.AtLeast && b.Entries < 2-int64(strings.Count(strings.TrimPrefix(b.Path, dir), "/")-1) {
				t.Errorf("%s: %+v is whole", name, b)
			}
		}
	}
}

// What lies deeper than the kernel takes a path is measured, with openat2(2) and without.
func TestDirectoriesOfAnyDepthAreRead(t *testing.T) {
	dir, name := plain(t), strings.Repeat("d", 250)
	at := testenv.Nested(t, dir, name, 40)
	if err := at.WriteFile("large", make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, missing := range []int{0, 1 << 30} {
		testenv.Intercept(t, unix.SYS_OPENAT2, func(n int) unix.Errno {
			if n < missing {
				return unix.ENOSYS
			}
			return 0
		}, func() {
			tree := walkOf(t, dir, Options{})
			if tree.Entries != 42 || tree.Bytes < 8<<20 || !tree.Complete() || len(tree.Files) != 1 || tree.Files[0].Path != dir+strings.Repeat("/"+name, 40)+"/large" {
				t.Errorf("%d entries, %d bytes, %d failed at %.300q", tree.Entries, tree.Bytes, tree.Failed, tree.FailedAt)
			}
		})
	}
}

// A stepwise walk reads one directory after another.
type stepwise struct {
	*walk
	waiting []*directory
}

// begun is a walk that has read nothing yet.
func begun(t *testing.T, dir string) *stepwise {
	t.Helper()
	root, err := openStart("/", dir[1:])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(root.close)
	w := newWalk(Options{Root: "/", Dir: dir, Entries: 1 << 30}, root)
	first, err := w.begin()
	if err != nil {
		t.Fatal(err)
	}
	return &stepwise{w, []*directory{first}}
}

// step reads one directory, or a part of it.
func (s *stepwise) step() found {
	last := len(s.waiting) - 1
	d := s.waiting[last]
	s.waiting = s.waiting[:last]
	f := s.read(&workerpool.Steps{}, d)
	s.waiting = append(s.waiting, s.add(d, f)...)
	return f
}

func (s *stepwise) finish() {
	for len(s.waiting) > 0 {
		s.step()
	}
}

// alone does a walk, and says how many bytes that allocated without what is told of it.
func (s *stepwise) alone() uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.finish()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// plantAt writes folders of files, the later the larger, and the first of the last folder is the largest.
func plantAt(t *testing.T, at *os.Root, name string, folders, files int) {
	t.Helper()
	for i := range folders {
		folder := fmt.Sprintf("%s%03d", name, i)
		if err := at.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for j := range files {
			size := 4096 * (1 + i/20)
			if i == folders-1 && j == 0 {
				size = 409_600
			}
			if err := at.WriteFile(fmt.Sprintf("%s/%d", folder, j), make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A user who nests directories has root keep no path of each file: one of a thousand names has 250 KB.
func TestDepthCostsNoMemory(t *testing.T) {
	name, flat, deep := strings.Repeat("d", 250), plain(t), plain(t)
	top := testenv.Nested(t, flat, name, 1)
	for i := range 1000 {
		if err := top.Mkdir(fmt.Sprintf("%04d%s", i, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	plantAt(t, top, name, 100, 5)
	plantAt(t, testenv.Nested(t, deep, name, 1001), name, 100, 5)
	w := begun(t, deep)
	few, many := begun(t, flat).alone(), w.alone()
	if many > 3*few {
		t.Errorf("%d bytes are allocated for a deep tree, %d for a flat one", many, few)
	}
	tree := w.tree()
	if tree.Entries != 1602 || !tree.Complete() || len(tree.BySize) != maxBranches || len(tree.Files) != maxFiles {
		t.Errorf("%d entries, %d directories and %d files are told, %d failed", tree.Entries, len(tree.BySize), len(tree.Files), tree.Failed)
	}
	head, tail := strings.Repeat("/"+name, dirpath.MaxEnd/251), strings.Repeat("/"+name, dirpath.MaxEnd/251-1)
	if got, want := tree.Files[0].Path, deep+head+"/…"+tail+"/"+name+"099/0"; got != want || tree.Files[0].Bytes != 409_600 {
		t.Errorf("%d bytes of %d: %q", len(got), tree.Files[0].Bytes, got)
	}
	if slices.ContainsFunc(append(tree.BySize, tree.ByEntries...), func(b diskusage.Branch) bool { return len(b.Path) > len(deep)+2*dirpath.MaxEnd+len("/…") }) {
		t.Error("a directory has a longer path")
	}
}

// Of very many directories that are known of only some are kept, and the others are said not to be read.
func TestOnlySomeDirectoriesAreKept(t *testing.T) {
	dir := plain(t)
	for i := range 10 {
		file(t, fmt.Sprintf("%s/%d/in/f", dir, i), 4096)
	}
	w := begun(t, dir)
	w.most = 4
	w.alone()
	// There is no room for what is in the first of four, and then for what is in the others.
	tree := w.tree()
	if tree.Unread != 7 || tree.Bound != tooManyKnown || tree.Complete() || len(tree.Files) != 3 || w.known != 0 || w.held.Load() != 0 {
		t.Errorf("%d unread, %q, %d files, %d known, %d held", tree.Unread, tree.Bound, len(tree.Files), w.known, w.held.Load())
	}
	if whole := slices.DeleteFunc(tree.BySize, func(b diskusage.Branch) bool { return b.AtLeast }); len(whole) != 6 {
		t.Errorf("whole are %+v", whole)
	}
}

// What is too far down to be opened by one path is opened in pieces, of which two are open at a time.
func TestWhatIsNotHeldIsOpenedAtAnyDepth(t *testing.T) {
	dir, name := plain(t), strings.Repeat("d", 250)
	const more, spare = 20, 40
	plantAt(t, testenv.Nested(t, dir, name, 1200), "", maxHeld+more, 0)
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) })
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(len(list) + maxHeld + spare), Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	w := begun(t, dir)
	w.alone()
	if tree := w.tree(); tree.Directories != 1201+maxHeld+more || !tree.Complete() {
		t.Errorf("%d directories, %d failed, %d moved", tree.Directories, tree.Failed, tree.Moved)
	}
}

// Of what could not be read the first place is told.
func TestTheFirstDirectoryThatFailsIsNamed(t *testing.T) {
	w := newWalk(Options{Root: "/", Dir: "/srv"}, handle{})
	top := &directory{}
	for _, c := range []struct {
		name string
		f    found
	}{{"seen", found{}}, {"files", found{failed: 2}}, {"broken", found{err: unix.EIO}}} {
		w.fail(top.in(child{name: c.name}), c.f)
	}
	if tree := w.tree(); tree.Failed != 3 || tree.FailedAt != "/srv/files" {
		t.Errorf("%d failed, at %q", tree.Failed, tree.FailedAt)
	}
}

func TestDirectoriesThatMayNotBeListedAreCounted(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	const dir = "/mnt" // nobody could remove a temporary directory
	if err := unix.Mount("m", dir, "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	file(t, dir+"/open/f", 1<<20)
	file(t, dir+"/closed/f", 1<<20)
	file(t, dir+"/passage/in/f", 1<<20)
	if err := errors.Join(os.Chmod(dir+"/closed", 0o700), os.Chmod(dir+"/passage", 0o711)); err != nil {
		t.Fatal(err)
	}
	testenv.Become(t, testenv.Nobody)
	tree := walkOf(t, dir, Options{Watch: []string{dir + "/open", dir + "/closed", dir + "/none"}})
	if tree.Unreadable != 2 || tree.Failed != 0 || tree.Complete() || tree.Bytes > 3<<19 {
		t.Errorf("%+v", tree)
	}
	if open := tree.Watched[dir+"/open"]; open.Bytes < 1<<20 || open.AtLeast || len(tree.Watched) != 2 || !tree.Watched[dir+"/closed"].AtLeast {
		t.Errorf("%+v", tree.Watched)
	}
	if tree := walkOf(t, dir+"/passage/in", Options{}); tree.Entries != 2 || !tree.Complete() {
		t.Errorf("%+v", tree)
	}
	if _, err := Walk(t.Context(), Options{Root: "/", Dir: dir + "/closed", Entries: 1}); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

// No mount is entered, whether the table of mounts has it or not, and bind mounts of the same file
// system, which have its device number, make no loop.
func TestMountsAreNotEntered(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	dir := plain(t)
	file(t, dir+"/a/f", 1<<20)
	file(t, dir+"/page", 1<<20)
	for _, point := range []string{"/loop", "/memory", "/a/bound"} {
		if err := os.Mkdir(dir+point, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file(t, dir+"/a/mounted", 0)
	if err := errors.Join(unix.Mount(dir, dir+"/loop", "", unix.MS_BIND, ""), unix.Mount("m", dir+"/memory", "tmpfs", 0, ""),
		unix.Mount(dir+"/a", dir+"/a/bound", "", unix.MS_BIND, ""), unix.Mount(dir+"/page", dir+"/a/mounted", "", unix.MS_BIND, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, point := range []string{"/loop", "/memory", "/a/bound", "/a/mounted"} {
			unix.Unmount(dir+point, unix.MNT_DETACH)
		}
	})
	file(t, dir+"/memory/f", 1<<20)
	points, mounted := []string{dir + "/a/bound", dir + "/loop", dir + "/memory"}, dir+"/a/mounted"
	for name, skip := range map[string][]string{"listed": append(points, mounted), "not listed": nil} {
		tree := walkOf(t, dir, Options{Skip: skip})
		slices.Sort(tree.Elsewhere)
		want := points
		if name == "not listed" {
			want = slices.Insert(slices.Clone(points), 1, mounted) // a file that is mounted over another of the same file system
		}
		if diff := cmp.Diff(want, tree.Elsewhere); diff != "" || tree.Elsewheres != len(want) || tree.Bytes < 2<<20 || tree.Bytes > 5<<19 || !tree.Complete() {
			t.Errorf("%s: %d bytes %s", name, tree.Bytes, diff)
		}
	}
}

// Kernels before 5.6, and filters of system calls, have no openat2.
func TestWithoutOpenat2LinksAreNotFollowedEither(t *testing.T) {
	dir := plain(t)
	file(t, dir+"/a/b/f", 1)
	if err := os.Symlink("a", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	top, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(top)
	for path, ok := range map[string]bool{"": true, "a/b": true, "link/b": false, "link": false, "none": false, "a/b/f": false} {
		fd, err := openParts(top, path)
		if (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
		if err == nil {
			unix.Close(fd)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte(strings.Repeat("\x00", 16)+"\x18\x00\x04ab\x00\x00\x00"), 3)
	f.Fuzz(func(t *testing.T, b []byte, _ int) {
		visitRecords(b, func(name []byte, _ byte) {
			if len(name) == 0 || slices.Contains(name, 0) || string(name) == "." || string(name) == ".." || len(name) > len(b) {
				t.Errorf("%q", name)
			}
		})
	})
}

func TestTheLargestAreKept(t *testing.T) {
	r := ranking[int]{most: 3, size: func(n int) uint64 { return uint64(n) }}
	for _, n := range []int{0, 5, 1, 9, 2, 7, 3} {
		r.add(n)
	}
	if got := largestFirst(slices.Clone(r.list), r.size, strconv.Itoa); !slices.Equal(got, []int{9, 7, 5}) || r.least() != 5 {
		t.Errorf("%v, least %d", got, r.least())
	}
}

func BenchmarkWalk(b *testing.B) {
	for b.Loop() {
		tree, err := Walk(b.Context(), Options{Root: "/", Dir: "/usr", Entries: 1 << 40})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(tree.Entries), "files")
	}
}
