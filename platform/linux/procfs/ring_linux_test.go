// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

const ringFile = "pos:\t0\nflags:\t02000002\nmnt_id:\t17\nino:\t4025\nSqMask:\t0x7\nSQEs:\t1\n    0: opcode:1, fd:3\nSqThread:\t-1\n" +
	"UserFiles:\t4\n    0: socket:[4026]\n    2: /mnt/a\\040b\\011\\012\\134c\\040(deleted)\n12345: /mnt/\\x\\9\\777\\04\n" +
	"UserBufs:\t1\n    0: 0x7f00/4096\nPollList:\n  op=13, task_works=0\n    7: socket:[7]\n"

func TestFilesOfARing(t *testing.T) {
	for what, c := range map[string]struct {
		about string
		want  []string
		told  bool
	}{
		"all":                     {ringFile, []string{"socket:[4026]", "/mnt/a b\t\n\\c (deleted)", `/mnt/\x\9\777\04`}, true},
		"none":                    {"UserFiles:\t8\nUserBufs:\t0\n", nil, true},
		"one whose end was cut":   {"UserFiles:\t2\n    0: socket:[1]\n    1: socket:[22", []string{"socket:[1]"}, true},
		"a ring that is in use":   {"pos:\t0\nflags:\t02\nmnt_id:\t17\nino:\t4025\n", nil, false},
		"cut before its files":    {"SqMask:\t0x7\n    0: socket:[1]\nUserFi", nil, false},
		"nothing":                 {"", nil, false},
		"a slot without a number": {"UserFiles:\t1\n     : socket:[1]\n", nil, true},
	} {
		links, told := ringFiles([]byte(c.about))
		var got []string
		for _, link := range links {
			got = append(got, string(link))
		}
		if !slices.Equal(got, c.want) || told != c.told {
			t.Errorf("%s: %q, %t", what, got, told)
		}
	}
}

func FuzzRing(f *testing.F) {
	f.Add([]byte(ringFile), []byte("/mnt/a b\\c"))
	f.Add([]byte("UserFiles:\t1\n    0: \\"), []byte("\n\t \\134"))
	f.Fuzz(func(t *testing.T, about, name []byte) {
		links, told := ringFiles(about)
		if len(links) > 0 && (!told || !bytes.Contains(about, []byte("UserFiles:"))) {
			t.Errorf("%q", links)
		}
		escaped := strings.NewReplacer("\\", `\134`, "\n", `\012`, "\t", `\011`, " ", `\040`).Replace(string(name))
		if links, _ := ringFiles([]byte("UserFiles:\t1\n    0: " + escaped + "\n")); len(links) != 1 || !bytes.Equal(links[0], name) {
			t.Errorf("%q came back as %q", name, links)
		}
	})
}

func TestKernelsThatTellWhatIsRegistered(t *testing.T) {
	for release, want := range map[string]bool{
		"6.14.0-15-generic": true, "6.18.44": true, "7.0-rc1": true, "6.14": true, "10.1": true,
		"6.13.9": false, "6.8.0-51-generic": false, "5.15.0": false, "6": false, "x.14": false, "": false,
	} {
		if got := atLeast(release, 6, 14); got != want {
			t.Errorf("%q: %t", release, got)
		}
	}
}

// plantedRing is a process 9 with a ring of which that is told.
func plantedRing(t *testing.T, release, about string) FS {
	t.Helper()
	root := testenv.Plant(t, map[string]string{"proc/9/fd/": "", "proc/9/fdinfo/3": about, "proc/sys/kernel/osrelease": release + "\n"})
	if err := os.Symlink(ringLink, filepath.Join(root, "proc/9/fd/3")); err != nil {
		t.Fatal(err)
	}
	return New(root)
}

// What is registered counts as files of the user's, and what is not read is said.
func TestFilesOfARingAreBounded(t *testing.T) {
	many := "UserFiles:\t9\n" + strings.Repeat("    0: socket:[4026]\n", maxRing/20)
	for what, c := range map[string]struct {
		release, about string
		read, files    int // before, and that are visited, with the ring
		err            error
	}{
		"all":                   {"6.14.0", ringFile, 0, 4, nil},
		"an older kernel":       {"6.13.9", ringFile, 0, 1, nil},
		"the last that is read": {"6.14.0", ringFile, userFiles - 2, 2, ErrManyFiles},
		"no more":               {"6.14.0", ringFile, userFiles - 1, 1, ErrManyFiles},
		"a ring that is in use": {"6.14.0", "pos:\t0\n", 0, 1, ringInUse{}},
		"cut before its files":  {"6.14.0", strings.Repeat("x", maxRing+1), 0, 1, ErrManyFiles},
		"more than is read":     {"6.14.0", many, 0, userFiles, ErrManyFiles},
	} {
		r := reader(t, plantedRing(t, c.release, c.about))
		r.read[1500] = c.read
		files := 0
		err := r.files(candidate{pid: 9, uid: 1500}, func(OpenFile) bool { files++; return true })
		if files != c.files || !errors.Is(err, c.err) || r.read[1500] != c.read+c.files {
			t.Errorf("%s: %d files, %v; %d count", what, files, err, r.read[1500])
		}
	}
	r := reader(t, plantedRing(t, "6.14.0", many))
	files := 0
	if err := r.files(candidate{pid: 9}, func(OpenFile) bool { files++; return true }); files < maxRing/21 || !errors.Is(err, ErrManyFiles) {
		t.Errorf("of root %d files, %v", files, err)
	}
	inUse := reader(t, plantedRing(t, "6.14.0", "pos:\t0\n"))
	if err := inUse.files(candidate{pid: 9}, func(OpenFile) bool { return true }); err != nil {
		t.Errorf("root's ring that is in use: %v", err)
	}
	files = 0
	if err := r.files(candidate{pid: 9}, func(OpenFile) bool { files++; return files < 3 }); files != 3 || err != nil {
		t.Errorf("%d files after the third was enough, %v", files, err)
	}
}

// A process whose user was not asked for, and that is shown as root's, has its rings read on the account of that user:
// anybody can have a ring take long.
func TestRingsCountForTheirUser(t *testing.T) {
	fs := paper(t, onPaper{9, 1, "1500\t1500\t1500\t1500", false, ""})
	dir := strings.TrimSuffix(fs.dir, "/proc")
	for name, text := range map[string]string{"proc/9/fdinfo/3": "pos:\t0\n", "proc/sys/kernel/osrelease": "6.14.0\n"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(dir+"/proc/9/fd", 0o755), os.Symlink(ringLink, dir+"/proc/9/fd/3")); err != nil {
		t.Fatal(err)
	}
	r := reader(t, fs)
	err := r.files(candidate{pid: 9}, func(OpenFile) bool { return true })
	if least := (ringTries - 1) * ringPause; !errors.Is(err, ErrManyFiles) || r.spent[1500] < least {
		t.Errorf("%v; %v of the user's time were spent", err, r.spent[1500])
	}
	if got := r.whose(candidate{pid: 9}); got.uid != 1500 {
		t.Errorf("%+v", got)
	}
}

// A listener and a deleted file that no descriptor leads to any more are found with the process that registered them.
func TestWhatIsRegisteredWithARingIsFound(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	live := New("/")
	release, err := live.KernelRelease()
	testenv.Need(t, err == nil && atLeast(release, 6, 14), "Linux 6.14")
	file, inode := socketFile(t)
	listener, err := unix.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	path := filepath.Join(t.TempDir(), "a b")
	gone, err := unix.Open(path, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	testenv.Register(t, listener)
	testenv.Register(t, gone)

	var found []string
	skipped, err := live.OpenFiles(t.Context(), []int{os.Getpid()}, func(f OpenFile) bool {
		if f.Registered() {
			found = append(found, string(f.Link))
			held, err := f.Held()
			if f.FD != -1 || f.About() != nil || held != (Held{}) || !errors.Is(err, ErrRegistered) {
				t.Errorf("%d, %q, %+v, %v", f.FD, f.About(), held, err)
			}
			if n, ok := f.Socket(); ok && n != inode {
				t.Errorf("the socket %d, want %d", n, inode)
			}
		}
		return true
	})
	slices.Sort(found)
	if len(found) != 2 || found[0] != path+" (deleted)" || !strings.HasPrefix(found[1], "socket:[") || len(skipped) != 0 || err != nil {
		t.Errorf("%q, %v, %v", found, skipped, err)
	}
	findsOwner(t, live, inode)
}

// findsOwner has this process be the only one that is found to hold a socket.
func findsOwner(t *testing.T, live FS, inode uint64) {
	t.Helper()
	owners, err := live.SocketOwners(context.Background(), map[uint64]int{inode: 0})
	if owners.ByInode[inode].PID != os.Getpid() || err != nil {
		t.Errorf("the owners %+v, %v", owners, err)
	}
	holders, _, err := live.SocketHolders(context.Background(), map[uint64]bool{inode: true})
	if len(holders[inode]) != 1 || holders[inode][0].PID != os.Getpid() || err != nil {
		t.Errorf("the holders %+v, %v", holders, err)
	}
}

// A process that is kept from being read for other reasons is not impossible to end for its rings.
func TestARingOfWhatIsStuckIsABoundOfItsUser(t *testing.T) {
	testenv.HangGuard(t)
	root := testenv.Plant(t, map[string]string{"proc/9/fd/": "", "proc/sys/kernel/osrelease": "6.14.0\n", "run/keep": ""})
	testenv.PlantStuck(t, filepath.Join(root, "proc/9/fdinfo/3"))
	if err := os.Symlink(ringLink, filepath.Join(root, "proc/9/fd/3")); err != nil {
		t.Fatal(err)
	}
	err := reader(t, New(root)).files(candidate{pid: 9, uid: 33}, func(OpenFile) bool { return true })
	if !errors.Is(err, ErrManyFiles) || errors.Is(err, ErrStuck) {
		t.Error(err)
	}
}
