// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
)

// ancestor is a process in a planted tree.
type ancestor struct{ pid, parent, start int }

func planted(t *testing.T, list ...ancestor) *Terminator {
	t.Helper()
	files := map[string]string{}
	for _, a := range list {
		files[fmt.Sprintf("proc/%d/stat", a.pid)] = fmt.Sprintf("%d (p%[1]d) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0 0\n", a.pid, a.parent, a.start)
	}
	return NewTerminator(testenv.Plant(t, files))
}

func TestLineageGoesUpToTheFirstProcess(t *testing.T) {
	source := planted(t, ancestor{os.Getpid(), 50, 900}, ancestor{50, 40, 900}, ancestor{40, 1, 300}, ancestor{1, 0, 2})
	got, err := source.Lineage(t.Context())
	if diff := cmp.Diff([]processes.Relative{{PID: 50, Name: "p50"}, {PID: 40, Name: "p40"}, {PID: 1, Name: "p1"}}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestLineageIsWholeOrAnError(t *testing.T) {
	for what, c := range map[string]struct {
		source *Terminator
		want   error
	}{
		"without this process":            {planted(t, ancestor{1, 0, 2}), fs.ErrNotExist},
		"with an ancestor that is hidden": {planted(t, ancestor{os.Getpid(), 50, 900}), fs.ErrNotExist},
		"with a PID that was reused":      {planted(t, ancestor{os.Getpid(), 50, 900}, ancestor{50, 0, 901}), errMoved},
		"in a circle":                     {planted(t, ancestor{os.Getpid(), 50, 9}, ancestor{50, 40, 9}, ancestor{40, 50, 9}), errTooManyLevels},
	} {
		if got, err := c.source.Lineage(t.Context()); !errors.Is(err, c.want) || got != nil {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}

// The numbers of such a /proc belong to other processes than those of the
// kernel's calls.
func TestProcOfAnotherNamespaceIsNotBelieved(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	victim := sleeper(t)
	v := planFrom(t, fmt.Sprintf(`unshare --pid --fork "$0" %d force; true`, victim))
	if v.Code != fault.Unavailable || !strings.Contains(v.Message, "of another PID namespace") {
		t.Errorf("%+v", v)
	}
}
