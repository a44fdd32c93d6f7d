// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/containers"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/unix/engine"
)

// The engine of a user may say that anybody's process is its container's.
func TestAUserHasNoProcessesOfOthers(t *testing.T) {
	testenv.Need(t, os.Getuid() == 0, "root, who can become a user")
	status := func(uid int) string { return fmt.Sprintf("Name:\tx\nUid:\t%d\t%[1]d\t%[1]d\t%[1]d\n", uid) }
	root := testenv.Plant(t, map[string]string{
		"etc/passwd": "root:x:0:0::/root:/bin/sh\nana:x:1000:1000::/home/ana:/bin/sh\n", "etc/subuid": "ana:100000:65536\nbo:200000:65536\n",
		"proc/11/status": status(1000), "proc/12/status": status(100999), "proc/13/status": status(0), "proc/14/status": status(200999), "run/user/1000/x": "",
		"proc/16/x": "", "proc/17/x": "", // in user namespaces, where the status file may be expensive
	})
	for pid, uid := range map[string]int{"16": 100_005, "17": 200_005} {
		at := filepath.Join(root, "proc", pid)
		if err := errors.Join(os.Mkdir(at+"/ns", 0o755), os.Symlink("user:[1]", at+"/ns/user"), os.Chown(at, uid, uid)); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(root, "run", "user", "1000")
	open := func(parts ...string) error {
		return os.Chmod(filepath.Join(append([]string{root}, parts...)...), 0o755)
	}
	if err := errors.Join(open(".."), open("run"), open("run", "user"), os.Chown(dir, 1000, 1000)); err != nil {
		t.Fatal(err)
	}
	l := testenv.ListenAs(t, 1000, filepath.Join(dir, "docker.sock"))
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch path := r.URL.Path; path {
			case "/version":
				fmt.Fprint(w, `{"Version":"28.1","ApiVersion":"1.49"}`)
			case "/containers/json":
				var rows []string
				for pid := 11; pid <= 17; pid++ {
					rows = append(rows, fmt.Sprintf(`{"Id":"%064d","Names":["/%[1]d"],"State":"running"}`, pid))
				}
				fmt.Fprint(w, "["+strings.Join(rows, ",")+"]")
			default:
				var pid int
				_, _ = fmt.Sscanf(path, "/containers/%d/json", &pid)
				fmt.Fprintf(w, `{"State":{"Status":"running","Pid":%d}}`, pid)
			}
		}))
	}()
	gaps := answer.Gaps{}
	_, list, err := Source(root).Containers(t.Context(), &gaps)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, f := range list {
		got[f.Name] = f.PID
	}
	if diff := cmp.Diff(map[string]int{"11": 11, "12": 12, "13": 0, "14": 0, "15": 0, "16": 16, "17": 0}, got); diff != "" {
		t.Error(diff)
	}
	want := answer.Gaps{}
	want.Note("engines."+filepath.Join(dir, "docker.sock"), "of 3 containers it names a process that is not its user's, which is left out")
	if diff := cmp.Diff(want, gaps); diff != "" {
		t.Error(diff)
	}
}

// An engine may name one process for each of as many containers as it likes.
func TestAProcessIsAskedForItsUserOnce(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"proc/11/status": "Uid:\t1000\t0\t0\t0\n", "proc/12/status": "Uid:\t1000\t0\t0\t0\n"})
	ctx, cancel := context.WithCancel(t.Context())
	user := usersOf(ctx, procfs.New(root))
	for range 2 {
		if uid, err := user(11); uid != 1000 || err != nil {
			t.Errorf("%d, %v", uid, err)
		}
		if err := os.RemoveAll(filepath.Join(root, "proc", "11")); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if uid, err := user(12); !errors.Is(err, context.Canceled) {
		t.Errorf("for a caller that left: %d, %v", uid, err)
	}
	list, gaps := []containers.Facts{{PID: 12}}, answer.Gaps{}
	disown(engine.Socket{Owner: 1000}, usersOf(ctx, procfs.New(root)), list, &gaps)
	if list[0].PID != 0 || len(gaps) != 0 {
		t.Errorf("a process whose user was not asked for: %+v, %v", list, gaps)
	}
}

// What is said to be a container may be a process that its user keeps from being read.
func TestAContainerThatIsKeptFromBeingRead(t *testing.T) {
	testenv.HangGuard(t)
	root := testenv.Plant(t, map[string]string{"proc/7/task/": "", "run/keep": ""})
	for _, file := range []string{"stat", "status", "cgroup"} {
		testenv.PlantStuck(t, filepath.Join(root, "proc/7", file))
	}
	proc := procfs.New(root)
	if raw, err := membership(proc, 7); !errors.Is(err, procfs.ErrStuck) {
		t.Errorf("its control groups: %q, %v", raw, err)
	}
	if uid, err := usersOf(t.Context(), procfs.New(root))(7); !errors.Is(err, procfs.ErrStuck) {
		t.Errorf("its user: %d, %v", uid, err)
	}
}
