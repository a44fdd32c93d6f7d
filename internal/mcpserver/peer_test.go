// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const testLimit = 10 * time.Second

// work is the tool that tests call. Its handler counts how many calls run and
// hands each to the test, which lets it go on; it ends early with its context.
type work struct {
	started chan string // argument "name" of each call that runs
	release chan struct{}
	running atomic.Int32
	most    atomic.Int32
}

func newWork() *work {
	return &work{started: make(chan string, 1000), release: make(chan struct{})}
}

func (w *work) handle(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		return mcp.NewToolResultText("never ran: " + ctx.Err().Error()), nil
	}
	w.most.Store(max(w.most.Load(), w.running.Add(1)))
	defer w.running.Add(-1)
	var arguments struct{ Name string }
	if err := json.Unmarshal(argumentsOf(ctx), &arguments); err != nil {
		return nil, err
	}
	w.started <- arguments.Name
	select {
	case <-w.release:
		return mcp.NewToolResultText("done"), nil
	case <-ctx.Done():
		return mcp.NewToolResultText("stopped: " + ctx.Err().Error()), nil
	}
}

// A peer is the client's side of a connection.
type peer struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Reader
	served chan error
	cancel context.CancelFunc
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func connect(t *testing.T, w *work) *peer {
	t.Helper()
	s := server.NewMCPServer("test", "1", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewToolWithRawSchema("work", "", json.RawMessage(`{"type":"object"}`)), w.handle)
	s.AddTool(mcp.NewToolWithRawSchema("stubborn", "", json.RawMessage(`{"type":"object"}`)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-w.release
			return mcp.NewToolResultText("done"), nil
		})
	s.AddTool(mcp.NewToolWithRawSchema("panic", "", json.RawMessage(`{"type":"object"}`)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("boom: secret") })
	s.AddTool(mcp.NewToolWithRawSchema("odd", "", json.RawMessage(`{"type":"object"}`)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: func() {}}, nil
		})
	return connectTo(t, s)
}

func connectTo(t *testing.T, s *server.MCPServer) *peer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{t: t, in: inW, out: bufio.NewReader(outR), served: make(chan error, 1), cancel: cancel}
	go func() {
		p.served <- newTransport(s, outW, testLimit, quiet()).serve(ctx, inR)
		outW.Close()
	}()
	t.Cleanup(func() {
		cancel()
		inW.Close()
		outR.Close()
	})
	return p
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.in, line+"\n"); err != nil {
			p.t.Fatalf("send: %v", err)
		}
	}
}

// raw returns the next line of the server.
func (p *peer) raw() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("receive: %v (got %q)", err, line)
	}
	return strings.TrimSpace(line)
}

// A reply is an answer of the server, as far as tests look at it.
type reply struct {
	ID     json.RawMessage
	Method string
	Result struct {
		Content []struct{ Text string }
		IsError bool
	}
	Error *struct {
		Code    int
		Message string
	}
}

func (p *peer) receive() reply {
	p.t.Helper()
	var r reply
	line := p.raw()
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		p.t.Fatalf("%v in %s", err, line)
	}
	return r
}

// short renders a reply as one line: its id and what it says.
func (r reply) short() string {
	switch {
	case r.Method != "":
		return r.Method
	case r.Error != nil:
		return fmt.Sprintf("%s: error %d %s", r.ID, r.Error.Code, r.Error.Message)
	case len(r.Result.Content) > 0:
		return fmt.Sprintf("%s: %s", r.ID, r.Result.Content[0].Text)
	default:
		return fmt.Sprintf("%s: ok", r.ID)
	}
}

func (p *peer) expect(want ...string) {
	p.t.Helper()
	for _, w := range want {
		if diff := cmp.Diff(w, p.receive().short()); diff != "" {
			p.t.Errorf("answer (-want +got):\n%s", diff)
		}
	}
}

// ended closes stdin and returns what serve returned.
func (p *peer) ended() error {
	p.t.Helper()
	p.in.Close()
	return <-p.served
}

func call(id, tool, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{"name":%q}}}`, id, tool, name)
}

func cancelOf(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
}

func ping(id string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id) }
