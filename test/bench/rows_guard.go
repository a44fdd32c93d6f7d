// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// How often is measured what the guard adds.
const (
	guardRounds   = 5000
	guardBigs     = 15
	guardInFlight = 1000
)

// idleWait is how long a guard has to have nothing to do before its memory is looked at.
const idleWait = 6 * time.Second

//go:embed guard_rules.yaml
var guardRules string

// A guarded is the same server twice.
type guarded struct {
	direct, behind *echoed
}

func (g guarded) close() {
	g.direct.close()
	g.behind.close()
}

func startGuarded(ctx context.Context, g guard, server ...string) (both guarded, err error) {
	if both.direct, err = startServer(ctx, guard{}, server...); err != nil {
		return both, err
	}
	both.behind, err = startServer(ctx, g, server...)
	return both, err
}

// guardRows measure what sentinel-guard adds to a server.
func guardRows(ctx context.Context, p programs) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	plain, err := newGuard(p, filepath.Join(p.dir, "plain"), "")
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, part := range []func(context.Context, programs, guard, ...string) ([]row, error){echoRows, rulesRows, hugeRows, everythingRows, guardStart} {
		more, err := part(ctx, p, plain, self, partEcho)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// echoRows measure a server that does nothing.
func echoRows(ctx context.Context, _ programs, g guard, server ...string) ([]row, error) {
	both, err := startGuarded(ctx, g, server...)
	if err != nil {
		return nil, err
	}
	defer both.close()
	rows, err := tripRows(both, ping, "sentinel-guard: round trip to an echo server, added", 0.08, 0.4)
	if err != nil {
		return nil, err
	}
	big, err := bigRow(both)
	if err != nil {
		return nil, err
	}
	flood, err := floodRow(both, ping, "a bare echo server", 2)
	if err != nil {
		return nil, err
	}
	rows = append(rows, big, flood)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(idleWait):
	}
	return append(rows, memoryRows(both.behind.cmd.Process.Pid)...), nil
}

// rulesRows measure calls that are judged by rules and recorded.
func rulesRows(ctx context.Context, p programs, _ guard, server ...string) ([]row, error) {
	dir := filepath.Join(p.dir, "rules")
	g, err := newGuard(p, dir, guardRules)
	if err != nil {
		return nil, err
	}
	both, err := startGuarded(ctx, g, server...)
	if err != nil {
		return nil, err
	}
	defer both.close()
	rows, err := tripRows(both, toolCall, "sentinel-guard with 200 rules and the record: tools/call, added", 0.15, 0.8)
	if err != nil {
		return nil, err
	}
	if log, err := filepath.Glob(dir + "/state/sentinel/guard/log/*.jsonl"); err != nil || len(log) == 0 {
		rows[0].basis += "; nothing was recorded"
	}
	return rows, nil
}

// alternately returns how many milliseconds each of two took, in turn.
func alternately(rounds int, one func(*echoed) (time.Duration, error), both guarded) (taken [2][]float64, err error) {
	for range rounds {
		for i, e := range []*echoed{both.direct, both.behind} {
			d, err := one(e)
			if err != nil {
				return taken, err
			}
			taken[i] = append(taken[i], d.Seconds()*1000)
		}
	}
	for i := range taken {
		slices.Sort(taken[i])
	}
	return taken, nil
}

func tripRows(both guarded, request, what string, p50, p99 float64) ([]row, error) {
	t, err := alternately(guardRounds, func(e *echoed) (time.Duration, error) { return e.trip(request) }, both)
	if err != nil {
		return nil, err
	}
	added := func(what string, share, bar float64) row {
		at := int(share * float64(guardRounds-1))
		return row{what: what, measured: t[1][at] - t[0][at], bar: bar, unit: " ms", basis: fmt.Sprintf("%.3f ms - %.3f ms", t[1][at], t[0][at])}
	}
	return []row{added(what+", p50", 0.5, p50), added("  p99", 0.99, p99)}, nil
}

func bigRow(both guarded) (row, error) {
	t, err := alternately(guardBigs, func(e *echoed) (time.Duration, error) { return e.trip(`"method":"1000000"`) }, both)
	return row{
		what: "sentinel-guard: a result of 1 MB, added", measured: median(t[1]) - median(t[0]), bar: 15, unit: " ms",
		basis: fmt.Sprintf("%.2f ms - %.2f ms", median(t[1]), median(t[0])),
	}, err
}

// hugeRows tell what one large result costs.
func hugeRows(ctx context.Context, _ programs, g guard, server ...string) ([]row, error) {
	e, err := startServer(ctx, g, server...)
	if err != nil {
		return nil, err
	}
	defer e.close()
	took, err := e.trip(`"method":"40000000"`)
	if err != nil {
		return nil, err
	}
	r := row{what: "sentinel-guard: a result of 40 MB, peak memory", bar: 140, unit: " MB", basis: fmt.Sprintf("it took %.0f ms", took.Seconds()*1000)}
	r.measured, err = statusOf(e.cmd.Process.Pid, "VmHWM")
	return []row{r}, err
}

// floodRow compares times: half of the throughput is twice the time.
func floodRow(both guarded, request, server string, bar float64) (row, error) {
	t, err := alternately(guardBigs, func(e *echoed) (time.Duration, error) { return e.flood(guardInFlight, request) }, both)
	return row{
		what: "sentinel-guard: time for 1,000 calls in flight against direct, " + server, measured: median(t[1]) / median(t[0]), bar: bar, unit: "x",
		basis: fmt.Sprintf("%.2f ms / %.2f ms", median(t[1]), median(t[0])),
	}, err
}

// everythingRows measure a real server.
func everythingRows(ctx context.Context, _ programs, g guard, _ ...string) ([]row, error) {
	const name, bar = "server-everything", 1.43
	command, err := exec.LookPath("mcp-" + name)
	if err != nil {
		return []row{{what: "sentinel-guard: time for 1,000 calls in flight against direct, " + name, bar: bar, unit: "x", missing: "npm install -g @modelcontextprotocol/" + name}}, nil
	}
	both, err := startGuarded(ctx, g, command, "stdio")
	if err != nil {
		return nil, err
	}
	defer both.close()
	for _, e := range []*echoed{both.direct, both.behind} {
		if _, err := e.trip(initialize); err != nil {
			return nil, err
		}
		if _, err := fmt.Fprintln(e.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
			return nil, err
		}
	}
	flood, err := floodRow(both, toolCall, name, bar)
	return []row{flood}, err
}

// memoryRows tell the memory of an idle guard.
func memoryRows(pid int) []row {
	rows := []row{
		{what: "sentinel-guard: anonymous memory when idle", bar: 8, unit: " MB", basis: fmt.Sprintf("%.0f s after the rows above", idleWait.Seconds())},
		{what: "  resident", bar: 22, unit: " MB"},
	}
	for i, name := range []string{"RssAnon", "VmRSS"} {
		var err error
		if rows[i].measured, err = statusOf(pid, name); err != nil {
			rows[i].missing = err.Error()
		}
	}
	return rows
}

// statusOf returns a size in megabytes from /proc/PID/status.
func statusOf(pid int, name string) (size float64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "\n"+name+":")
	_, err = fmt.Sscan(rest, &size)
	return size * 1024 / 1e6, err
}

// guardStart compares the time from the start of a server to its answer to initialize.
func guardStart(ctx context.Context, _ programs, g guard, server ...string) ([]row, error) {
	var taken [2][]float64
	for range startRounds {
		for i, before := range []guard{{}, g} {
			from := time.Now()
			e, err := startServer(ctx, before, server...)
			if err != nil {
				return nil, err
			}
			if _, err := e.trip(initialize); err != nil {
				return nil, err
			}
			taken[i] = append(taken[i], time.Since(from).Seconds()*1000)
			e.close()
		}
	}
	return []row{{
		what: "sentinel-guard: spawn to the answer to initialize, added", measured: median(taken[1]) - median(taken[0]), bar: 8, unit: " ms",
		basis: fmt.Sprintf("%.2f ms - %.2f ms", median(taken[1]), median(taken[0])),
	}}, nil
}
