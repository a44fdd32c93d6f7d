// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// exiting is PF_EXITING (include/linux/sched.h).
const exiting = 0x4

// statOf is the stat file of a process called x with PID 7.
func statOf(state string, flags, threads, start int) string {
	return fmt.Sprintf("7 (x) %s 1 7 7 0 -1 %d 0 0 0 0 0 0 0 0 20 0 %d 0 %d 0 0\n", state, flags, threads, start)
}

// procTree makes a root whose files are named below /proc, and links where the content begins with "->".
func procTree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		at := filepath.Join(root, "proc", name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		put := func() error { return os.WriteFile(at, []byte(content), 0o644) }
		if to, ok := strings.CutPrefix(content, "->"); ok {
			put = func() error { return os.Symlink(to, at) }
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// Any user can have each thread start the next one and end, so that the one that is looked at has always
// ended: that is said, and hides nothing.
func TestThreadsThatEndHideNoProcess(t *testing.T) {
	const changing = `the program of "x" (PID 7): its threads change while they are looked at`
	headless := statOf("Z", exiting, 2, 50)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no thread is listed":               {map[string]string{"7/stat": headless, "7/task/7/stat": headless}, changing},
		"all that are listed have ended":    {map[string]string{"7/stat": headless, "7/task/8/stat": headless}, changing},
		"it ended before its program":       {map[string]string{"7/stat": headless, "7/task/8/exe": "->/bin/x"}, changing},
		"it ended before its arguments":     {map[string]string{"7/stat": headless, "7/task/8/exe": "->/bin/x", "8/exe": "->/bin/x"}, changing},
		"it ended after its arguments":      {map[string]string{"7/stat": headless, "7/task/8/exe": "->/bin/x", "8/exe": "->/bin/x", "8/cmdline": ""}, changing},
		"another process has its number":    {map[string]string{"7/stat": headless, "7/task/8/exe": "->/bin/x", "8/exe": "->/bin/x", "8/cmdline": "", "8/task/8/stat": ""}, changing},
		"it stays":                          {map[string]string{"7/stat": headless, "7/task/8/exe": "->/bin/x", "8/exe": "->/bin/x", "8/cmdline": "", "8/task/7/stat": ""}, ""},
		"the first one has ended just now":  {map[string]string{"7/stat": statOf("R", exiting, 2, 50)}, changing},
		"the last one ends":                 {map[string]string{"7/stat": statOf("R", exiting, 1, 50)}, ""},
		"the process has ended":             {map[string]string{"7/stat": statOf("Z", exiting, 1, 50)}, ""},
		"it has no program":                 {map[string]string{"7/stat": statOf("S", 0, 2, 50)}, ""},
		"the first one lives on, by execve": {map[string]string{"7/stat": statOf("S", 0, 1, 50), "7/exe": "->/bin/x", "7/cmdline": ""}, ""},
	} {
		got := ""
		found, err := New(procTree(t, c.files)).disguises(t.Context(), testenv.HangLimit)
		if err != nil {
			got = err.Error()
		}
		if got != c.want || len(found) != 0 {
			t.Errorf("%s: %+v, %q, want %q", name, found, got, c.want)
		}
	}
}

// Whoever has the number of a process that has ended was not in the table, and is not named as it.
func TestAProcessThatEndedIsNotLookedAtAgain(t *testing.T) {
	root := procTree(t, map[string]string{"7/stat": statOf("Z", exiting, 2, 50)})
	s := New(root)
	if _, _, err := s.Recent(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "proc/7/stat"), []byte(statOf("S", 0, 1, 90)), 0o644); err != nil {
		t.Fatal(err)
	}
	if found, err := s.disguises(t.Context(), testenv.HangLimit); err != nil || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}
