// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/testenv"
)

// The engine of a user may say that anybody's process is its container's.
func TestAUserHasNoProcessesOfOthers(t *testing.T) {
	testenv.Need(t, os.Getuid() == 0, "root, who can become a user")
	status := func(uid int) string { return fmt.Sprintf("Name:\tx\nUid:\t%d\t%[1]d\t%[1]d\t%[1]d\n", uid) }
	root := testenv.Plant(t, map[string]string{
		"etc/passwd": "root:x:0:0::/root:/bin/sh\nana:x:1000:1000::/home/ana:/bin/sh\n", "etc/subuid": "ana:100000:65536\nbo:200000:65536\n",
		"proc/11/status": status(1000), "proc/12/status": status(100999), "proc/13/status": status(0), "proc/14/status": status(200999), "run/user/1000/x": "",
	})
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
				for pid := 11; pid <= 15; pid++ {
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
	if diff := cmp.Diff(map[string]int{"11": 11, "12": 12, "13": 0, "14": 0, "15": 0}, got); diff != "" {
		t.Error(diff)
	}
	want := answer.Gaps{}
	want.Note("engines."+filepath.Join(dir, "docker.sock"), "of 2 containers it names a process that is not its user's, which is left out")
	if diff := cmp.Diff(want, gaps); diff != "" {
		t.Error(diff)
	}
}
