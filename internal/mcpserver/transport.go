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

// settle is how long the answers to cancelled requests may take to go out.
const settle = 2 * time.Second

// spare is what is added to the time limit of calls where something else
// should have ended before.
const spare = 8 * time.Second

// Why a link ends before all is answered.
var (
	errClientGone = errors.New("the client closed its end")
	errUnanswered = errors.New("calls did not end within their time limit")
)

// A transport carries messages between one client and an mcp-go server, one a line.
//
// It takes the place of mcp-go's StdioServer, which at the end of its input
// drops or cancels requests that it has read, loses a cancellation that arrives before a
// worker has picked the request up, takes the ids 7 and "7" for one, drops a
// last line without an end and reads lines of any length. Here a request is entered in
// the registry before the next line is read, and the end of input means only
// that no more requests come. What the messages say stays the business of mcp-go.
type transport struct {
	server  *server.MCPServer
	session *session
	out     *output
	calls   *registry
	slots   chan struct{}
	limit   time.Duration // from the arrival of a call to its answer
	log     *slog.Logger
}

func newTransport(s *server.MCPServer, stdout io.Writer, limit time.Duration, log *slog.Logger) *transport {
	return &transport{
		server:  s,
		session: newSession(),
		out:     &output{w: stdout, stall: limit + spare},
		calls:   newRegistry(),
		slots:   make(chan struct{}, maxCalls),
		limit:   limit,
		log:     log,
	}
}

// serve answers what stdin holds until it ends, and returns when every request
// was answered: nil then, errClientGone when answers could not be delivered,
// errUnanswered when calls outlived their time, the cause of ctx when that ended first.
// Calls that are still running then are cancelled and answered.
func (l *transport) serve(ctx context.Context, stdin io.Reader) error {
	ctx, stop := context.WithCancelCause(l.server.WithContext(ctx, l.session))
	defer stop(nil)
	l.out.failed = stop
	defer l.out.close()
	defer watchPeerClose(l.out.w, func() { stop(errClientGone) })()
	ended := make(chan struct{})
	go func() {
		l.read(ctx, stdin)
		close(ended)
	}()
	var err error
	select {
	case <-ended:
		err = l.drain(ctx)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	stop(nil)
	wait(l.calls.close(), settle)
	if err == nil {
		err = l.out.err()
	}
	return err
}

// drain waits for the calls that came before the end of input. Each has a
// deadline of its own; the one here is for a fault in that.
func (l *transport) drain(ctx context.Context) error {
	over := time.NewTimer(l.limit + spare)
	defer over.Stop()
	select {
	case <-l.calls.close():
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

// read takes one line after the other until the input or ctx ends.
func (l *transport) read(ctx context.Context, stdin io.Reader) {
	in := newLines(stdin)
	for ctx.Err() == nil {
		line, err := in.next()
		switch {
		case errors.Is(err, errLineTooLong):
			l.refuse(&refusal{nil, mcp.INVALID_REQUEST,
				fmt.Sprintf("Invalid request: the line is longer than %d MiB and was skipped", maxLine>>20)})
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			l.log.Error("cannot read from the client", "error", err)
			return
		case !blank(line):
			l.accept(ctx, line)
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

// accept acts on one line. A call of a tool goes on by itself; everything else
// is quick and is answered before the next line is read, so that what the handshake
// says holds for the call behind it.
func (l *transport) accept(ctx context.Context, line []byte) {
	m, refused := parseMessage(line)
	switch {
	case refused != nil:
		l.refuse(refused)
	case m.method == "":
		l.log.Debug("an answer to no request of ours was ignored")
	case m.cancel != "":
		l.calls.cancel(m.cancel)
	case m.method == string(mcp.MethodNotificationCancelled) && m.id == "":
	case m.method == string(mcp.MethodToolsCall) && m.id != "":
		l.call(ctx, m)
	case m.method == string(mcp.MethodSubscriptionsListen) && m.id != "":
		l.listen(ctx, m)
	default:
		l.answer(ctx, m)
	}
}

// call starts a tool call. Its time begins to run now, in the queue already:
// the client's does too. One that is cancelled while it waits reaches its handler with a
// context that has ended, and the handler runs nothing then.
func (l *transport) call(ctx context.Context, m message) {
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	ctx = l.track(ctx, m.raw)
	ctx, m.raw = splitCall(ctx, m.raw)
	if !l.enter(m, cancel, true) {
		cancel()
		return
	}
	go func() {
		defer l.calls.remove(m.id, true)
		defer cancel()
		select {
		case l.slots <- struct{}{}:
			slot := &lease{free: func() { <-l.slots }}
			defer slot.hold()()
			ctx = context.WithValue(ctx, leaseKey{}, slot)
		case <-ctx.Done():
		}
		l.answer(ctx, m)
	}()
}

// listen starts a request that the protocol lets last as long as the client
// likes. The end of input does not wait for it.
func (l *transport) listen(ctx context.Context, m message) {
	ctx, cancel := context.WithCancel(ctx)
	if !l.enter(m, cancel, false) {
		cancel()
		return
	}
	go func() {
		defer l.calls.remove(m.id, false)
		defer cancel()
		l.answer(ctx, m)
	}()
}

func (l *transport) enter(m message, cancel context.CancelFunc, counted bool) bool {
	sentence := l.calls.add(m.id, cancel, counted)
	switch sentence {
	case "":
		return true
	case idInUse:
		l.refuse(&refusal{m.rawID, mcp.INVALID_REQUEST, sentence})
	default:
		l.refuse(&refusal{m.rawID, overloaded, sentence})
	}
	return false
}

// answer has mcp-go handle a message and sends what comes of it.
func (l *transport) answer(ctx context.Context, m message) {
	response := l.handle(ctx, m)
	trackerOf(ctx).close()
	l.notify()
	if response == nil {
		return
	}
	if err := l.send(response); err != nil {
		l.log.Error("an answer cannot be encoded", "method", m.method, "error", err)
		l.refuse(internalError(m))
	}
}

// notify sends what the server has to say beside its answers. It comes before
// an answer goes out: a notification that belongs to a request is lost on some
// clients when it follows the answer.
func (l *transport) notify() {
	for {
		select {
		case n := <-l.session.notifications:
			if err := l.send(n); err != nil {
				l.log.Error("a notification cannot be encoded", "error", err)
			}
		default:
			return
		}
	}
}

func (l *transport) handle(ctx context.Context, m message) (response any) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("a request caused a panic", "method", m.method, "panic", p)
			response = nil
			if m.id != "" {
				response = internalError(m).response()
			}
		}
	}()
	if r := l.server.HandleMessage(ctx, m.raw); r != nil {
		return l.explainUnknown(m, r)
	}
	return nil
}

func internalError(m message) *refusal {
	return &refusal{m.rawID, mcp.INTERNAL_ERROR, "A fault in sentinel-mcp; its log on stderr has the details"}
}

func (l *transport) refuse(r *refusal) {
	if err := l.send(r.response()); err != nil {
		l.log.Error("a refusal cannot be encoded", "error", err)
	}
}

// send writes one message. The error is about encoding it; one about the
// client ends the whole link.
func (l *transport) send(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		l.out.write(append(line, '\n'))
	}
	return err
}
