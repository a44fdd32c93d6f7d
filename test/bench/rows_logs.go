// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// logEntries make a journal of a gigabyte, of logSpan.
	logEntries = 2_000_000
	logSpan    = 5 * time.Hour
	logRounds  = 3
	// logMachine is the id of the machine that the journal is of.
	logMachine = "0123456789abcdef0123456789abcdef"
	logRemote  = "/usr/lib/systemd/systemd-journal-remote"
)

// logRows measure the grouping of the last hour, a fifth of the journal.
func logRows(ctx context.Context, p programs) ([]row, error) {
	const what = "--logs, last hour of a journal of 1 GB: time against journalctl --since -1h -o json"
	if _, err := os.Stat(logRemote); err != nil {
		return []row{{what: what, missing: "systemd-journal-remote is not installed", bar: 1.3, unit: "x"}}, nil
	}
	end, err := mountJournal(ctx, p)
	defer end()
	if err != nil {
		return nil, err
	}
	s, err := rounds(ctx, logRounds, []string{p.sentinel(), "--logs", "--since", "-1h"}, []string{"journalctl", "--since", "-1h", "-o", "json"})
	if err != nil {
		return nil, err
	}
	var answer bytes.Buffer
	cmd := exec.CommandContext(ctx, p.sentinel(), "--request", "get_logs")
	cmd.Stdout = &answer
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	peak := highWater(cmd)
	if err := cmd.Wait(); err != nil {
		return nil, err
	}
	return []row{
		{
			what: what, measured: ratio(wall, s[0], s[1]), bar: 1.3, unit: "x",
			basis: fmt.Sprintf("%.1f s / %.1f s, %d entries", milliseconds(wall, s[0])/1000, milliseconds(wall, s[1])/1000, logEntries/5),
		},
		{what: "  peak memory of sentinel alone", measured: float64(peak) / 1000, bar: 40, unit: " MB", basis: "VmHWM, looked at until it ended"},
		{what: "  answer", measured: float64(answer.Len()) / 1000, bar: 12, unit: " KB", basis: "get_logs without arguments"},
	}, nil
}

// mountJournal makes the journal and mounts it, with the id of its machine, for this namespace.
func mountJournal(ctx context.Context, p programs) (end func(), err error) {
	folder := filepath.Join(p.dir, "journal", logMachine)
	id := filepath.Join(p.dir, "machine-id")
	end = func() {}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return end, err
	}
	if err := os.WriteFile(id, []byte(logMachine+"\n"), 0o644); err != nil {
		return end, err
	}
	cmd := exec.CommandContext(ctx, logRemote, "--output="+filepath.Join(folder, "system.journal"), "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		return end, err
	}
	if err := cmd.Start(); err != nil {
		return end, err
	}
	writeErr := writeEntries(in)
	if err := cmd.Wait(); err != nil {
		return end, fmt.Errorf("%s: %w", logRemote, err)
	}
	if writeErr != nil {
		return end, writeErr
	}
	if err := os.MkdirAll("/var/log/journal", 0o755); err != nil {
		return end, err
	}
	for from, to := range map[string]string{filepath.Dir(folder): "/var/log/journal", id: "/etc/machine-id"} {
		if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
			return end, fmt.Errorf("mount at %s: %w", to, err)
		}
		before := end
		end = func() {
			before()
			unix.Unmount(to, unix.MNT_DETACH)
		}
	}
	return end, nil
}

// writeEntries writes entries of ten patterns in the form of journalctl -o export.
func writeEntries(in io.WriteCloser) error {
	defer in.Close()
	w := bufio.NewWriter(in)
	begin := time.Now().Add(-logSpan)
	for i := range logEntries {
		at := begin.Add(logSpan / logEntries * time.Duration(i)).UnixMicro()
		_, err := fmt.Fprintf(w, "__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n_MACHINE_ID=%s\n_HOSTNAME=bench\nPRIORITY=%d\nSYSLOG_IDENTIFIER=app%c\n_PID=%d\n_SYSTEMD_UNIT=app%c.service\n_UID=0\n_GID=0\n_COMM=app\n"+
			"_EXE=/usr/sbin/app\n_CMDLINE=/usr/sbin/app --serve\n_TRANSPORT=stdout\nMESSAGE=request %d from 203.0.113.%d took %d ms, id %016x\n\n",
			at, i+1, logMachine, logMachine, 3+i%4, 'a'+i%10, 1000+i%40, 'a'+i%10, i, i%256, i%977, uint64(i)*0x9e3779b97f4a7c15)
		if err != nil {
			return err
		}
	}
	return w.Flush()
}

// highWater returns the peak of a program's own memory in KB, of its last moment that was seen. The
// kernel's account at its end would add that of the programs that it ran.
func highWater(cmd *exec.Cmd) (peak int64) {
	status := fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)
	for {
		raw, err := os.ReadFile(status)
		_, after, ok := bytes.Cut(raw, []byte("VmHWM:"))
		if err != nil || !ok || syscall.Kill(cmd.Process.Pid, 0) != nil {
			return peak
		}
		var kb int64
		if _, err := fmt.Sscan(string(after), &kb); err == nil {
			peak = max(peak, kb)
		}
		<-time.After(20 * time.Millisecond)
	}
}
