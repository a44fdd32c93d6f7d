// SPDX-License-Identifier: Apache-2.0

package filetree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/platform/unix/dirpath"
	"sentinel/platform/unix/workerpool"
)

// gather walks and returns every entry by its path.
func gather(t testing.TB, ctx context.Context, tree Tree) (map[string]Entry, Sum) { //nolint:revive // the test comes first
	t.Helper()
	if tree.Entries == 0 {
		tree.Entries = 1 << 40
	}
	seen := map[string]Entry{}
	sum := Walk(ctx, tree, func(_ int, p Place, e Entry) func() {
		return func() {
			path := p.Path()
			if _, twice := seen[path]; twice {
				t.Errorf("%q was seen twice", path)
			}
			seen[path] = e
		}
	})
	return seen, sum
}

func paths(seen map[string]Entry) []string { return slices.Sorted(maps.Keys(seen)) }

// What the standard library finds by opening and reading, one after the other,
// is what this finds.
func TestWalkSeesWhatFilepathSees(t *testing.T) {
	want := map[string]Entry{}
	var here syscall.Stat_t
	if err := syscall.Lstat("/usr/share", &here); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir("/usr/share", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if ok && st.Dev == here.Dev && (info.IsDir() || info.Mode().IsRegular()) {
			want[path] = Entry{Mode: st.Mode, UID: st.Uid, GID: st.Gid, Inode: st.Ino}
		}
		return nil
	})
	testenv.Need(t, err == nil, fmt.Sprintf("a readable /usr/share: %v", err))
	got, sum := gather(t, t.Context(), Tree{Root: "/", Start: []string{"/usr/share"}})
	if diff := cmp.Diff(want, got); diff != "" || !sum.Whole() || len(got) < 100 {
		t.Errorf("%+v, %d seen\n%s", sum, len(got), diff)
	}
}

// Links, pipes, sockets and devices stay untouched: opening one may block, or
// lead elsewhere.
func TestWalkOpensDirsAlone(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"a/file": "x", "b/inner/file": "y"})
	for _, link := range [][2]string{{"..", "a/up"}, {"/", "a/root"}, {"loop", "a/loop"}, {"file", "a/link"}} {
		if err := os.Symlink(link[0], filepath.Join(root, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(root, "a", "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	got, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{"/", "/nowhere", "/a/file", "/a/up"}})
	want := []string{"/", "/a", "/a/file", "/b", "/b/inner", "/b/inner/file"}
	if diff := cmp.Diff(want, paths(got)); diff != "" || !sum.Whole() {
		t.Errorf("%+v\n%s", sum, diff)
	}
}

func TestWalkTellsModeAndOwner(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"su": "", "shared/": ""})
	for name, mode := range map[string]fs.FileMode{"su": 0o755 | fs.ModeSetuid, "shared": 0o777 | fs.ModeSticky} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := gather(t, t.Context(), Tree{Root: root, Start: []string{"/"}})
	su, shared := got["/su"], got["/shared"]
	if !su.Is(Regular) || su.Mode&0o7777 != 0o755|SetUID || int(su.UID) != os.Geteuid() {
		t.Errorf("su: %+v", su)
	}
	if !shared.Is(Directory) || shared.Mode&0o7777 != 0o777|Sticky {
		t.Errorf("shared: %+v", shared)
	}
}

func TestWalkSkips(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"a/x": "", "b/y": "", "a/c/z": ""})
	got, _ := gather(t, t.Context(), Tree{Root: root, Start: []string{"/"}, Skip: func(path string) bool { return path == "/a/c" || path == "/b" }})
	if diff := cmp.Diff([]string{"/", "/a", "/a/x"}, paths(got)); diff != "" {
		t.Error(diff)
	}
}

// A walk says when it reached its bound. One that its bound just allows is whole.
func TestWalkStopsAtItsBound(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("d%d/file", i)] = ""
	}
	root := testenv.Plant(t, files)
	for bound, cut := range map[int64]bool{1: true, 50: true, 200: true, 201: false, 1000: false} {
		seen, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{"/"}, Entries: bound})
		if sum.Cut != cut || sum.Entries != min(bound, 201) || int64(len(seen)) != min(bound, 201) {
			t.Errorf("bound %d: %+v, %d seen", bound, sum, len(seen))
		}
	}
}

func TestWalkEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, sum := gather(t, ctx, Tree{Root: "/", Start: []string{"/usr"}}); !sum.Cut {
		t.Errorf("a walk that was cancelled before: %+v", sum)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 2*time.Millisecond)
	defer cancel()
	_, sum := gather(t, ctx, Tree{Root: "/", Start: []string{"/usr"}})
	if ctx.Err() != nil && !sum.Cut && !sum.Whole() {
		t.Errorf("a walk that was cancelled in the middle: %+v", sum)
	}
}

// A path longer than the kernel takes is seen whole.
func TestWalkSeesWhatIsVeryDeep(t *testing.T) {
	root := t.TempDir()
	name := strings.Repeat("d", 250)
	dir, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"/": true}
	for level := range 20 {
		want[strings.Repeat("/"+name, level+1)] = true
		if err := dir.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := dir.OpenRoot(name)
		dir.Close()
		if err != nil {
			t.Fatal(err)
		}
		dir = next
	}
	if err := dir.WriteFile("program", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	dir.Close()
	want[strings.Repeat("/"+name, 20)+"/program"] = true
	seen, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{"/"}})
	for path := range seen {
		if !want[path] {
			t.Errorf("%q", path)
		}
	}
	if len(seen) != len(want) || !sum.Whole() {
		t.Errorf("%d of %d are seen, %+v", len(seen), len(want), sum)
	}
}

func nothing(int, Place, Entry) func() { return nil }

// allocated says how many bytes a walk allocates that asks for no path.
func allocated(t *testing.T, root string, want int64) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	sum := Walk(t.Context(), Tree{Root: root, Start: []string{"/"}, Entries: 1 << 40}, nothing)
	runtime.ReadMemStats(&after)
	if sum.Entries != want || !sum.Whole() {
		t.Errorf("%+v", sum)
	}
	return after.TotalAlloc - before.TotalAlloc
}

// A user who nests directories has root keep no path of each one: one of a thousand names has 250 KB.
func TestDepthCostsNoMemory(t *testing.T) {
	name, flat, deep := strings.Repeat("d", 250), t.TempDir(), t.TempDir()
	for root, levels := range map[string]int{flat: 1, deep: 1001} {
		at := testenv.Nested(t, root, name, levels)
		for i := range 1301 - levels {
			if err := at.Mkdir(fmt.Sprintf("%04d%s", i, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := at.WriteFile("program", nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	few, many := allocated(t, flat, 1303), allocated(t, deep, 1303)
	if many > 3*few {
		t.Errorf("%d bytes are allocated for a deep tree, %d for a flat one", many, few)
	}
	found := ""
	Walk(t.Context(), Tree{Root: deep, Start: []string{"/"}, Entries: 1 << 40}, func(_ int, p Place, _ Entry) func() {
		if p.Name != "program" {
			return nil
		}
		return func() { found = p.Path() }
	})
	whole := strings.Repeat("/"+name, dirpath.MaxEnd/251)
	if want := whole + "/…" + whole + "/program"; found != want {
		t.Errorf("%d bytes: %q", len(found), found)
	}
}

// Of very many directories only some wait to be read; the others are said not to have been seen.
func TestOnlySomeDirsWait(t *testing.T) {
	files := map[string]string{}
	for i := range 10 {
		files[fmt.Sprintf("%d/in/file", i)] = ""
	}
	root, seen := testenv.Plant(t, files), map[string]int{}
	w := &walk{Tree: Tree{Root: root, Start: []string{"/"}, Entries: 1000}, most: 5, visit: func(_ int, p Place, _ Entry) func() { seen[p.Name]++; return nil }}
	sum := Sum{}
	for range 2 { // what was read waits no longer
		clear(seen)
		w.sum, w.ended = Sum{}, false
		w.cut.Store(false)
		sum = w.run(t.Context(), 1)
		// The root and four wait; what is in the first of them is one more, and there is room for what is in the others.
		if seen["in"] != 4 || seen["file"] != 3 || len(seen) != 13 || sum.Unseen != 7 || w.waiting.Load() != 0 {
			t.Errorf("%v, %d unseen, %d wait", seen, sum.Unseen, w.waiting.Load())
		}
	}
	if dir, err := os.Stat(root + sum.UnseenAt); err != nil || !dir.IsDir() || len(sum.UnseenAt) != 2 {
		t.Errorf("the first is %q: %v", sum.UnseenAt, err)
	}
}

func TestWalkSaysWhatItMayNotRead(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	root := inMemory(t)
	for directory, mode := range map[string]fs.FileMode{"open": 0o755, "closed": 0o700} {
		if err := os.Mkdir(filepath.Join(root, directory), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, directory, "x"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Become(t, testenv.Nobody)
	got, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{"/"}})
	if diff := cmp.Diff([]string{"/", "/closed", "/open", "/open/x"}, paths(got)); diff != "" || sum.Unseen != 1 || sum.UnseenAt != "/closed" || sum.Cut {
		t.Errorf("%+v\n%s", sum, diff)
	}
}

// inMemory returns an empty file system of the test's own, which ends with its
// namespaces: who gave up root could not clear it away.
func inMemory(t *testing.T) string {
	t.Helper()
	if err := unix.Mount("tmpfs", "/srv", "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	return "/srv"
}

// What is mounted below is another file system, or the same one once more, as the table of mounts tells.
func TestWalkStaysOnItsFileSystem(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	root := inMemory(t)
	for _, directory := range []string{"a/x", "memory", "again"} {
		if err := os.MkdirAll(filepath.Join(root, directory), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mount("tmpfs", filepath.Join(root, "memory"), "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "memory", "inner"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(filepath.Join(root, "a"), filepath.Join(root, "again"), "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	got, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{"/"}, Mounted: map[string]Mount{"/again": OfSystem, "/memory": OfSystem}})
	if diff := cmp.Diff([]string{"/", "/a", "/a/x"}, paths(got)); diff != "" || !sum.Whole() {
		t.Errorf("%+v\n%s", sum, diff)
	}
	got, sum = gather(t, t.Context(), Tree{Root: root, Start: []string{"/memory"}})
	if diff := cmp.Diff([]string{"/memory", "/memory/inner"}, paths(got)); diff != "" || !sum.Whole() {
		t.Errorf("from the mount: %+v\n%s", sum, diff)
	}
}

// Directories that come and go while they are read are no fault.
func TestWalkBearsChange(t *testing.T) {
	root := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			directory := filepath.Join(root, fmt.Sprint(i%50), "inner")
			if err := os.MkdirAll(directory, 0o755); err != nil {
				t.Error(err)
			}
			if err := os.RemoveAll(filepath.Dir(directory)); err != nil {
				t.Error(err)
			}
		}
	})
	for range 300 {
		var entries int64 = 1 << 30
		if sum := Walk(ctx, Tree{Root: root, Start: []string{"/"}, Entries: entries}, nothing); !sum.Whole() {
			t.Errorf("%+v", sum)
		}
	}
	cancel()
	all.Wait()
}

func BenchmarkWalk(b *testing.B) {
	for b.Loop() {
		sum := Walk(b.Context(), Tree{Root: "/", Start: []string{"/usr"}, Entries: 1 << 40}, nothing)
		b.ReportMetric(float64(sum.Entries), "files")
	}
}

// seenOf returns a walk that begins at a root, what it saw, and a directory there as it is when it is listed.
func seenOf(t *testing.T, root, path string) (*walk, *[]string, *directory) {
	t.Helper()
	var saw []string
	w := &walk{Tree: Tree{Root: root, Entries: 100}, most: 100, visit: func(_ int, p Place, _ Entry) func() { saw = append(saw, p.Path()); return nil }}
	f, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	d := newDirectory(&beginning{path: "/", dir: f, mount: unknown})
	if err := unix.Fstat(int(f.Fd()), &d.stat); err != nil {
		t.Fatal(err)
	}
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' }) {
		d = d.in(part, unix.Stat_t{})
		var unhandled error
		d.handle, _, unhandled = handleOf(int(f.Fd()), strings.TrimPrefix(d.String(), "/"))
		if err := unix.Lstat(filepath.Join(root, d.String()), &d.stat); err != nil || unhandled != nil && !errors.Is(unhandled, unix.EOPNOTSUPP) {
			t.Fatal(err)
		}
	}
	return w, &saw, d
}

// A user who moves a directory between the moment it is listed and the moment it is read does not hide it, nor lead
// root elsewhere. Without handles of files it is said not to have been seen.
func TestWalkLosesNoDirThatIsMoved(t *testing.T) {
	move := func(from, to string) func(string) error {
		return func(root string) error { return os.Rename(filepath.Join(root, from), filepath.Join(root, to)) }
	}
	exchange := func(a, b string) func(string) error {
		return func(root string) error {
			return unix.Renameat2(unix.AT_FDCWD, filepath.Join(root, a), unix.AT_FDCWD, filepath.Join(root, b), unix.RENAME_EXCHANGE)
		}
	}
	link := func(to, at string) func(string) error {
		return func(root string) error { return os.Symlink(to, filepath.Join(root, at)) }
	}
	remove := func(name string) func(string) error {
		return func(root string) error { return os.RemoveAll(filepath.Join(root, name)) }
	}
	for name, c := range map[string]struct {
		do     []func(string) error
		lost   int64 // without handles
		exists bool
	}{
		"another in its place": {[]func(string) error{move("p/a", "p/before"), move("elsewhere", "p/a")}, 1, true},
		"a link in its place":  {[]func(string) error{move("p/a", "p/before"), link("../elsewhere", "p/a")}, 1, true},
		"a link of /proc":      {[]func(string) error{move("p/a", "p/before"), link("/proc/self/root/etc", "p/a")}, 1, true},
		"exchanged":            {[]func(string) error{exchange("p/a", "p/b")}, 1, true},
		"called otherwise":     {[]func(string) error{move("p/a", "p/before")}, 1, true},
		"its parent exchanged": {[]func(string) error{exchange("p", "q")}, 1, true},
		"away":                 {[]func(string) error{move("p/a", "q/a")}, 0, true},
		"removed":              {[]func(string) error{remove("p/a")}, 0, false},
		"removed, and another": {[]func(string) error{remove("p/a"), move("elsewhere", "p/a")}, 0, false},
		"parent removed":       {[]func(string) error{remove("p")}, 0, false},
	} {
		for _, handles := range []bool{true, false} {
			root := testenv.Plant(t, map[string]string{"p/a/x": "", "p/b/y": "", "q/": "", "elsewhere/secret": ""})
			w, saw, d := seenOf(t, root, "/p/a")
			if !handles {
				d.handle = nil
			}
			for _, do := range c.do {
				if err := do(root); err != nil {
					t.Fatal(name, ": ", err)
				}
			}
			found := w.read(t.Context(), &workerpool.Steps{}, d)
			byHandle := handles && mayOpenHandles(t, root)
			lost, want := c.lost, []string(nil)
			if byHandle {
				lost = 0
			}
			if byHandle && c.exists {
				want = []string{"/p/a/x"}
			}
			if diff := cmp.Diff(want, *saw); diff != "" || len(found) > 0 || w.sum.Unseen != lost || lost > 0 && w.sum.UnseenAt != "/p/a" {
				t.Errorf("%s, handles %v: %v, %d unseen at %q\n%s", name, byHandle, found, w.sum.Unseen, w.sum.UnseenAt, diff)
			}
		}
	}
}

// Nor one that becomes a link between the moment its directory is listed and the moment it is looked at: it has the
// name of what was passed over as a link.
func TestWalkSaysWhatBecameAnother(t *testing.T) {
	for name, c := range map[string]struct{ a, b string }{"a directory for a link": {"dir", "link"}, "a file for a directory": {"file", "dir"}, "a file for a link": {"file", "link"}} {
		root := testenv.Plant(t, map[string]string{"dir/x": "", "file": ""})
		if err := os.Symlink("/", filepath.Join(root, "link")); err != nil {
			t.Fatal(err)
		}
		w, saw, d := seenOf(t, root, "")
		listed, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(root, c.a), unix.AT_FDCWD, filepath.Join(root, c.b), unix.RENAME_EXCHANGE); err != nil {
			t.Fatal(err)
		}
		for _, one := range listed {
			if one.Name() == c.a {
				if found := w.look(d, int(d.begin.dir.Fd()), one, nil); len(found) > 0 || len(*saw) > 0 || w.sum.Unseen != 1 {
					t.Errorf("%s: %v, %v, %d unseen", name, found, *saw, w.sum.Unseen)
				}
			}
		}
	}
}

// mayOpenHandles says whether this process may open directories by their handles, and dir has one.
func mayOpenHandles(t *testing.T, dir string) bool {
	t.Helper()
	_, _, d := seenOf(t, dir, "")
	d.handle, _, _ = handleOf(int(d.begin.dir.Fd()), "")
	f, err := d.byHandle()
	if err == nil {
		f.Close()
	}
	return err == nil
}

// A link of /proc to what a process holds may lead to the very same directory, by a way that asks a server of
// a user's.
func TestWalkFollowsNoLinkOfProcOnTheWay(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"a/b/x": ""})
	w, saw, d := seenOf(t, root, "/a/b")
	d.handle = nil
	before := filepath.Join(root, "before")
	err := errors.Join(os.Rename(filepath.Join(root, "a"), before), os.Symlink("/proc/self/root"+before, filepath.Join(root, "a")))
	if err != nil {
		t.Fatal(err)
	}
	if found := w.read(t.Context(), &workerpool.Steps{}, d); len(found) > 0 || len(*saw) > 0 || w.sum.Unseen != 1 {
		t.Errorf("%v, %v, %d unseen", found, *saw, w.sum.Unseen)
	}
	if seen, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{"/a/b"}}); len(seen) > 0 || sum.Unseen != 1 {
		t.Errorf("from a start: %v, %+v", paths(seen), sum)
	}
}

// What is asked of a file beyond its entry is asked below the directory that is open.
func TestWalkHoldsTheDirectoryOfWhatIsVisited(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"a/x": "1", "b/x": "22"})
	sizes := map[string]int64{}
	Walk(t.Context(), Tree{Root: root, Start: []string{"/"}, Entries: 10}, func(fd int, p Place, e Entry) func() {
		if p.Name == "" {
			return func() { sizes["start"] = int64(fd) }
		}
		var st unix.Stat_t
		if err := unix.Fstatat(fd, p.Name, &st, 0); err != nil {
			t.Error(err)
		}
		if !e.Is(Regular) {
			return nil
		}
		return func() { sizes[p.Path()] = st.Size }
	})
	if diff := cmp.Diff(map[string]int64{"start": -1, "/a/x": 1, "/b/x": 2}, sizes); diff != "" {
		t.Error(diff)
	}
}

// Whether a directory was removed with those above it is not looked for any longer than the walk lasts: a user may have
// nested thousands.
func TestNothingIsLookedForAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root := testenv.Plant(t, map[string]string{"a/b/c/d/e/": ""})
	w, _, d := seenOf(t, root, "/a/b/c/d/e")
	d.handle = nil
	f, err := d.byName() // which finds out once whether there is openat2(2)
	if err := errors.Join(err, f.Close(), os.RemoveAll(filepath.Join(root, "a"))); err != nil {
		t.Fatal(err)
	}
	var opened atomic.Int64
	testenv.Intercept(t, unix.SYS_OPENAT2, func(int) unix.Errno {
		opened.Add(1)
		return 0
	}, func() { w.read(ctx, &workerpool.Steps{}, d) })
	if opened.Load() != 1 || w.sum.Unseen != 1 {
		t.Errorf("%d directories are opened, %d unseen", opened.Load(), w.sum.Unseen)
	}
}
