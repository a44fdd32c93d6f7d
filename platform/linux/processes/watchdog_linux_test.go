// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
	"sentinel/internal/testenv"
)

// The device is /dev/null under the name of a watchdog: to open a real one resets the machine.
func TestAWatchdogThatAProcessHoldsIsFound(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	null := filepath.Join(t.TempDir(), "null")
	bind(t, "/dev/null", null)
	for _, dir := range []string{"/dev", "/sys"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
	}
	bind(t, null, "/dev/watchdog7")
	held := func() string {
		var f processes.Facts
		NewTerminator("/").Holdings(t.Context(), map[int]*processes.Facts{os.Getpid(): &f}, nil, true)
		return f.Watchdog
	}
	var open *os.File
	for _, name := range []string{"/dev/watchdog8", "/dev/watchdog7"} {
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		open = file
		if got := held(); got != "" {
			t.Errorf("%s is no watchdog: %q", name, got)
		}
	}
	if err := os.MkdirAll("/sys/class/watchdog/watchdog7", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/sys/class/watchdog/watchdog7/dev", []byte("1:3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := held(); got != "/dev/watchdog7" {
		t.Errorf("%q", got)
	}
	open.Close()
	if _, err := unix.Open("/dev/watchdog7", unix.O_PATH|unix.O_CLOEXEC, 0); err != nil { // anybody can
		t.Fatal(err)
	}
	if got := held(); got != "" {
		t.Errorf("what is only named is held: %q", got)
	}
}

// bind makes a file of another one.
func bind(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(to, unix.MNT_DETACH) }) // or its directory cannot be removed
}
