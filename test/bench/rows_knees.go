// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
)

const (
	busyProcesses = 40
	kneesRounds   = 5
)

// kneesRows measure what an administrator waits for when the processors are taken. top looks at the processes
// over the same half second.
func kneesRows(ctx context.Context, p programs) ([]row, error) {
	var table []row
	for _, own := range []bool{false, true} {
		s, err := besideBusy(ctx, own, []string{p.sentinel(), "--json"}, []string{"top", "-b", "-n", "2", "-d", "0.5"})
		if err != nil {
			return nil, err
		}
		what := fmt.Sprintf("--json as root beside %d busy processes of one session: time", busyProcesses)
		if own {
			what = "  of a session each"
		}
		table = append(table, row{
			what: what, measured: milliseconds(wall, s[0]) / 1000, bar: 1.5, unit: " s",
			basis: fmt.Sprintf("top -b -n 2 -d 0.5: %.2f s; median of %d", milliseconds(wall, s[1])/1000, kneesRounds),
		})
	}
	return table, nil
}

// besideBusy runs programs beside processes that take what they are given of the processors. The kernel may divide
// that among sessions first (sched(7), "The autogroup feature"), so each can have one of its own.
func besideBusy(ctx context.Context, own bool, programs ...[]string) ([][]sample, error) {
	for range busyProcesses {
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: own}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		defer func() {
			cmd.Process.Kill()
			cmd.Wait()
		}()
	}
	return rounds(ctx, kneesRounds, programs...)
}
