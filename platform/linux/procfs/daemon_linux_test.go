// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// Whoever is not root does not see which program a daemon runs.
func TestTheServiceTellsWhatADaemonIsWhereItsProgramIsHidden(t *testing.T) {
	for group, want := range map[string]bool{
		"/system.slice/chrony.service":                                  true,
		"/system.slice/chronyd.service":                                 true,
		"/system.slice/apache2.service":                                 false,
		"/system.slice/system-chronyd.slice/chronyd@a.service":          true,
		"/system.slice/system-chronyd.slice/x.scope/chronyd@a.service":  false,
		"/system.slice/docker-4f.scope":                                 false,
		"/system.slice/docker-4f.scope/system.slice/chronyd.service":    false,
		"/user.slice/user-1000.slice/user@1000.service/chronyd.service": false,
	} {
		proc := New(testenv.Plant(t, map[string]string{"proc/7/comm": "chronyd\n", "proc/7/cgroup": "0::" + group + "\n"}))
		testenv.Intercept(t, unix.SYS_READLINKAT, func(int) unix.Errno { return unix.EACCES }, func() {
			got, err := proc.Daemon(7, "chronyd", []string{"chronyd"}, os.Geteuid())
			if got != want || errors.Is(err, fs.ErrPermission) == want {
				t.Errorf("%s: %v, %v", group, got, err)
			}
		})
	}
}

// A process that has ended is no daemon, and nothing that was not seen.
func TestAProcessThatEndedIsNoDaemon(t *testing.T) {
	proc := New(testenv.Plant(t, map[string]string{"proc/7/stat": "7 (chronyd) Z 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 50 0 0\n", "proc/7/cgroup": "0::/system.slice/chrony.service\n"}))
	for _, pid := range []int{7, 8} {
		if is, err := proc.Daemon(pid, "chronyd", []string{"chronyd"}, os.Geteuid()); is || err != nil {
			t.Errorf("%d: %t, %v", pid, is, err)
		}
	}
}
