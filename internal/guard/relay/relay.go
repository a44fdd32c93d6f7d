// SPDX-License-Identifier: Apache-2.0

// Package relay carries messages between an MCP client and an MCP server, one a line, and has the
// stages of the guard judge each of them.
//
// What it lets through arrives byte for byte and in order. What it does not let through is
// answered, to the side that waits. There are two pumps, one for each direction, and one writer
// for each stream; nothing is queued but the relay's own answers, so that who does not read holds
// up who writes to them, and nobody else.
package relay

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"sentinel/internal/guard/stage"
	"sentinel/internal/sanitize"
)

// DefaultMaxLine is the longest line in bytes that is passed on unless the options say otherwise.
const DefaultMaxLine = 64 << 20

// maxHeld is how many messages may wait for somebody's decision.
const maxHeld = 256

// An Endpoint is the two streams of one side. Closing Out is the end of what that side reads.
type Endpoint struct {
	In  io.Reader
	Out io.WriteCloser
}

// Options of a relay.
type Options struct {
	Stages  []stage.Stage
	MaxLine int                         // in bytes, without the end of line; 0 means DefaultMaxLine
	Note    func(kind, sentence string) // what the one who runs the guard should know; nil for nobody
	// Observer is told of requests, decisions and violations; nil for nobody.
	Observer Observer
	Session  string // begins the names of events; "" for one of the relay's own
}

// A Relay stands between the two.
type Relay struct {
	options Options
	session *session
	pumps   [2]*pump // by the side they read from
	held    chan struct{}
	ctx     context.Context
	stop    context.CancelFunc
	events  atomic.Int64

	busy        atomic.Bool // something came since Idle was asked last
	clientEnded chan struct{}
	clientGone  chan struct{}
	gone        atomic.Bool
}

// New returns a relay between client and server.
func New(ctx context.Context, client, server Endpoint, options Options) *Relay {
	if options.MaxLine <= 0 {
		options.MaxLine = DefaultMaxLine
	}
	if options.Note == nil {
		options.Note = func(string, string) {}
	}
	if options.Observer == nil {
		options.Observer = nobody{}
	}
	if options.Session == "" {
		options.Session = NewSession()
	}
	r := &Relay{
		options:     options,
		session:     newSession(),
		held:        make(chan struct{}, maxHeld),
		clientEnded: make(chan struct{}),
		clientGone:  make(chan struct{}),
	}
	r.ctx, r.stop = context.WithCancel(ctx)
	toClient, toServer := newOutput(client.Out), newOutput(server.Out)
	ofClient, ofServer := newPending(), newPending()
	r.pumps[stage.Client] = newPump(r, stage.Client, client.In, toServer, toClient, ofClient, ofServer)
	r.pumps[stage.Server] = newPump(r, stage.Server, server.In, toClient, toServer, ofServer, ofClient)
	return r
}

// Serve carries messages until the server ends. It returns when all that the server has said was
// written to the client, and every request that it left open is answered. Requests that come after
// that are answered too, as long as somebody reads the client, which the caller ends.
func (r *Relay) Serve() {
	client, server := r.pumps[stage.Client], r.pumps[stage.Server]
	go func() {
		client.read()
		client.held.Wait()
		client.asked.end()
		client.to.close()
		close(r.clientEnded)
	}()
	server.read()
	open := client.asked.close()
	r.stop()
	server.held.Wait()
	for _, e := range open {
		server.to.write(withEnd(client.unserved(e)))
	}
	server.flush()
	for _, e := range server.asked.close() {
		r.quietly(func() { r.ended(stage.Server, e, End{Outcome: ServerGone}) }) //nolint:errcheck // it is noted
		if e.sent {
			r.quietly(func() { r.over(e, stage.Gone) }) //nolint:errcheck // it is noted
		}
	}
}

// HangUp ends the input of the server, although the client may still send.
func (r *Relay) HangUp() {
	go r.pumps[stage.Client].to.close() // which waits for a server that does not read
}

// Flush waits until the relay's own answers are written to the client, for at most d.
func (r *Relay) Flush(d time.Duration) {
	written := make(chan struct{})
	go func() {
		r.pumps[stage.Server].to.flush() //nolint:errcheck // there is nobody left to tell
		close(written)
	}()
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-written:
	case <-over.C:
	}
}

// ClientEnded is closed when the client sends no more and all of it was passed on.
func (r *Relay) ClientEnded() <-chan struct{} { return r.clientEnded }

// ClientGone is closed when the client does not take what is written.
func (r *Relay) ClientGone() <-chan struct{} { return r.clientGone }

// Drained is closed when the client sends no more and waits for no answer.
func (r *Relay) Drained() <-chan struct{} { return r.pumps[stage.Client].asked.drained }

// Idle says that nothing has come since it was asked last.
func (r *Relay) Idle() bool { return !r.busy.Swap(false) }

// event returns the name of something that happened, which stands in the answer and in what is
// noted of it.
func (r *Relay) event() string { return fmt.Sprintf("%s-%d", r.options.Session, r.events.Add(1)) }

// NewSession returns a name for a session that no other has.
func NewSession() string { return rand.Text()[:8] }

func (r *Relay) writeFailed(to stage.Side) {
	if to == stage.Client && !r.gone.Swap(true) {
		close(r.clientGone)
	}
}

// over tells the stages that nothing comes of a request any more, unless they know. Of one that
// was not passed on who judges it tells: until then a stage may still let it pass.
func (r *Relay) over(e *entry, how stage.End) {
	if e.ended.Swap(true) {
		return
	}
	if err := stage.Ended(r.options.Stages, &e.call, how); err != nil {
		r.options.Note("ended", "The guard failed at the end of a request: "+sanitize.Text(err.Error(), 200))
	}
}

func serverGone() stage.Refusal {
	return stage.Refusal{
		Code:   stage.ServerGone,
		Rule:   "relay",
		Reason: "The server has ended and cannot answer.",
		Fix:    "Ask the user to start it again.",
	}
}
