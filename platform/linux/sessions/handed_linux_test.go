// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// startAtTerminal runs a command at a terminal of its own, and reads away what it says.
func startAtTerminal(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	master, terminal := testenv.Terminal(t)
	go io.Copy(io.Discard, master)
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

// The shell of systemd-run is started by process 1, at a terminal that systemd-run serves. A terminal of another mount
// of devpts may have the same number.
func TestWhoServesATerminalIsFoundInTheOwnDevptsAlone(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	shell := startAtTerminal(t, "systemd-run", "--quiet", "--pty", "--unit=shell", "sleep", "1000")
	var first int
	testenv.WaitFor(t, "the shell", func() bool {
		out, err := exec.Command("systemctl", "show", "--value", "--property=MainPID", "shell").Output()
		first, _ = strconv.Atoi(strings.TrimSpace(string(out)))
		return err == nil && first != 0
	})
	const own = `mount -t devpts -o newinstance,ptmxmode=666 devpts /dev/pts && exec script --quiet --command "touch /run/served; exec sleep 1000" /dev/null`
	startAtTerminal(t, "unshare", "--mount", "sh", "-c", own)
	testenv.WaitFor(t, "the other devpts", func() bool { _, err := os.Stat("/run/served"); return err == nil })

	r := New("/")
	files, err := r.proc.FileReader()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	pass := r.reading(files)
	defer pass.leave()
	table, err := pass.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	serving, err := pass.Serving(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	terminals := map[int]string{}
	for _, p := range table.Processes {
		terminals[p.PID] = p.Terminal
	}
	if got := serving[terminals[first]]; !slices.Equal(got, []int{shell.Process.Pid}) {
		t.Errorf("%s of process %d is served by %v, not %d", terminals[first], first, got, shell.Process.Pid)
	}
	for terminal, pids := range serving {
		for _, pid := range pids {
			name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
			if err != nil || string(name) == "script\n" {
				t.Errorf("%s is served by %q, %v", terminal, name, err)
			}
		}
	}
}
