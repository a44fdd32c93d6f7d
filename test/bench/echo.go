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

// A guard is how one is put before a server; the zero value puts none.
type guard struct {
	command     []string
	environment []string
}

// newGuard returns a guard with files of its own below dir, and the rules in text.
func newGuard(p programs, dir, rules string) (guard, error) {
	g := guard{command: []string{p.guard(), "--"}, environment: []string{"XDG_CONFIG_HOME=" + dir + "/config", "XDG_STATE_HOME=" + dir + "/state"}}
	if err := os.MkdirAll(dir+"/config/sentinel", 0o700); err != nil || rules == "" {
		return g, err
	}
	return g, os.WriteFile(dir+"/config/sentinel/guard.yaml", []byte(rules), 0o600)
}

// An echoed is a running server, direct or behind the guard.
type echoed struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

// startServer starts a server, behind the guard when that is given.
func startServer(ctx context.Context, g guard, server ...string) (*echoed, error) {
	command := slices.Concat(g.command, server)
	e := &echoed{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	e.cmd.Env = append(os.Environ(), g.environment...)
	var err error
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

// Requests, without their ids.
const (
	ping       = `"method":"ping"`
	toolCall   = `"method":"tools/call","params":{"name":"echo","arguments":{"message":"how are you","path":"a/b.txt"}}`
	initialize = `"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`
)

// trip sends one request and reads its answer.
func (e *echoed) trip(request string) (time.Duration, error) {
	e.id++
	start := time.Now()
	if _, err := fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", e.id, request); err != nil {
		return 0, err
	}
	err := e.answer()
	return time.Since(start), err
}

// flood has many requests in flight, and returns how long all took.
func (e *echoed) flood(count int, request string) (time.Duration, error) {
	var all bytes.Buffer
	start := time.Now()
	failed := make(chan error, 1)
	for range count {
		e.id++
		fmt.Fprintf(&all, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", e.id, request)
	}
	go func() {
		_, err := e.in.Write(all.Bytes())
		failed <- err
	}()
	for range count {
		if err := e.answer(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), <-failed
}

// answer reads up to the next answer; servers tell other things between.
func (e *echoed) answer() error {
	for {
		line, err := e.out.ReadSlice('\n')
		answers := bytes.Contains(line, []byte(`"result"`)) // which stands before what is long
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = e.out.ReadSlice('\n')
		}
		if err != nil || answers {
			return err
		}
	}
}

func (e *echoed) close() {
	e.in.Close()
	e.cmd.Wait()
}
