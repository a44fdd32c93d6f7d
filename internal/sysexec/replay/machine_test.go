// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

func TestMachineAnswersAgainAndAgain(t *testing.T) {
	base := testenv.Plant(t, map[string]string{
		"ps.txtar":       "argv: /bin/ps -a\nexit: 1\n-- stdout --\nfirst\n",
		"ps-later.txtar": "argv: /bin/ps -a\n-- stdout --\nother\n",
		"who.txtar":      "argv: /usr/bin/who\n-- stdout --\nnobody\n",
		"gone.txtar":     "argv: /bin/gone\nerror: missing\n",
		"slow.txtar":     "argv: /bin/slow\nerror: hang\n",
		"big.txtar":      "argv: /bin/big\nerror: flood\n-- stdout --\npart\n",
	})
	over := testenv.Plant(t, map[string]string{"who.txtar": "argv: /usr/bin/who\n-- stdout --\nroot\n"})
	m, err := OpenMachine(base, over)
	if err != nil {
		t.Fatal(err)
	}
	var unknown []string
	m.Unknown = func(argv string) { unknown = append(unknown, argv) }
	run := func(path string, args ...string) (sysexec.Result, error) {
		return m.Run(t.Context(), sysexec.Command{Path: path, Args: args, Timeout: time.Millisecond})
	}
	for _, want := range []string{"other\n", "first\n", "first\n"} {
		if r, err := run("/bin/ps", "-a"); err != nil || string(r.Stdout) != want {
			t.Errorf("ps printed %q, %v; want %q", r.Stdout, err, want)
		}
	}
	if r, err := run("/usr/bin/who"); err != nil || string(r.Stdout) != "root\n" {
		t.Errorf("who printed %q, %v", r.Stdout, err)
	}
	for path, want := range map[string]error{
		"/bin/gone": fs.ErrNotExist, "/bin/slow": context.DeadlineExceeded, "/bin/big": sysexec.ErrOutputTooLarge, "/bin/none": fs.ErrNotExist,
	} {
		if _, err := run(path); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if len(unknown) != 1 || unknown[0] != "/bin/none" {
		t.Errorf("unknown commands: %q", unknown)
	}
}

func TestMachineWithoutTranscriptsIsAnError(t *testing.T) {
	if _, err := OpenMachine(t.TempDir()); err == nil {
		t.Error("no error")
	}
}
