// SPDX-License-Identifier: Apache-2.0

package sysexec_test

import (
	"context"
	"testing"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

func TestARelayEndsWithTheStatusOfWhatItStarts(t *testing.T) {
	testenv.HangGuard(t)
	for script, want := range map[string]int{
		"exit 7":        7,
		"kill -KILL $$": 128 + 9,
		`test "$(cut -d " " -f 6 /proc/$$/stat)" = $$ && exit 5`: 5, // it leads its session (proc_pid_stat(5))
	} {
		if status, err := sysexec.Relay(t.Context(), "/bin/sh", []string{"-c", script}); status != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", script, status, err, want)
		}
	}
	if _, err := sysexec.Relay(t.Context(), "/nonexistent/program", nil); err == nil {
		t.Error("what does not exist was started")
	}
}

// Nothing is written to the pipe, so that reading ends with its end alone.
func TestTheEndOfARelayIsHandedOn(t *testing.T) {
	testenv.HangGuard(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status, err := sysexec.Relay(ctx, "/bin/sh", []string{"-c", "read nothing <&3 || exit 6"}); status != 6 || err != nil {
		t.Errorf("%d, %v, want 6", status, err)
	}
}
