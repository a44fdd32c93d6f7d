// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
)

// What a user calls a process keeps nobody from ending it; what root has put there does.
func TestNamesThatAUserGaveProtectNothing(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	if err := unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	sleep, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		os.WriteFile("/mnt/gnome-shell", []byte("#!/bin/sh\nwhile read -r line; do :; done\n"), 0o755),
		os.Mkdir("/mnt/bin", 0o755), os.WriteFile("/mnt/bin/gnome-shell", sleep, 0o755),
		os.Mkdir("/mnt/own", 0o755), os.WriteFile("/mnt/own/gnome-shell", sleep, 0o755), os.Chown("/mnt/own", 1000, 1000),
	); err != nil {
		t.Fatal(err)
	}
	unshare := testenv.Program(t, "unshare", "util-linux")
	for what, c := range map[string]struct {
		argv      []string // the file, then what it is called, then its arguments
		protected bool
	}{
		"a compositor":              {[]string{"/mnt/bin/gnome-shell", "x", "600"}, true},
		"a script":                  {[]string{"/mnt/gnome-shell", "/mnt/gnome-shell"}, false},
		"an argument":               {[]string{"/bin/sleep", "gnome-shell", "600"}, false},
		"a program of a user":       {[]string{"/mnt/own/gnome-shell", "gnome-shell", "600"}, false},
		"in a namespace of its own": {[]string{unshare, "unshare", "--user", "--map-root-user", "--mount", "--propagation", "private", "/bin/sh", "-c", "mount --bind /bin/sleep /mnt/bin/gnome-shell; exec /mnt/bin/gnome-shell 600"}, false},
	} {
		t.Run(what, func(t *testing.T) {
			p := startedAs(t, 1000, c.argv)
			if what == "in a namespace of its own" {
				testenv.WaitFor(t, "the program", func() bool {
					name, err := os.Readlink("/proc/" + strconv.Itoa(p.Pid) + "/exe")
					return err == nil && name == "/mnt/bin/gnome-shell"
				})
			}
			if what == "a script" {
				testenv.WaitFor(t, "the script", func() bool {
					comm, err := os.ReadFile("/proc/" + strconv.Itoa(p.Pid) + "/comm")
					return err == nil && string(comm) == "gnome-shell\n"
				})
			}
			plan, err := processes.PlanTermination(context.Background(), NewTerminator("/"), processes.Target{PID: p.Pid}, []string{"gnome-shell-x"})
			if refused := err != nil && fault.From(err).Code == fault.ProtectedProcess; refused != c.protected || err != nil && !refused {
				t.Errorf("%v", err)
			}
			if err == nil {
				plan.Close()
			}
		})
	}
}

// startedAs runs a program as a user until the test ends. It reads from a pipe that says nothing.
func startedAs(t *testing.T, uid uint32, argv []string) *os.Process {
	t.Helper()
	c := exec.CommandContext(t.Context(), argv[0])
	c.Args = argv[1:]
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, NoSetGroups: true}}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		c.Process.Kill()
		c.Wait()
	})
	return c.Process
}
