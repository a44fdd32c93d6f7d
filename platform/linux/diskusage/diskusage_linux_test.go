// SPDX-License-Identifier: Apache-2.0

package diskusage

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/answer"
	"sentinel/internal/diskusage"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/platform/linux/procfs"
)

// host is a mount table with a mount of every kind.
const host = `20 1 8:1 / / rw - ext4 /dev/sda1 rw
21 20 0:21 / /proc rw - proc proc rw
22 20 0:22 / /run rw - tmpfs tmpfs rw
23 20 8:2 / /home rw - xfs /dev/sda2 rw
24 20 0:40 / /mnt/nas rw - nfs4 nas:/export rw
25 20 0:41 / /home/ann/remote rw - fuse.sshfs ann@b: rw
26 20 8:1 /srv/data /export rw - ext4 /dev/sda1 rw
27 20 0:42 /@ /pool rw - btrfs /dev/sdb rw
28 20 0:43 / /net rw - autofs -hosts rw
`

func TestThePlaceOfADirectoryIsToldByTheMountTable(t *testing.T) {
	s := New(testenv.Plant(t, map[string]string{"proc/self/mountinfo": host}))
	for path, want := range map[string]struct {
		on, kind      string
		remote, whole bool
		below         int
	}{
		"/":                    {"/", "ext4", false, true, 8},
		"/var/log":             {"/", "ext4", false, false, 0},
		"/home":                {"/home", "xfs", false, true, 1},
		"/homes":               {"/", "ext4", false, false, 0},
		"/mnt/nas/a/b":         {"/mnt/nas", "nfs4", true, false, 0},
		"/home/ann/remote":     {"/home/ann/remote", "fuse.sshfs", true, true, 0},
		"/export":              {"/export", "ext4", false, false, 0},
		"/pool/x":              {"/pool", "btrfs", false, false, 0},
		"/net/server/anything": {"/net", "autofs", true, false, 0},
	} {
		p, err := s.Place(t.Context(), path)
		if err != nil || p.FileSystem.Mountpoint != want.on || p.FileSystem.Type != want.kind || p.Remote != want.remote || p.Whole != want.whole || len(p.Below) != want.below {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
	p, err := s.Place(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	var missed []string
	for _, m := range p.Below {
		if m.Holds {
			missed = append(missed, m.Path)
		}
	}
	if want := []string{"/home", "/mnt/nas", "/home/ann/remote", "/export", "/pool"}; !slices.Equal(missed, want) {
		t.Errorf("%v, want %v", missed, want)
	}
	if _, err := New(testenv.Plant(t, map[string]string{"proc/self/mountinfo": ""})).Place(t.Context(), "/x"); err == nil {
		t.Error("a path without a mount has a place")
	}
}

func TestWhatListsSnapshots(t *testing.T) {
	s := New(testenv.Plant(t, map[string]string{"proc/self/mountinfo": host + "29 20 0:44 / /my\\040data rw - btrfs /dev/sdc rw\n30 20 0:45 / /tank rw - zfs tank/it's rw\n"}))
	for path, want := range map[string]string{
		"/pool/x": "btrfs subvolume list -s /pool", "/my data": "btrfs subvolume list -s '/my data'", "/tank/y": `zfs list -t snapshot -r 'tank/it'\''s'`, "/": "", "/home": "",
	} {
		if p, err := s.Place(t.Context(), path); err != nil || p.FileSystem.ListSnapshots != want {
			t.Errorf("%s: %q, %v, want %q", path, p.FileSystem.ListSnapshots, err, want)
		}
	}
}

// A file system whose server is dead is neither entered nor asked for its size, above it and at it.
func TestAFileSystemThatDoesNotAnswerIsLeftAlone(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	dead := deadfuse.New(t, 0)
	s := New("/")
	above, err := s.Place(t.Context(), filepath.Dir(dead.Dir))
	if err != nil || above.Remote {
		t.Fatalf("%+v, %v", above, err)
	}
	var seen atomic.Int64
	tree, err := s.Walk(t.Context(), above, nil, &seen)
	if err != nil || !slices.Equal(tree.Elsewhere, []string{dead.Dir}) || !tree.Complete() {
		t.Errorf("%+v, %v", tree, err)
	}
	// The kernel keeps a walk out that does not know of the mount.
	above.Below = nil
	if tree, err = s.Walk(t.Context(), above, nil, &seen); err != nil || !slices.Equal(tree.Elsewhere, []string{dead.Dir}) {
		t.Errorf("%+v, %v", tree, err)
	}
	p, err := s.Place(t.Context(), dead.Dir+"/any/thing")
	if err != nil || !p.Remote || p.FileSystem.Size != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	select {
	case <-dead.Looks:
		t.Error("it was asked for a name")
	default:
	}
}

// deletedIn returns the deleted files of a directory.
func deletedIn(t *testing.T, dir string) []diskusage.DeletedFile {
	t.Helper()
	s := New("/")
	place, err := s.Place(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Deleted(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(d.Files, func(f diskusage.DeletedFile) bool {
		return f.Path != procfs.TooLong && !strings.HasPrefix(f.Path, dir+"/")
	})
}

// A deleted file that is open is told with its size and its processes, once; one that is only called so
// is not.
func TestDeletedFilesThatAreOpenAreFound(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		return f
	}
	long := strings.Repeat("0123456789abcdef", 12) // as the log of a container
	gone, again := open("big\nlog"+long), open("still here (deleted)")
	if err := errors.Join(gone.Sync(), again.Sync(), os.Remove(gone.Name())); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", gone.Fd())); err != nil {
		t.Fatal(err)
	} else {
		defer f.Close()
	}
	self, err := procfs.New("/").Self()
	if err != nil {
		t.Fatal(err)
	}
	name, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	list := deletedIn(t, dir)
	if len(list) != 1 || list[0].Bytes < 1<<20 {
		t.Fatalf("%+v", list)
	}
	want := diskusage.DeletedFile{PID: self, Process: strings.TrimSpace(string(name)), Unit: list[0].Unit, Path: dir + "/big\nlog" + long, Bytes: list[0].Bytes, Holders: 1}
	if diff := cmp.Diff(want, list[0]); diff != "" {
		t.Error(diff)
	}
	other := exec.Command("/bin/sleep", "600")
	other.ExtraFiles = []*os.File{gone}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Process.Kill(); other.Wait() })
	if list := deletedIn(t, dir); len(list) != 1 || list[0].Holders != 2 || list[0].PID != min(self, other.Process.Pid) {
		t.Errorf("%+v", list)
	}
}

// So is one that is run or mapped and that nobody has open.
// The kernel names no path of more than 4,095 bytes.
func TestADeletedFileInADeepDirectoryIsFound(t *testing.T) {
	dir := t.TempDir()
	at, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	name := strings.Repeat("d", 200)
	for range 25 {
		if err != nil {
			t.Fatal(err)
		}
		outer := at
		if err = unix.Mkdirat(outer, name, 0o755); err == nil {
			at, err = unix.Openat(outer, name, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		unix.Close(outer)
	}
	defer unix.Close(at)
	for _, name := range []string{"gone", "kept"} {
		fd, err := unix.Openat(at, name, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if _, err := unix.Write(fd, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fsync(fd); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Unlinkat(at, "gone", 0); err != nil {
		t.Fatal(err)
	}
	self, err := procfs.New("/").Self()
	if err != nil {
		t.Fatal(err)
	}
	if list := deletedIn(t, dir); len(list) != 1 || list[0].Path != procfs.TooLong || list[0].PID != self || list[0].Bytes < 1<<20 {
		t.Errorf("%+v", list)
	}
}

func TestDeletedFilesThatAreRunOrMappedAreFound(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(testenv.Program(t, "sleep", "coreutils"))
	if err != nil {
		t.Fatal(err)
	}
	mapped := filepath.Join(dir, "map ped\n"+strings.Repeat("x", 200))
	if err := errors.Join(os.WriteFile(dir+"/run", append(program, make([]byte, 3<<20)...), 0o755), os.WriteFile(mapped, make([]byte, 2<<20), 0o600)); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/bin/sh", "-c", `exec "$0" 600 <&- >&- 2>&-`, dir+"/run") // it has no file open
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	testenv.WaitFor(t, "it runs", func() bool {
		p, err := procfs.New("/").Process(c.Process.Pid)
		return err == nil && p.Name == "run"
	})
	file, err := os.Open(mapped)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, 1<<20, unix.PROT_READ, unix.MAP_SHARED)
	if err := errors.Join(err, file.Sync(), file.Close(), os.Remove(mapped), os.Remove(dir+"/run")); err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	unix.Sync()
	list := deletedIn(t, dir)
	slices.SortFunc(list, func(a, b diskusage.DeletedFile) int { return strings.Compare(a.Path, b.Path) })
	if len(list) != 2 || list[0].Path != mapped || list[0].Bytes < 2<<20 || list[0].Bytes >= 3<<20 || list[0].PID != os.Getpid() || list[0].Holders != 1 ||
		list[1].Path != dir+"/run" || list[1].Bytes < 3<<20 || list[1].PID != c.Process.Pid || list[1].Holders != 1 {
		t.Errorf("%+v", list)
	}
}

// What is on another file system is not counted here, nor is memory that only has a file's name.
func TestDeletedFilesOfOtherFileSystemsAreNotCounted(t *testing.T) {
	fd, err := unix.MemfdCreate("x", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, 1<<20); err != nil {
		t.Fatal(err)
	}
	s := New("/")
	d, err := s.Deleted(t.Context(), diskusage.Place{FileSystem: diskusage.Mounted{DeviceMajor: 4000, DeviceMinor: 1}})
	if err != nil || slices.ContainsFunc(d.Files, func(f diskusage.DeletedFile) bool { return f.PID == os.Getpid() }) {
		t.Errorf("%+v, %v", d, err)
	}
}

// The mounts of a namespace that was left are in no table, and what is open there still fills the disk.
func TestDeletedFilesOfALeftMountNamespaceAreFound(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const script = `cd "$0" && dd if=/dev/zero of=big bs=1M count=1 2>/dev/null && exec 7<big && rm big && exec unshare --mount sleep 600`
	c := exec.Command("unshare", "--mount", "/bin/sh", "-c", script, dir)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	testenv.WaitFor(t, "sleep runs", func() bool {
		p, err := procfs.New("/").Process(c.Process.Pid)
		return err == nil && p.Name == "sleep"
	})
	if list := deletedIn(t, dir); len(list) != 1 || list[0].PID != c.Process.Pid || list[0].Bytes < 1<<20 {
		t.Errorf("%+v", list)
	}
}

// A process in a container has other mounts: the files of an overlay are where its upper directory is.
func TestOpenFilesOfContainersAreThoseOfOverlays(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"proc/self/mountinfo": host, "upper/x": "",
		"proc/7/mountinfo": "90 1 0:60 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/upper,workdir=/w\n91 90 8:1 /v /data rw - ext4 /dev/sda1 rw\n92 90 0:61 / /far rw - nfs4 n:/ rw\n93 90 0:62 / /o rw - overlay overlay rw,upperdir=/gone\n94 90 0:63 / /p rw - overlay overlay rw,upperdir=upper\n",
	})
	upper, err := procfs.StatNamed(filepath.Join(root, "upper"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFinder(New(root), diskusage.Place{FileSystem: diskusage.Mounted{DeviceMajor: 8, DeviceMinor: 1}})
	f.devices = []uint64{7, upper.Device}
	for _, c := range []struct {
		pid     int
		about   string
		device  uint64
		want    bool
		unknown int
	}{
		{7, "pos:\t0\nflags:\t0100001\nmnt_id:\t90\n", 1, true, 0}, {7, "mnt_id:\t91\n", 1, true, 0}, {7, "mnt_id:\t92\n", 7, false, 0}, {7, "mnt_id:\tx\n", 1, false, 0}, {7, "", 1, false, 0},
		{8, "mnt_id:\t20\n", 1, true, 0}, {8, "mnt_id:\t24\n", 7, false, 0}, {8, "mnt_id:\t900\n", 1, false, 0}, {8, "mnt_id:\t900\n", 7, true, 0}, {8, "", 7, true, 0},
		{7, "mnt_id:\t93\n", 7, false, 1}, {7, "mnt_id:\t94\n", 8, false, 2},
	} {
		id, told := parseMountID([]byte(c.about))
		if got := f.isHere(c.pid, id, told, procfs.Held{Device: c.device}); got != c.want || len(f.unknown) != c.unknown {
			t.Errorf("%d, %q: %v, unknown %v", c.pid, c.about, got, f.unknown)
		}
	}
}

// holding starts a program in namespaces of its own that mounts an overlay at /srv/o over a directory, and holds
// a deleted file of a mebibyte in it.
func holding(t *testing.T, script, dir string, command ...string) (pid int) {
	t.Helper()
	const hold = ` && cd /srv/o && exec 7>gone && head -c 1048576 /dev/zero >&7 && rm gone && echo ready && exec sleep 600`
	c := exec.Command(command[0], append(command[1:], "/bin/sh", "-c", script+hold, dir)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err := errors.Join(err, c.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	said, err := bufio.NewReader(out).ReadString('\n')
	testenv.Need(t, err == nil, "overlays, in namespaces of users too: "+said)
	return c.Process.Pid
}

// The files of an overlay are counted where root put them. What a user mounts is nowhere, whatever they call it.
func TestDeletedFilesInOverlaysAreCountedWhereTheyAre(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	unshare, setpriv := testenv.Program(t, "unshare", "util-linux"), testenv.Program(t, "setpriv", "util-linux")
	const mount = `mount -t overlay -o lowerdir=$0/l,upperdir=$0/u,workdir=$0/w o /srv/o`
	if out, err := exec.Command("/bin/sh", "-ec", `mount -t tmpfs -o size=64m t /mnt; mount -t tmpfs -o size=64m t /srv; mkdir /srv/o
		for d in /mnt/a /mnt/b /srv/c; do mkdir $d $d/l $d/u $d/w; done
		mount -t overlay o -o lowerdir=/mnt/a/l,upperdir=/mnt/a/u,workdir=/mnt/a/w /srv/o`).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	here := holding(t, "true", "/mnt/a", unshare, "--mount")
	inside, other := holding(t, mount, "/mnt/b", unshare, "--mount"), holding(t, mount, "/srv/c", unshare, "--mount")
	user := holding(t, `mount -t tmpfs t /mnt && mkdir -p /mnt/a/l /mnt/a/u /mnt/a/w && `+mount+` -o userxattr`, "/mnt/a",
		setpriv, "--reuid", "1500", "--regid", "1500", "--clear-groups", unshare, "--user", "--map-root-user", "--mount")
	s := New("/")
	for dir, want := range map[string][]int{"/mnt": {here, inside}, "/srv": {other}} {
		place, err := s.Place(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Deleted(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, f := range d.Files {
			if got = append(got, f.PID); f.Bytes != 1<<20 {
				t.Errorf("%s: %+v", dir, f)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: held by %v, want %v; the user's is %d", dir, got, want, user)
		}
		if diff := cmp.Diff(answer.Gaps{{Field: "deleted_open", Reason: "1 deleted file of user 1500 in overlays of containers, where is not known, are not counted"}}, d.Gaps); diff != "" {
			t.Errorf("%s: %s", dir, diff)
		}
	}
}

func TestServicesOfControlGroups(t *testing.T) {
	for group, want := range map[string]string{
		"/system.slice/nginx.service":                               "nginx.service",
		"/system.slice/system-getty.slice/getty@tty1.service/x":     "getty@tty1.service",
		"/user.slice/user-1000.slice/user@1000.service/app.service": "",
		"/user.slice/user-1000.slice/session-2.scope":               "",
		"/": "",
	} {
		if got := serviceOf(group); got != want {
			t.Errorf("%s: %q, want %q", group, got, want)
		}
	}
}

func TestProcessesThatWereNotLookedAtAreSaid(t *testing.T) {
	gaps := gapsOf([]procfs.Skipped{{PID: 1, Err: fs.ErrPermission}, {PID: 2, Err: fs.ErrPermission}, {PID: 3, Err: procfs.ErrManyFiles}, {PID: 4, Err: unix.ENAMETOOLONG}}, true)
	if len(gaps) != 4 || !strings.HasPrefix(gaps[0].Reason, "the open files of 2 processes") || !strings.HasPrefix(gaps[1].Reason, "1 process has") || gaps[2].Reason != "not all open files of 1 process could be looked at: file name too long" {
		t.Errorf("%+v", gaps)
	}
	if gaps := gapsOf(nil, false); len(gaps) != 0 {
		t.Errorf("%+v", gaps)
	}
}

func FuzzMountID(f *testing.F) {
	f.Add([]byte("pos:\t0\nflags:\t02\nmnt_id:\t29\nino:\t5\n"))
	f.Add([]byte("mnt_id:\t-1\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if n, ok := parseMountID(raw); ok && (n < 0 || !strings.Contains(string(raw), "mnt_id:")) {
			t.Errorf("%d", n)
		}
	})
}

// A user moves what they have mounted far away, and the others are told.
func TestAMountThatAUserMovesFarAwayHidesNoOther(t *testing.T) {
	far := "29 20 0:50 / /home/ann" + strings.Repeat("/"+strings.Repeat(`\040`, 250), 75) + "/a/mnt rw,nosuid,nodev - fuse.x x rw,user_id=54321\n"
	s := New(testenv.Plant(t, map[string]string{"proc/self/mountinfo": far + host}))
	p, err := s.Place(t.Context(), "/home/ann")
	if err != nil || p.FileSystem.Mountpoint != "/home" || p.FileSystem.Device != "/dev/sda2" || len(p.Below) != 1 || p.Below[0].Path != "/home/ann/remote" {
		t.Errorf("%+v, %v", p, err)
	}
}

// A deleted file that no descriptor leads to any more is said, as long as the kernel tells of it.
func TestADeletedFileThatIsRegisteredIsSaid(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	gone, err := unix.Open(filepath.Join(t.TempDir(), "gone"), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", gone))
	if err := errors.Join(err, os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	testenv.Register(t, gone)
	registered := false
	_, err = procfs.New("/").OpenFiles(t.Context(), []int{os.Getpid()}, func(f procfs.OpenFile) bool {
		registered = registered || f.Registered()
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	testenv.Need(t, registered, "Linux 6.14 tells what is registered with io_uring")
	s := New("/")
	place, err := s.Place(t.Context(), filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Deleted(t.Context(), place)
	want := fmt.Sprintf("without 1 deleted file of any file system that process %d registered with io_uring, whose size is not known", os.Getpid())
	if len(d.Files) != 0 || len(d.Gaps) != 1 || d.Gaps[0].Reason != want || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
}

// Of a deleted file that is registered with io_uring and has no descriptor, no size is told; one that is open beside that
// is found by its descriptor.
func TestDeletedFilesThatAreRegisteredAreSaid(t *testing.T) {
	for what, c := range map[string]struct {
		opened, registered []namedFile
		want               string
	}{
		"none":           {},
		"open, too":      {opened: []namedFile{{7, "/a"}}, registered: []namedFile{{7, "/a"}}},
		"one":            {opened: []namedFile{{8, "/a"}, {7, "/b"}}, registered: []namedFile{{7, "/a"}}, want: "without 1 deleted file of any file system that process 7 registered with io_uring, whose size is not known"},
		"of two of them": {registered: []namedFile{{9, "/a"}, {7, "/a"}, {7, "/b"}}, want: "without 3 deleted files of any file system that process 7 and 1 other registered with io_uring, whose size is not known"},
	} {
		f := newFinder(New("/"), diskusage.Place{})
		for _, h := range c.opened {
			f.opened[h] = true
		}
		for _, h := range c.registered {
			f.registered[h] = true
		}
		var gaps answer.Gaps
		f.noteRegistered(&gaps)
		if c.want == "" && len(gaps) != 0 || c.want != "" && (len(gaps) != 1 || gaps[0].Reason != c.want) {
			t.Errorf("%s: %+v", what, gaps)
		}
	}
}
