// SPDX-License-Identifier: Apache-2.0

package sensors

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// TestMain makes the test binary the child, as sentinel does itself. The name under which it runs
// chooses the behavior of the child.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == Argument {
		child()
	}
	os.Exit(m.Run())
}

func child() {
	read := func() ([]Reading, error) { return []Reading{{"PMU tdie1", 48.25}}, nil }
	switch {
	case bytes.HasSuffix([]byte(os.Args[0]), []byte("crash")):
		panic("as if it crashed")
	case bytes.HasSuffix([]byte(os.Args[0]), []byte("hang")):
		<-time.After(time.Hour)
	case bytes.HasSuffix([]byte(os.Args[0]), []byte("refused")):
		read = func() ([]Reading, error) { return nil, errors.New("no IOKit") }
	}
	if err := Serve(os.Stdout, read); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// as is the test program under another name.
func as(t *testing.T, name string) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/" + name
	if err := os.Symlink(own, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadRunsTheChild(t *testing.T) {
	got, err := Read(t.Context(), sysexec.Host{}, as(t, "sentinel"))
	if err != nil || !slices.Equal(got, []Reading{{"PMU tdie1", 48.25}}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Read(t.Context(), sysexec.Host{}, as(t, "refused")); err == nil || err.Error() != "the sensors cannot be read: no IOKit" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestACrashOrAHangInTheChildIsAnError(t *testing.T) {
	if got, err := Read(t.Context(), sysexec.Host{}, as(t, "crash")); err == nil {
		t.Errorf("%v without an error", got)
	}
	testenv.HangGuard(t)
	if got, err := Read(t.Context(), sysexec.Host{}, as(t, "hang")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v", got, err)
	}
}

// late is a child that crashes after printing.
type late struct{}

func (late) Run(context.Context, sysexec.Command) (sysexec.Result, error) {
	return sysexec.Result{Stdout: []byte(`{"sensors":[]}`), Exit: 139}, nil
}

func TestFailures(t *testing.T) {
	if got, err := Read(t.Context(), late{}, "/usr/local/bin/sentinel"); err == nil {
		t.Errorf("a crash after the output: %v", got)
	}
	if _, err := Read(t.Context(), sysexec.Host{}, ""); !errors.Is(err, errUnknown) {
		t.Error(err)
	}
	if _, err := Read(t.Context(), sysexec.Host{}, t.TempDir()+"/missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, text := range []string{"", "{", "panic: x", "[]"} {
		if got, err := parse([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"sensors":[{"name":"PMU tdie1","celsius":48.25}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if list, err := parse(raw); err != nil && list != nil {
			t.Errorf("%v beside %v", list, err)
		}
	})
}
