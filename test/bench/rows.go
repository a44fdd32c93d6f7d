// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/sampling"
)

// The load, and how often each comparison is made.
const (
	processes   = 2000
	sockets     = 5000
	manySockets = 40_000

	commandRounds = 9
	startRounds   = 41
	callRounds    = 9
)

// measure is the first process of the namespaces. It measures the quiet
// machine, then under load.
func measure(ctx context.Context, w io.Writer, p programs) error {
	if err := settle(p.dir); err != nil {
		return err
	}
	var table []row
	for _, part := range []func(context.Context, programs) ([]row, error){
		startRows, kneesRows, serverRows, guardRows, changeRows, knowRows, logRows, diskRows, fleetRows, recordRows, crowdedRows, crowdedRecordRows, manySocketsRows,
	} {
		rows, err := part(ctx, p)
		if err != nil {
			return err
		}
		table = append(table, rows...)
	}
	return print(w, machine(), table)
}

func machine() string {
	var u unix.Utsname
	var i unix.Sysinfo_t
	if unix.Uname(&u) != nil || unix.Sysinfo(&i) != nil {
		return ""
	}
	return fmt.Sprintf("Linux %s on %s, %d CPUs, %.0f GiB, %s", unix.ByteSliceToString(u.Release[:]), runtime.GOARCH,
		runtime.NumCPU(), float64(i.Totalram)*float64(i.Unit)/(1<<30), runtime.Version())
}

// startRows compare the least that sentinel can do with the least that a Go
// program can do.
func startRows(ctx context.Context, p programs) ([]row, error) {
	s, err := rounds(ctx, startRounds, []string{p.sentinel(), "--version"}, []string{p.hello()})
	if err != nil {
		return nil, err
	}
	return []row{{
		what: "sentinel --version: time against a hello-world Go binary", measured: ratio(wall, s[0], s[1]), bar: 2, unit: "x",
		basis: fmt.Sprintf("%.2f ms / %.2f ms; CPU time %.2fx", milliseconds(wall, s[0]), milliseconds(wall, s[1]), ratio(cpu, s[0], s[1])),
	}}, nil
}

// crowdedRows measure with many processes and a server's number of sockets.
func crowdedRows(ctx context.Context, p programs) ([]row, error) {
	if err := crowd(ctx, processes-fewProcesses); err != nil {
		return nil, err
	}
	if err := holders(ctx, sockets/100, 50); err != nil {
		return nil, err
	}
	s, err := rounds(ctx, commandRounds, []string{p.sentinel(), "--json"}, []string{"ss", "-tunap"}, []string{"ps", "aux"},
		[]string{p.sentinel(), "--top"})
	if err != nil {
		return nil, err
	}
	health, ss, ps, top := s[0], s[1], s[2], s[3]
	beyond := func(s sample) time.Duration { return s.wall - sampling.Window }
	load := fmt.Sprintf("%d processes, %d sockets", processes, sockets)
	return []row{
		{
			what: "--json, " + load + ": CPU time against ss -tunap + ps aux", measured: ratio(cpu, health, ss, ps), bar: 0.6, unit: "x",
			basis: fmt.Sprintf("%.0f ms / (%.0f + %.0f ms)", milliseconds(cpu, health), milliseconds(cpu, ss), milliseconds(cpu, ps)),
		},
		{
			what: "  time less the sampling window", measured: milliseconds(beyond, health) / 1000, bar: 0.15, unit: " s",
			basis: fmt.Sprintf("%.0f ms - %d ms", milliseconds(wall, health), sampling.Window.Milliseconds()),
		},
		{
			what: fmt.Sprintf("--top, %d processes: CPU time against ps aux", processes), measured: ratio(cpu, top, ps), bar: 0.6, unit: "x",
			basis: fmt.Sprintf("%.0f ms / %.0f ms", milliseconds(cpu, top), milliseconds(cpu, ps)),
		},
	}, nil
}

// manySocketsRows add sockets up to those of a busy proxy.
func manySocketsRows(ctx context.Context, p programs) ([]row, error) {
	if err := holders(ctx, (manySockets-sockets)/1000, 500); err != nil {
		return nil, err
	}
	s, err := rounds(ctx, commandRounds, []string{p.sentinel(), "--json"}, []string{"ss", "-tanp"})
	if err != nil {
		return nil, err
	}
	var document bytes.Buffer
	if _, err := runTo(ctx, &document, p.sentinel(), "--json"); err != nil {
		return nil, err
	}
	health, ss := s[0], s[1]
	var peaks []float64
	for _, one := range health {
		peaks = append(peaks, float64(one.peak)/1e6)
	}
	return []row{
		{
			what:     fmt.Sprintf("--json, %d sockets: CPU time against ss -tanp", manySockets),
			measured: ratio(cpu, health, ss), bar: 0.5, unit: "x",
			basis: fmt.Sprintf("%.0f ms / %.0f ms", milliseconds(cpu, health), milliseconds(cpu, ss)),
		},
		{what: "  peak memory", measured: median(peaks), bar: 40, unit: " MB", basis: fmt.Sprintf("at most: the kernel counts the %.1f MB of this program to its children", ownPeak())},
		{what: "  output", measured: float64(document.Len()) / 1000, bar: 20, unit: " KB", basis: flowsTotal(document.String())},
	}, nil
}

// ownPeak is the peak memory of this process in MB, the least that can be
// measured for a child.
func ownPeak() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Maxrss<<10) / 1e6
}

// flowsTotal shows that the document was about all those sockets.
func flowsTotal(document string) string {
	_, rest, _ := strings.Cut(document, `"flows_total":`)
	count, _, _ := strings.Cut(rest, ",")
	return "flows_total " + count
}
