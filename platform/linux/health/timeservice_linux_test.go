// SPDX-License-Identifier: Apache-2.0

package health

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/platform/linux/processes"
)

// A process of a user, or of a service that was taken over, sets no clock for being called so.
func TestATimeServiceIsOfTheSystem(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	sleep, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Mkdir("/mnt/own", 0o755), os.WriteFile("/mnt/own/ptp4l", sleep, 0o755), os.Chown("/mnt/own", 33, 33),
		os.Mkdir("/mnt/system", 0o755), os.WriteFile("/mnt/system/ptp4l", sleep, 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, c := range map[string]struct {
		uid  uint32
		file string
		want float64
	}{
		"the system's":                   {0, "/mnt/system/ptp4l", 0},
		"of an account":                  {33, "/mnt/system/ptp4l", 0},
		"a user's":                       {1500, "/mnt/system/ptp4l", 1},
		"a program of that account's":    {33, "/mnt/own/ptp4l", 1},
		"root's of another one's folder": {0, "/mnt/own/ptp4l", 1},
	} {
		t.Run(what, func(t *testing.T) {
			p := exec.Command(c.file, "600")
			p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.uid, NoSetGroups: true}}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Process.Kill(); p.Wait() })
			testenv.WaitFor(t, "its name", func() bool {
				name, err := os.ReadFile("/proc/" + strconv.Itoa(p.Process.Pid) + "/comm")
				return err == nil && string(name) == "ptp4l\n"
			})
			source := processes.New("/")
			table, _, err := source.Recent(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got, err := missingTimeService(table, source.Daemon); err != nil || got.Value != c.want {
				t.Errorf("%+v, %v, want %v", got, err, c.want)
			}
		})
	}
}
