// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// onPaper is a process with its four user IDs, below a parent.
type onPaper struct {
	pid, parent int
	ids         string
	lends       bool
	nested      string // the rest of NSpid
}

func paper(t *testing.T, list ...onPaper) FS {
	t.Helper()
	files := map[string]string{"usr/bin/at": "", "usr/bin/sh": ""}
	for _, p := range list {
		dir := fmt.Sprintf("proc/%d/", p.pid)
		files[dir+"status"] = fmt.Sprintf("Name:\tx\nTgid:\t%d\nTracerPid:\t0\nUid:\t%s\nNSpid:\t%d%s\n", p.pid, p.ids, p.pid, p.nested)
		files[dir+"stat"] = fmt.Sprintf("%d (x) S %d 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n", p.pid, p.parent)
	}
	root := testenv.Plant(t, files)
	errs := []error{os.Chmod(root+"/usr/bin/at", os.ModeSetuid|0o755)}
	for _, p := range list {
		program := "/usr/bin/sh"
		if p.lends {
			program = "/usr/bin/at"
		}
		errs = append(errs, os.Symlink(program, fmt.Sprintf("%s/proc/%d/exe", root, p.pid)))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return New(root)
}

// at(1) has the account that it takes for its real user, exim for all of its users, and sudo root; what they have
// open is what whoever started them had.
func TestAProgramThatLendsRightsBelongsToWhoStartedIt(t *testing.T) {
	const (
		ann      = "1000\t1000\t1000\t1000"
		www      = "33\t33\t33\t33"
		root     = "0\t0\t0\t0"
		exim     = "105\t105\t105\t105"
		fallback = "1\t33\t33\t33"
	)
	r := reader(t, paper(t,
		onPaper{10, 1, ann, false, ""},
		onPaper{11, 10, "1\t1000\t1\t1000", true, ""},
		onPaper{12, 1, "1\t1000\t1\t1000", true, ""},
		onPaper{13, 10, exim, true, ""},
		onPaper{14, 1, exim, true, ""},
		onPaper{15, 10, root, true, ""},
		onPaper{16, 15, root, true, ""},
		onPaper{20, 1, www, false, ""},
		onPaper{21, 20, fallback, true, ""},
		onPaper{22, 1, fallback, true, ""},
		onPaper{30, 1, root, false, ""},
		onPaper{31, 30, root, true, ""},
		onPaper{40, 1, root, false, "\t1"},
		onPaper{41, 40, root, true, "\t7"},
		onPaper{50, 1, exim, false, ""},
	))
	for pid, want := range map[int]struct {
		account int
		kind    kind
	}{
		10: {1000, ofUser}, 11: {1000, ofUser}, 12: {1000, ofUser}, 13: {1000, ofUser}, 15: {1000, ofUser}, 16: {1000, ofUser},
		14: {-int(unclaimed), ofUser}, 22: {-int(unclaimed), ofUser},
		20: {33, ofService}, 21: {33, ofService}, 50: {105, ofService},
		30: {0, ofRoot}, 31: {0, ofRoot},
		40: {-int(contained), ofService}, 41: {-int(contained), ofService},
	} {
		if got := r.owned(candidate{pid: pid}); got.account() != want.account || got.kind() != want.kind {
			t.Errorf("process %d: account %d of kind %d, want %d of %d", pid, got.account(), got.kind(), want.account, want.kind)
		}
	}
}

// Whoever uses up what is read of one account has the files of another read all the same, and root's always.
func TestAccountsHaveBoundsOfTheirOwn(t *testing.T) {
	r := reader(t, New("/"))
	r.read = map[int]int{0: 1 << 30, 33: serviceFiles, 34: userFiles, 1000: userFiles}
	r.spent = map[int]time.Duration{35: filesTime / accountsInTime, 1001: filesTime / accountsInTime}
	for uid, want := range map[int]error{0: nil, 33: ErrManyFiles, 34: nil, 35: ErrManyFiles, 109: nil, 1000: ErrManyFiles, 1001: ErrManyFiles, 1002: nil} {
		if err := r.afford(candidate{uid: uid}); !errors.Is(err, want) {
			t.Errorf("of account %d: %v, want %v", uid, err, want)
		}
	}
	r.all[ofService] = filesTime
	for uid, want := range map[int]error{0: nil, 109: ErrFilesTime, 1002: nil} {
		if err := r.afford(candidate{uid: uid}); !errors.Is(err, want) {
			t.Errorf("with no time for services, of account %d: %v, want %v", uid, err, want)
		}
	}
	if err := r.afford(candidate{pool: contained}); !errors.Is(err, ErrFilesTime) {
		t.Errorf("of root in a container: %v", err)
	}
}

// What a service has open delays none that has less, and nothing of root's.
func TestServicesAreReadOneByOneAfterRoot(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.Need(t, tellsFiles(t), "Linux before 6.2 does not tell how many files a process has open")
	file, _ := socketFile(t)
	busy, quiet := crowd(t, 33, 2, 300, file), crowd(t, 109, 1, 30, file)
	user, roots := crowd(t, quietUser, 1, 10, file), sleeper(t, file, 10)
	got := order(t, reader(t, New("/")), busy[0], user[0], quiet[0], roots, busy[1])
	if want := []int{roots, quiet[0], busy[0], busy[1], user[0]}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}
