// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// Whoever draws on a terminal has it open. To name it in a descriptor with O_PATH takes no right on it.
func TestATerminalThatIsOnlyNamedIsNotOpen(t *testing.T) {
	_, terminal := testenv.Terminal(t)
	name := strings.TrimPrefix(terminal.Name(), "/dev/")
	named, err := unix.Open(terminal.Name(), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(named)
	if open := terminals(t); !slices.Contains(open, name) {
		t.Errorf("%s is open, and not among %v", name, open)
	}
	terminal.Close()
	if open := terminals(t); slices.Contains(open, name) {
		t.Errorf("%s is only named: %v", name, open)
	}
}

// terminals lists those that this run has open.
func terminals(t *testing.T) []string {
	t.Helper()
	r := &reading{Reader: New("/")}
	files, err := r.proc.FileReader()
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	r.files = files
	open, err := r.Open(t.Context(), os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return open.Terminals
}
