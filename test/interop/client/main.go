// SPDX-License-Identifier: Apache-2.0

// Command client is the official Go client as a program: it starts the server
// that its arguments name, calls a tool for each line of standard input,
// {"tool": NAME, "arguments": {...}}, and prints each result as a line. A call with
// "progress": true asks for progress, one with "cancel_after_ms" is cancelled then, and a
// line without a tool lists them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, server []string) error {
	w := &watcher{}
	client := mcp.NewClient(&mcp.Implementation{Name: "remedy-test", Version: "1"}, &mcp.ClientOptions{ProgressNotificationHandler: w.notice})
	cmd := exec.Command(server[0], server[1:]...)
	cmd.Stderr = os.Stderr
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		result, err := answer(ctx, session, w, in.Bytes())
		if err != nil {
			return err
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
	return session.Close()
}

// A result is what a caller of the tool gets to see.
type result struct {
	IsError   bool     `json:"is_error"`
	Document  any      `json:"document"`
	Progress  []step   `json:"progress,omitempty"`
	Cancelled bool     `json:"cancelled,omitempty"`
	Tools     []string `json:"tools,omitempty"`
}

// A step is a notification about progress.
type step struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"`
	Message  string  `json:"message"`
	Known    bool    `json:"known"` // its token is that of the call that runs
}

// A watcher keeps what was notified about one call after the other.
type watcher struct {
	mu    sync.Mutex
	token int
	steps []step
}

func (w *watcher) notice(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := r.Params.ProgressToken == float64(w.token)
	w.steps = append(w.steps, step{r.Params.Progress, r.Params.Total, r.Params.Message, known})
}

// take returns what came since the last time, and the token of the next call.
func (w *watcher) take() (steps []step, token int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	steps, w.steps = w.steps, nil
	w.token++
	return steps, w.token
}

type request struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Progress  bool           `json:"progress"`
	CancelMS  int            `json:"cancel_after_ms"`
}

func answer(ctx context.Context, session *mcp.ClientSession, w *watcher, line []byte) (result, error) {
	var wanted request
	if err := json.Unmarshal(line, &wanted); err != nil {
		return result{}, err
	}
	if wanted.Tool == "" {
		return list(ctx, session)
	}
	early, token := w.take()
	if len(early) > 0 {
		return result{}, fmt.Errorf("progress after the answer: %v", early)
	}
	r, err := call(ctx, session, wanted, token)
	r.Progress, _ = w.take()
	return r, err
}

func call(ctx context.Context, session *mcp.ClientSession, wanted request, token int) (result, error) {
	if wanted.CancelMS > 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(wanted.CancelMS)*time.Millisecond)
		defer cancel()
		ctx = limited
	}
	params := &mcp.CallToolParams{Name: wanted.Tool, Arguments: wanted.Arguments}
	if wanted.Progress {
		params.SetProgressToken(token)
	}
	r, err := session.CallTool(ctx, params)
	switch {
	case wanted.CancelMS > 0 && errors.Is(err, context.DeadlineExceeded):
		return result{Cancelled: true}, nil
	case err != nil:
		return result{}, err
	}
	return result{IsError: r.IsError, Document: r.StructuredContent}, nil
}

func list(ctx context.Context, session *mcp.ClientSession) (r result, err error) {
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return result{}, err
		}
		r.Tools = append(r.Tools, tool.Name)
	}
	return r, nil
}
