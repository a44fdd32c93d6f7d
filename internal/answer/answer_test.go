// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/version"
)

func TestHeaderSaysWhatWhenWhereAndWho(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, success := range []bool{true, false} {
		before := time.Now().Truncate(time.Second)
		h := NewHeader("get_x", success)
		at, err := time.Parse(time.RFC3339, h.Timestamp)
		if err != nil || !strings.HasSuffix(h.Timestamp, "Z") || at.Before(before) || at.After(time.Now()) {
			t.Errorf("timestamp %q, %v", h.Timestamp, err)
		}
		if h.Success != success || h.Action != "get_x" || h.Hostname != name || h.Version != version.Number {
			t.Errorf("%+v", h)
		}
	}
}

func TestAReasonOfSeveralFieldsIsToldOnce(t *testing.T) {
	var g Gaps
	none := errors.New("systemd does not run here")
	g.Also("failed_units", none)
	g.Also("restarting_units", none)
	g.Also("load", nil)
	g.Also("memory", errors.New("other"))
	g.Also("disks", none)
	want := Gaps{{"failed_units, restarting_units", none.Error()}, {"memory", "other"}, {"disks", none.Error()}}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"failed_units", "restarting_units"}, g[0].Fields()); diff != "" {
		t.Error(diff)
	}
}

func TestReasonIsForPeople(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "/proc/pressure/cpu", Err: syscall.ENOENT}
	for want, errs := range map[string][]error{
		"not readable without root":     {fs.ErrPermission, syscall.EACCES, syscall.EPERM, fmt.Errorf("x: %w", &fs.PathError{Err: syscall.EACCES})},
		"not provided by this system":   {missing, fmt.Errorf("x: %w", missing)},
		"did not answer in time":        {context.DeadlineExceeded, fmt.Errorf("x: %w", context.DeadlineExceeded)},
		"broken":                        {errors.New("broken")},
		"no unit: file does not exist":  {fmt.Errorf("no unit: %w", fs.ErrNotExist)},
		"statfs /x: input/output error": {&fs.PathError{Op: "statfs", Path: "/x", Err: syscall.EIO}},
	} {
		for _, err := range errs {
			if got := Reason(err); got != want {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		}
	}
}

func TestGapsKeepTheirOrderAndTameTheirText(t *testing.T) {
	g := Gaps{}
	g.Add("a", nil)
	g.Add("b", fs.ErrPermission)
	g.Note("c", "x\x1b[2J\n\u202e"+strings.Repeat("y", 500))
	if len(g) != 2 || g[0] != (Gap{"b", "not readable without root"}) || g[1].Field != "c" {
		t.Errorf("%v", g)
	}
	if r := g[1].Reason; strings.ContainsAny(r, "\x1b\n\u202e") || utf8.RuneCountInString(r) != 200 {
		t.Errorf("%q", r)
	}
}

func TestNoGapsAreAnEmptyList(t *testing.T) {
	raw, err := json.Marshal(struct {
		Unavailable Gaps `json:"unavailable"`
	}{Gaps{}})
	if diff := cmp.Diff(`{"unavailable":[]}`, string(raw)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
