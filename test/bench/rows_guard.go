// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// How often is measured what the guard adds.
const (
	guardRounds   = 5000
	guardBigs     = 15
	guardInFlight = 1000
)

// echo is the part that answers each request at once, as servers do, with as many bytes as the
// name of its method says.
func echo(stdin io.Reader, stdout io.Writer) error {
	in, out := bufio.NewReaderSize(stdin, 64<<10), bufio.NewWriterSize(stdout, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return out.Flush()
		}
		_, rest, _ := bytes.Cut(line, []byte(`"id":`))
		id, rest, _ := bytes.Cut(rest, []byte(`,"method":"`))
		method, _, _ := bytes.Cut(rest, []byte(`"`))
		size, err := strconv.Atoi(string(method))
		if err != nil {
			size = 2
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"x":"%s"}}`+"\n", id, strings.Repeat("x", size))
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

// An echoed is a running echo server, direct or behind the guard.
type echoed struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func startEcho(ctx context.Context, before ...string) (*echoed, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := slices.Concat(before, []string{self, partEcho})
	e := &echoed{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.out = bufio.NewReaderSize(out, 1<<20)
	return e, e.cmd.Start()
}

// trip sends one request and reads its answer.
func (e *echoed) trip(method string) (time.Duration, error) {
	e.id++
	start := time.Now()
	if _, err := fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":%d,"method":"%s"}`+"\n", e.id, method); err != nil {
		return 0, err
	}
	for {
		_, err := e.out.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return time.Since(start), err
		}
	}
}

// flood has many requests in flight, and returns how long all took.
func (e *echoed) flood(count int) (time.Duration, error) {
	var all bytes.Buffer
	start := time.Now()
	failed := make(chan error, 1)
	for range count {
		e.id++
		fmt.Fprintf(&all, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", e.id)
	}
	go func() {
		_, err := e.in.Write(all.Bytes())
		failed <- err
	}()
	for range count {
		if _, err := e.out.ReadSlice('\n'); err != nil {
			return 0, err
		}
	}
	return time.Since(start), <-failed
}

func (e *echoed) close() {
	e.in.Close()
	e.cmd.Wait()
}

// guardRows measure what sentinel-guard adds to a server that does nothing.
func guardRows(ctx context.Context, p programs) ([]row, error) {
	direct, err := startEcho(ctx)
	if err != nil {
		return nil, err
	}
	defer direct.close()
	guarded, err := startEcho(ctx, p.guard(), "--")
	if err != nil {
		return []row{{what: "sentinel-guard", missing: err.Error()}}, nil
	}
	defer guarded.close()
	var rows []row
	for _, measure := range []func(direct, guarded *echoed) ([]row, error){tripRows, bigRows, floodRows} {
		more, err := measure(direct, guarded)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	rows = append(rows, memoryRow(guarded.cmd.Process.Pid))
	start, err := guardStart(ctx, p)
	return append(rows, start), err
}

// alternately returns how many milliseconds each of two took, in turn.
func alternately(rounds int, one func(*echoed) (time.Duration, error), both ...*echoed) (taken [2][]float64, err error) {
	for range rounds {
		for i, e := range both {
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

func tripRows(direct, guarded *echoed) ([]row, error) {
	t, err := alternately(guardRounds, func(e *echoed) (time.Duration, error) { return e.trip("ping") }, direct, guarded)
	if err != nil {
		return nil, err
	}
	added := func(share float64) (float64, string) {
		at := int(share * float64(guardRounds-1))
		return t[1][at] - t[0][at], fmt.Sprintf("%.3f ms - %.3f ms", t[1][at], t[0][at])
	}
	middle, ofMiddle := added(0.5)
	late, ofLate := added(0.99)
	return []row{
		{what: "sentinel-guard: round trip to an echo server, added, p50", measured: middle, bar: 0.08, unit: " ms", basis: ofMiddle},
		{what: "  p99", measured: late, bar: 0.4, unit: " ms", basis: ofLate},
	}, nil
}

func bigRows(direct, guarded *echoed) ([]row, error) {
	t, err := alternately(guardBigs, func(e *echoed) (time.Duration, error) { return e.trip("1000000") }, direct, guarded)
	if err != nil {
		return nil, err
	}
	return []row{{
		what: "sentinel-guard: a result of 1 MB, added", measured: median(t[1]) - median(t[0]), bar: 15, unit: " ms",
		basis: fmt.Sprintf("%.2f ms - %.2f ms", median(t[1]), median(t[0])),
	}}, nil
}

func floodRows(direct, guarded *echoed) ([]row, error) {
	t, err := alternately(guardBigs, func(e *echoed) (time.Duration, error) { return e.flood(guardInFlight) }, direct, guarded)
	if err != nil {
		return nil, err
	}
	return []row{{
		what: "sentinel-guard: time for 1,000 calls in flight against direct", measured: median(t[1]) / median(t[0]), bar: 2, unit: "x",
		basis: fmt.Sprintf("%.2f ms / %.2f ms", median(t[1]), median(t[0])),
	}}, nil
}

// memoryRow tells the private memory of an idle guard.
func memoryRow(pid int) row {
	r := row{what: "sentinel-guard: anonymous memory", bar: 8, unit: " MB"}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		r.missing = err.Error()
		return r
	}
	var anonymous, resident float64
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			fmt.Sscan(value, &anonymous)
		}
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			fmt.Sscan(value, &resident)
		}
	}
	r.measured, r.basis = anonymous/1000, fmt.Sprintf("after the rows above; resident %.1f MB", resident/1000)
	return r
}

// guardStart compares the time from the start of a server to its first answer.
func guardStart(ctx context.Context, p programs) (row, error) {
	var taken [2][]float64
	for range startRounds {
		for i, before := range [][]string{nil, {p.guard(), "--"}} {
			start := time.Now()
			e, err := startEcho(ctx, before...)
			if err != nil {
				return row{}, err
			}
			if _, err := e.trip("initialize"); err != nil {
				return row{}, err
			}
			taken[i] = append(taken[i], time.Since(start).Seconds()*1000)
			e.close()
		}
	}
	return row{
		what: "sentinel-guard: spawn to the first answer, added", measured: median(taken[1]) - median(taken[0]), bar: 8, unit: " ms",
		basis: fmt.Sprintf("%.2f ms - %.2f ms", median(taken[1]), median(taken[0])),
	}, nil
}
