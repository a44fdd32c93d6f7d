// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// callTool is the tool whose round trip is measured, without arguments.
const callTool = "get_network_stats"

// serverRows measure what sentinel-mcp adds to sentinel.
func serverRows(ctx context.Context, p programs) ([]row, error) {
	if !p.hasServer() {
		return []row{{what: "sentinel-mcp", missing: "not built"}}, nil
	}
	spawns, err := spawnTimes(ctx, p)
	if err != nil {
		return nil, err
	}
	c, err := dial(ctx, p)
	if err != nil {
		return nil, err
	}
	defer c.close()
	call, err := callRow(ctx, p, c)
	if err != nil {
		return nil, err
	}
	sizes, err := sizeRows(c)
	if err != nil {
		return nil, err
	}
	spawn := row{
		what: "sentinel-mcp: spawn to the answer to initialize", measured: median(spawns), bar: 15, unit: " ms",
		basis: fmt.Sprintf("median of %d", len(spawns)),
	}
	return append([]row{call, spawn}, sizes...), nil
}

// spawnTimes returns how long each of several servers took to answer, in
// milliseconds.
func spawnTimes(ctx context.Context, p programs) ([]float64, error) {
	var times []float64
	for range startRounds {
		start := time.Now()
		c, err := dial(ctx, p)
		if err != nil {
			return nil, err
		}
		times = append(times, time.Since(start).Seconds()*1000)
		c.close()
	}
	return times, nil
}

// callRow runs the tool through the server and directly, in turn.
func callRow(ctx context.Context, p programs, c *client) (row, error) {
	var through, direct, extra []float64
	for round := range callRounds + 1 {
		start := time.Now()
		if _, err := c.request("tools/call", `{"name":"`+callTool+`","arguments":{}}`); err != nil {
			return row{}, err
		}
		trip := time.Since(start)
		alone, err := runDirect(ctx, p)
		if err != nil {
			return row{}, err
		}
		if round > 0 {
			through, direct = append(through, trip.Seconds()*1000), append(direct, alone.Seconds()*1000)
			extra = append(extra, (trip-alone).Seconds()*1000)
		}
	}
	return row{
		what: "tools/call " + callTool + ": round trip less the same run of sentinel", measured: median(extra), bar: 5, unit: " ms",
		basis: fmt.Sprintf("%.1f ms - %.1f ms", median(through), median(direct)),
	}, nil
}

// runDirect runs sentinel as the server does.
func runDirect(ctx context.Context, p programs) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, p.sentinel(), "--request", callTool)
	cmd.Stdin = strings.NewReader("{}")
	var out bytes.Buffer
	cmd.Stdout = &out
	start := time.Now()
	err := cmd.Run()
	return time.Since(start), err
}

// sizeRows look at what tools/list costs a model to read.
func sizeRows(c *client) ([]row, error) {
	raw, err := c.request("tools/list", "{}")
	if err != nil {
		return nil, err
	}
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var input, whole sizes
	for _, one := range list.Tools {
		var tool struct {
			Name        string          `json:"name"`
			Description json.RawMessage `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if err := json.Unmarshal(one, &tool); err != nil {
			return nil, err
		}
		input.add(tool.Name, len(tool.Description)+len(tool.InputSchema))
		whole.add(tool.Name, len(one))
	}
	return []row{
		{what: "tools/list: description and input schema a tool", measured: input.largest, bar: 0.8, unit: " KB", basis: input.basis()},
		{what: "  whole tool, output schema included", measured: whole.largest, bar: 3, unit: " KB", basis: whole.basis()},
	}, nil
}

// sizes are in thousands of bytes.
type sizes struct {
	largest, sum float64
	name         string
	count        int
}

func (s *sizes) add(name string, bytes int) {
	size := float64(bytes) / 1000
	if size > s.largest {
		s.largest, s.name = size, name
	}
	s.sum += size
	s.count++
}

func (s *sizes) basis() string {
	return fmt.Sprintf("largest of %d (%s); mean %.2f KB", s.count, s.name, s.sum/float64(max(1, s.count)))
}

// A client speaks to one server over its stdin and stdout.
type client struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	lastID  int
	failure *bytes.Buffer
}

// dial starts a server and greets it.
func dial(ctx context.Context, p programs) (*client, error) {
	cmd := exec.CommandContext(ctx, p.server(), "--sentinel", p.sentinel())
	c := &client{cmd: cmd, failure: &bytes.Buffer{}}
	cmd.Stderr = c.failure
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, err = c.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return c, err
}

// request sends a request and returns the result of its answer.
func (c *client) request(method, params string) (json.RawMessage, error) {
	c.lastID++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.lastID, method, params); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", method, err, c.failure)
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", method, err, c.failure)
		}
		var answer struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return nil, err
		}
		if answer.ID != c.lastID {
			continue // a notification
		}
		if answer.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, answer.Error)
		}
		return failed(method, answer.Result)
	}
}

// failed returns the result of a request, or what a tool says went wrong.
func failed(method string, result json.RawMessage) (json.RawMessage, error) {
	var outcome struct {
		IsError bool `json:"isError"`
	}
	if err := json.Unmarshal(result, &outcome); err != nil {
		return nil, err
	}
	if outcome.IsError {
		return nil, errors.New(method + ": " + string(result))
	}
	return result, nil
}

// close ends the server as a client does, by the end of its input.
func (c *client) close() {
	c.in.Close() // the server ends either way
	if err := c.cmd.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, "sentinel-mcp:", err)
	}
}
