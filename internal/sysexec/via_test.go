// SPDX-License-Identifier: Apache-2.0

package sysexec

import (
	"errors"
	"io"
	"syscall"
	"testing"
)

// What takes care of what is started must see everything that is.
func TestEveryProgramIsStartedThroughTheStarter(t *testing.T) {
	refused, calls := errors.New("refused"), 0
	StartVia(func(attr *syscall.SysProcAttr, _ func() error) error {
		if attr == nil {
			t.Error("no attributes")
		}
		calls++
		return refused
	})
	defer starter.Store(nil)
	for name, start := range map[string]func() error{
		"a command":      func() error { _, err := Host{}.Run(t.Context(), Command{Path: "/bin/true"}); return err },
		"a daemon":       func() error { return Detach("/bin/true") },
		"one for people": func() error { return Interactive{Path: "/bin/true"}.Run(io.Discard, io.Discard) },
	} {
		if err := start(); !errors.Is(err, refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if calls != 3 {
		t.Errorf("%d calls", calls)
	}
	StartVia(func(_ *syscall.SysProcAttr, start func() error) error { return start() })
	if r, err := (Host{}).Run(t.Context(), Command{Path: "/bin/echo", Args: []string{"started"}}); err != nil || string(r.Stdout) != "started\n" {
		t.Errorf("%q, %v", r.Stdout, err)
	}
}
