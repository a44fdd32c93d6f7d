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

	"sentinel/internal/jsonrpc"
	"sentinel/internal/peerclose"
)

// maxCalls is how many tool calls run at a time for this machine, and how many for others. One whose
// program has yet to end counts.
const maxCalls = 4

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
	slots     chan struct{} // of calls for this machine
	elsewhere chan struct{} // of calls for others
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
		elsewhere: make(chan struct{}, maxCalls),
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
	defer peerclose.Watch(t.out.w, func() { stop(errClientGone) })()
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
	in := jsonrpc.NewLines(stdin, maxLine)
	for ctx.Err() == nil {
		line, err := in.Next()
		switch {
		case errors.Is(err, jsonrpc.ErrTooLong):
			m := message{Message: jsonrpc.ParseHead(line, in.Tail())}
			t.refuse(m, &refusal{code: jsonrpc.InvalidRequest,
				sentence: fmt.Sprintf("Invalid request: the line is longer than %d MiB and was skipped", maxLine>>20)})
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.log.Error("cannot read from the client", "error", err)
			return
		case !jsonrpc.Blank(line):
			t.accept(ctx, line)
		}
	}
}

// accept handles one line.
func (t *transport) accept(ctx context.Context, line []byte) {
	frame := jsonrpc.Parse(line)
	if frame.Batch {
		t.takeBatch(ctx, frame.Messages)
		return
	}
	t.take(ctx, frame.Messages[0], nil)
}

// take handles one message, and finishes it: with its answer or without. A tool
// call runs by itself; everything else is quick and is answered before the next line is read, so
// that the handshake holds for the call after it.
func (t *transport) take(ctx context.Context, parsed jsonrpc.Message, b *batch) {
	m, why := newMessage(parsed, b)
	switch {
	case why != nil:
		t.refuse(m, why)
	case m.Answer():
		if key, _ := m.ID.Key(); !t.questions.answered(key, json.RawMessage(m.Raw)) {
			t.log.Debug("an answer to no request of ours was ignored")
		}
		t.finish(m, nil)
	case m.Request():
		t.request(ctx, m)
	default:
		t.notice(ctx, m)
		t.finish(m, nil)
	}
}

// request handles a message that wants an answer.
func (t *transport) request(ctx context.Context, m message) {
	why := checkParams(m)
	switch {
	case why != nil:
		t.refuse(m, why)
	case foreign(m):
		t.refuse(m, &refusal{code: jsonrpc.InvalidRequest, sentence: noBatches})
	case m.batch != nil && m.is(mcp.MethodInitialize):
		t.refuse(m, &refusal{code: jsonrpc.InvalidRequest, sentence: "Invalid request: the handshake cannot be part of a batch"})
	case m.is(mcp.MethodToolsCall):
		t.call(ctx, m)
	case m.is(mcp.MethodSubscriptionsListen):
		t.listen(ctx, m)
	case t.calls.has(m.key):
		t.refuse(m, &refusal{code: jsonrpc.InvalidRequest, sentence: idInUse})
	default:
		r := t.handle(ctx, m)
		if m.is(mcp.MethodInitialize) && r != nil && r.Error == nil {
			if err := t.session.meet(m.Params); err != nil {
				r = t.refused(m, wrongParams(formOf(m)))
			}
		}
		t.deliver(m, r)
	}
}

// notice handles a notification. It is never answered, whatever is wrong with it. Of a cancellation
// nothing but the id of its request counts: what is odd beside that does not make the call wanted.
func (t *transport) notice(ctx context.Context, m message) {
	if m.is(mcp.MethodNotificationCancelled) {
		key, _ := jsonrpc.ID(m.Members.Get("requestId")).Key()
		t.calls.cancel(key)
		return
	}
	t.handle(ctx, m)
}

// call starts a tool call. Its time limit counts from now, as the client's does,
// and so includes waiting for a slot. One that is cancelled while it waits reaches its handler
// with a context that has ended, and the handler runs nothing.
func (t *transport) call(ctx context.Context, m message) {
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	ctx = t.track(ctx, m)
	ctx, m = splitCall(ctx, m)
	if !t.register(m, cancel, true) {
		cancel()
		return
	}
	go func() {
		defer t.calls.remove(m.key)
		defer cancel()
		p := &place{slots: t.slots, elsewhere: t.elsewhere}
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
		defer t.calls.remove(m.key)
		defer cancel()
		t.answer(ctx, m)
	}()
}

func (t *transport) register(m message, cancel context.CancelFunc, counted bool) bool {
	sentence := t.calls.add(m.key, cancel, counted)
	switch sentence {
	case "":
		return true
	case idInUse:
		t.refuse(m, &refusal{code: jsonrpc.InvalidRequest, sentence: sentence})
	default:
		t.refuse(m, &refusal{code: overloaded, sentence: sentence})
	}
	return false
}

// answer has mcp-go handle a registered request and sends the response, unless the
// client has cancelled it.
func (t *transport) answer(ctx context.Context, m message) {
	r := t.handle(ctx, m)
	trackerOf(ctx).close()
	if !t.calls.settle(m.key) {
		r = nil
	}
	t.deliver(m, r)
}

// deliver finishes a message after the notifications that belong before its
// response.
func (t *transport) deliver(m message, r *response) {
	t.notify()
	t.finish(m, r)
}

// finish ends the handling of a message with its response, nil for none.
func (t *transport) finish(m message, r *response) {
	var line []byte
	if r != nil {
		line = t.encode(m, r)
	}
	switch {
	case m.batch != nil:
		m.batch.done(line)
	case line != nil:
		t.out.writeLine(line)
	}
}

func (t *transport) encode(m message, r *response) []byte {
	line, err := json.Marshal(r)
	if err == nil {
		return line
	}
	t.log.Error("an answer cannot be encoded", "method", m.Method, "error", err)
	line, err = json.Marshal(t.refused(m, internalError))
	if err != nil {
		t.log.Error("a refusal cannot be encoded", "error", err)
		return nil
	}
	return line
}

func (t *transport) refuse(m message, why *refusal) { t.finish(m, t.refused(m, why)) }

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

func (t *transport) handle(ctx context.Context, m message) (r *response) {
	defer func() {
		if p := recover(); p != nil {
			t.log.Error("a request caused a panic", "method", m.Method, "panic", p)
			r = t.refused(m, internalError)
		}
	}()
	return t.explainUnknown(m, responseTo(m, t.server.HandleMessage(ctx, m.Raw)))
}

var internalError = &refusal{code: jsonrpc.InternalError, sentence: "A fault in sentinel-mcp; its log on stderr has the details"}

// send writes one message of our own. The error is about encoding it; an error of
// the connection ends serve.
func (t *transport) send(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		t.out.writeLine(line)
	}
	return err
}
