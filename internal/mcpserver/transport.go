// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// maxCalls is how many tool calls run at a time. One whose program has yet to
// end counts.
const maxCalls = 4

// overloaded is the JSON-RPC code for a request that the server will not take
// now (JSON-RPC 2.0, section 5.1: -32000 to -32099 are the server's own).
const overloaded = -32000

// settleTimeout is how long sending the answers to requests that were stopped may take.
const settleTimeout = 2 * time.Second

// grace is added to the time limit of calls where something else should have
// ended before.
const grace = 8 * time.Second

// Why a connection ends before all is answered.
var (
	errClientGone = errors.New("the client closed its end")
	errUnanswered = errors.New("calls did not end within their time limit")
)

// A transport carries messages between one client and an mcp-go server, one a line.
//
// It replaces mcp-go's StdioServer, which at the end of its input drops or
// cancels requests that it has read, loses a cancellation that arrives before a worker
// has picked up the request, takes the ids 7 and "7" for the same, drops a last line
// without a newline and reads lines of any length. Here a request is entered in the
// registry before the next line is read, and the end of input only means that no more
// requests come. What messages mean is left to mcp-go.
type transport struct {
	server    *server.MCPServer
	session   *session
	out       *output
	calls     *registry
	questions *questions
	slots     chan struct{}
	limit     time.Duration // from the arrival of a call to its answer
	log       *slog.Logger
}

func newTransport(s *server.MCPServer, stdout io.Writer, limit time.Duration, log *slog.Logger) *transport {
	return &transport{
		server:    s,
		session:   newSession(),
		out:       &output{w: stdout, stall: limit + grace},
		calls:     newRegistry(),
		questions: newQuestions(),
		slots:     make(chan struct{}, maxCalls),
		limit:     limit,
		log:       log,
	}
}

// serve answers requests on stdin until it ends, and returns nil when each was
// answered, errClientGone when answers could not be delivered, errUnanswered when calls
// exceeded their time, or the cause of ctx when that ended first. Calls that are still running
// are then stopped and answered. A call that the client cancels is not answered.
func (t *transport) serve(ctx context.Context, stdin io.Reader) error {
	ctx, stop := context.WithCancelCause(t.server.WithContext(ctx, t.session))
	defer stop(nil)
	ctx = context.WithValue(ctx, transportKey{}, t)
	t.out.failed = stop
	defer t.out.close()
	defer watchPeerClose(t.out.w, func() { stop(errClientGone) })()
	ended := make(chan struct{})
	go func() {
		t.read(ctx, stdin)
		t.questions.close()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
		err = t.drain(ctx)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	stop(nil)
	wait(t.calls.close(), settleTimeout)
	if err == nil {
		err = t.out.err()
	}
	return err
}

// drain waits for the calls that came before the end of input. Each has its own
// deadline; the one here is for a fault in that.
func (t *transport) drain(ctx context.Context) error {
	over := time.NewTimer(t.limit + grace)
	defer over.Stop()
	select {
	case <-t.calls.close():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-over.C:
		return errUnanswered
	}
}

func wait(done <-chan struct{}, most time.Duration) {
	over := time.NewTimer(most)
	defer over.Stop()
	select {
	case <-done:
	case <-over.C:
	}
}

// read handles one line after the other until the input or ctx ends.
func (t *transport) read(ctx context.Context, stdin io.Reader) {
	in := newLines(stdin)
	for ctx.Err() == nil {
		line, err := in.next()
		switch {
		case errors.Is(err, errLineTooLong):
			t.refuse(&refusal{nil, mcp.INVALID_REQUEST,
				fmt.Sprintf("Invalid request: the line is longer than %d MiB and was skipped", maxLine>>20)})
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.log.Error("cannot read from the client", "error", err)
			return
		case !blank(line):
			t.accept(ctx, line)
		}
	}
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// accept handles one line. A tool call runs by itself; everything else is quick
// and is answered before the next line is read, so that the handshake holds for the call
// after it.
func (t *transport) accept(ctx context.Context, line []byte) {
	m, refused := parseMessage(line)
	switch {
	case refused != nil:
		t.refuse(refused)
	case m.method == "":
		if !t.questions.answered(m.id, m.raw) {
			t.log.Debug("an answer to no request of ours was ignored")
		}
	case m.cancel != "":
		t.calls.cancel(m.cancel)
	case m.method == string(mcp.MethodNotificationCancelled) && m.id == "":
	case m.method == string(mcp.MethodToolsCall) && m.id != "":
		t.call(ctx, m)
	case m.method == string(mcp.MethodSubscriptionsListen) && m.id != "":
		t.listen(ctx, m)
	case m.id != "" && t.calls.has(m.id):
		t.refuse(&refusal{m.rawID, mcp.INVALID_REQUEST, idInUse})
	default:
		t.deliver(m, t.handle(ctx, m))
	}
}

// call starts a tool call. Its time limit counts from now, as the client's does,
// and so includes waiting for a slot. One that is cancelled while it waits reaches its handler
// with a context that has ended, and the handler runs nothing.
func (t *transport) call(ctx context.Context, m message) {
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	ctx = t.track(ctx, m.raw)
	ctx, m.raw = splitCall(ctx, m.raw)
	if !t.register(m, cancel, true) {
		cancel()
		return
	}
	go func() {
		defer t.calls.remove(m.id)
		defer cancel()
		p := &place{slots: t.slots}
		defer p.leave()
		ctx, _ := p.enter(ctx) //nolint:errcheck // its handler sees the end of ctx
		t.answer(ctx, m)
	}()
}

// listen starts a request that may last as long as the client likes. The end of
// input does not wait for it.
func (t *transport) listen(ctx context.Context, m message) {
	ctx, cancel := context.WithCancel(ctx)
	if !t.register(m, cancel, false) {
		cancel()
		return
	}
	go func() {
		defer t.calls.remove(m.id)
		defer cancel()
		t.answer(ctx, m)
	}()
}

func (t *transport) register(m message, cancel context.CancelFunc, counted bool) bool {
	sentence := t.calls.add(m.id, cancel, counted)
	switch sentence {
	case "":
		return true
	case idInUse:
		t.refuse(&refusal{m.rawID, mcp.INVALID_REQUEST, sentence})
	default:
		t.refuse(&refusal{m.rawID, overloaded, sentence})
	}
	return false
}

// answer has mcp-go handle a registered request and sends the response, unless the
// client has cancelled it.
func (t *transport) answer(ctx context.Context, m message) {
	response := t.handle(ctx, m)
	trackerOf(ctx).close()
	if t.calls.settle(m.id) {
		t.deliver(m, response)
	}
}

// deliver sends a response, if there is one, after the notifications that belong
// before it.
func (t *transport) deliver(m message, response any) {
	t.notify()
	if response == nil {
		return
	}
	if err := t.send(response); err != nil {
		t.log.Error("an answer cannot be encoded", "method", m.method, "error", err)
		t.refuse(internalError(m))
	}
}

// notify sends the notifications that mcp-go has queued. It does so before an
// answer goes out: some clients lose a notification about a request that follows the answer.
func (t *transport) notify() {
	for {
		select {
		case n := <-t.session.notifications:
			if err := t.send(n); err != nil {
				t.log.Error("a notification cannot be encoded", "error", err)
			}
		default:
			return
		}
	}
}

func (t *transport) handle(ctx context.Context, m message) (response any) {
	defer func() {
		if p := recover(); p != nil {
			t.log.Error("a request caused a panic", "method", m.method, "panic", p)
			response = nil
			if m.id != "" {
				response = internalError(m).response()
			}
		}
	}()
	if r := t.server.HandleMessage(ctx, m.raw); r != nil {
		return t.explainUnknown(m, r)
	}
	return nil
}

func internalError(m message) *refusal {
	return &refusal{m.rawID, mcp.INTERNAL_ERROR, "A fault in sentinel-mcp; its log on stderr has the details"}
}

func (t *transport) refuse(r *refusal) {
	if err := t.send(r.response()); err != nil {
		t.log.Error("a refusal cannot be encoded", "error", err)
	}
}

// send writes one message. The error is about encoding it; an error of the
// connection ends serve.
func (t *transport) send(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		t.out.write(append(line, '\n'))
	}
	return err
}
