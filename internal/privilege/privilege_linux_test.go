// SPDX-License-Identifier: Apache-2.0

package privilege

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
)

var errOwn = errors.New("own")

// ids are the user ids of a thread: real, effective, saved, file system; and
// what it may do (proc_pid_status(5)).
func ids(t *testing.T) (uids, groups, caps string) {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(syscall.Gettid()) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.Join(strings.Fields(value), " ")
		switch name {
		case "Uid":
			uids = value
		case "Groups":
			groups = value
		case "CapEff":
			caps = value
		}
	}
	return uids, groups, caps
}

func TestRootIsGivenUpAndTakenBack(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to give it up")
	if !testenv.Inside(t, "env") { // the ids are those of the whole process
		return
	}
	secret := t.TempDir() + "/secret"
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, groupsBefore, capsBefore := ids(t)
	for given, want := range map[int]string{1000: "0 1000 0 1000", 0: "0 65534 0 65534", -1: "0 65534 0 65534", 1<<32 - 1: "0 65534 0 65534", 1<<31 - 1: "0 65534 0 65534"} {
		err := AsUser(given, func() error {
			uids, groups, caps := ids(t)
			if uids != want || groups != "" || strings.Trim(caps, "0") != "" {
				t.Errorf("%d: ids %q, groups %q, capabilities %q", given, uids, groups, caps)
			}
			if _, err := os.ReadFile(secret); !errors.Is(err, os.ErrPermission) {
				t.Errorf("%d: a file of root was read: %v", given, err)
			}
			return errOwn
		})
		if !errors.Is(err, errOwn) {
			t.Errorf("%d: %v", given, err)
		}
		if after, groups, caps := ids(t); after != before || groups != groupsBefore || caps != capsBefore {
			t.Errorf("%d: afterwards ids %q, groups %q, capabilities %q; before %q, %q, %q", given, after, groups, caps, before, groupsBefore, capsBefore)
		}
	}
}

// Each thread has ids of its own in the kernel; the work of f may run on any.
func TestNoThreadStaysRoot(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to give it up")
	if !testenv.Inside(t, "env") {
		return
	}
	const n = 8
	ready, look, seen, done := make(chan bool), make(chan bool), make(chan string), make(chan bool)
	for range n {
		go func() {
			runtime.LockOSThread() // and with it a thread that is there before
			ready <- true
			<-look
			uids, groups, caps := ids(t)
			seen <- uids + "; " + groups + "; " + strings.Trim(caps, "0")
			<-done
		}()
		<-ready
	}
	err := AsUser(1000, func() error {
		close(look)
		for range n {
			if got := <-seen; got != "0 1000 0 1000; ; " {
				t.Errorf("a thread has %q", got)
			}
		}
		return nil
	})
	close(done)
	if err != nil {
		t.Error(err)
	}
}

func TestRootIsTakenBackAfterAPanic(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to give it up")
	if !testenv.Inside(t, "env") {
		return
	}
	before, groupsBefore, capsBefore := ids(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was kept back")
			}
		}()
		AsUser(1000, func() error { panic("x") })
	}()
	if after, groups, caps := ids(t); after != before || groups != groupsBefore || caps != capsBefore {
		t.Errorf("afterwards ids %q, groups %q, capabilities %q; before %q, %q, %q", after, groups, caps, before, groupsBefore, capsBefore)
	}
}

func TestAnOrdinaryUserStaysOne(t *testing.T) {
	if os.Geteuid() == 0 {
		if !testenv.Inside(t, "env") {
			return
		}
		testenv.Become(t, testenv.Nobody)
	}
	if err := AsUser(0, func() error { return errOwn }); !errors.Is(err, errOwn) {
		t.Errorf("%v", err)
	}
}

// With few signals that may wait the runtime would wait for its threads for ever.
func TestRootIsNotGivenUpWhereThreadsAreNotReached(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to give it up")
	if !testenv.Inside(t, "prlimit", "--sigpending=0:") {
		return
	}
	testenv.HangGuard(t)
	err := AsUser(1000, func() error { t.Error("it ran"); return nil })
	if err == nil || !strings.Contains(err.Error(), "RLIMIT_SIGPENDING") {
		t.Errorf("%v", err)
	}
}
