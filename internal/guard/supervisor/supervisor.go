// SPDX-License-Identifier: Apache-2.0

// Package supervisor runs an MCP server behind the guard: it starts the server, has the relay stand
// between it and the client, passes signals on, and ends both as the protocol asks.
package supervisor

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"sentinel/internal/guard/relay"
	"sentinel/internal/guard/stage"
	"sentinel/internal/peerclose"
	"sentinel/internal/sysexec"
)

// How long a server has for each step of its end (MCP, "Lifecycle", Shutdown). Clients give the
// guard about two seconds after SIGTERM, in which its server and all that this started must be gone.
const (
	closeWait = 5 * time.Second
	termWait  = 1800 * time.Millisecond
)

// trimWait is how often is looked whether nothing has passed since the last look. Guards stand
// beside each server of a client and mostly wait: what a large result has needed is then given back.
const trimWait = 2 * time.Second

// lateWait is how long requests are still answered after the server has ended: a client may
// have written them before it could know.
const lateWait = 250 * time.Millisecond

// Exit statuses of a server that could not be started, as those of a shell.
const (
	notRunnable = 126
	notFound    = 127
)

// A Server is what is to be run.
type Server struct {
	Command   []string // the program and its arguments
	Variables []string // of its environment; nil: those of this process
	Stages    []stage.Stage
	MaxLine   int // in bytes; 0 means the default of the relay
	// Observer is told what happens, in a session of this name; nil for nobody.
	Observer relay.Observer
	Session  string
}

// Streams are those of the client. Stderr takes that of the server, and what the guard has to say.
type Streams struct {
	In          io.Reader
	Out         io.WriteCloser
	Err         *os.File
	Diagnostics io.Writer // where the guard itself reports; whoever reports there is not to wait
}

// Run runs a server until it has ended, and returns its exit status. Signals are passed on to it.
func (s Server) Run(ctx context.Context, signals <-chan os.Signal, streams Streams) int {
	notes := &notes{w: streams.Diagnostics, noted: map[string]bool{}}
	child, err := sysexec.StartChild(s.Command[0], s.Command[1:], s.Variables, streams.Err)
	if err != nil {
		notes.add("start", fmt.Sprintf("The server could not be started: %v", err))
		return s.answerLate(ctx, streams, notes, err)
	}
	r := relay.New(ctx, relay.Endpoint{In: streams.In, Out: streams.Out}, relay.Endpoint{In: child.Stdout, Out: child.Stdin},
		s.options(notes))
	served := make(chan struct{})
	go func() {
		r.Serve()
		close(served)
	}()
	readerGone := make(chan struct{})
	defer peerclose.Watch(streams.Out, sync.OnceFunc(func() { close(readerGone) }))()
	w := &watch{child: child, relay: r, signals: signals, readerGone: readerGone, served: served}
	w.untilEnd()
	w.finish()
	return child.Exit()
}

func (s Server) options(notes *notes) relay.Options {
	return relay.Options{Stages: s.Stages, MaxLine: s.MaxLine, Note: notes.add, Observer: s.Observer, Session: s.Session}
}

// answerLate answers what the client may have sent to a server that could not be started.
func (s Server) answerLate(ctx context.Context, streams Streams, notes *notes, cause error) int {
	r := relay.New(ctx, relay.Endpoint{In: streams.In, Out: streams.Out}, relay.Endpoint{In: ended{}, Out: ended{}},
		s.options(notes))
	r.Serve()
	waitFor(lateWait, r.ClientEnded(), r.ClientGone())
	r.Flush(termWait)
	if sysexec.NotFound(cause) {
		return notFound
	}
	return notRunnable
}

// ended are the streams of a server that is not there.
type ended struct{}

func (ended) Read([]byte) (int, error)    { return 0, io.EOF }
func (ended) Write(b []byte) (int, error) { return 0, syscall.EPIPE }
func (ended) Close() error                { return nil }

// A watch follows the life of a server.
type watch struct {
	child      *sysexec.Child
	relay      *relay.Relay
	signals    <-chan os.Signal
	readerGone <-chan struct{}
	served     <-chan struct{}

	untrimmed bool // something has passed since memory was given back

	asked    bool // to end, by SIGTERM
	deadline <-chan time.Time
}

// untilEnd passes signals on and takes the steps of the shutdown, until the child has ended.
func (w *watch) untilEnd() {
	drained, gone, readerGone := w.relay.Drained(), w.relay.ClientGone(), w.readerGone
	look := time.NewTicker(trimWait)
	defer look.Stop()
	for {
		select {
		case <-w.child.Ended():
			return
		case s := <-w.signals:
			w.pass(s)
		case <-w.deadline:
			w.step()
		case <-drained: // its input is closed
			drained = nil
			w.wait(closeWait)
		case <-gone:
			gone = nil
			w.hangUp()
		case <-readerGone:
			readerGone = nil
			w.hangUp()
		case <-look.C:
			w.trim()
		}
	}
}

// trim gives memory back to the system, once nothing passes.
func (w *watch) trim() {
	if idle := w.relay.Idle(); !idle {
		w.untrimmed = true
	} else if w.untrimmed {
		w.untrimmed = false
		debug.FreeOSMemory()
	}
}

func (w *watch) pass(s os.Signal) {
	sent, ok := s.(syscall.Signal)
	if !ok {
		return
	}
	w.child.Signal(sent)
	if sent == syscall.SIGTERM && !w.asked {
		w.asked = true
		w.deadline = time.After(termWait)
	}
}

// wait gives the server time for a step, unless it is in one already.
func (w *watch) wait(d time.Duration) {
	if w.deadline == nil {
		w.deadline = time.After(d)
	}
}

// hangUp ends the input of a server whose client is gone.
func (w *watch) hangUp() {
	w.relay.HangUp()
	w.wait(closeWait)
}

// step goes one step further with a server that has not ended.
func (w *watch) step() {
	if w.asked {
		w.child.Signal(syscall.SIGKILL)
		w.deadline = nil
		return
	}
	w.deadline = nil
	w.pass(syscall.SIGTERM)
}

// finish ends what the server has left behind, and lets the client have all answers. A client
// that does not read is waited for as long as there is no signal.
func (w *watch) finish() {
	killed := w.endGroup()
	for done := false; !done; {
		select {
		case <-w.served:
			done = true
		case <-w.relay.ClientGone():
			done = true
		case <-w.readerGone:
			done = true
		case <-w.signals:
			done = true
		}
	}
	waitFor(lateWait, w.relay.ClientEnded(), w.relay.ClientGone(), w.readerGone)
	w.relay.Flush(termWait)
	<-killed
}

// endGroup ends the processes that the server has left in its group.
func (w *watch) endGroup() (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		if !w.child.Left() {
			return
		}
		w.child.Signal(syscall.SIGTERM)
		const pause = 20 * time.Millisecond
		for range termWait / pause {
			if !w.child.Left() {
				return
			}
			<-time.After(pause)
		}
		w.child.Signal(syscall.SIGKILL)
	}()
	return done
}

// waitFor waits until one of the channels is closed, for at most d.
func waitFor(d time.Duration, any ...<-chan struct{}) {
	over := time.NewTimer(d)
	defer over.Stop()
	one := make(chan struct{}, len(any))
	stop := make(chan struct{})
	defer close(stop)
	for _, c := range any {
		go func() {
			select {
			case <-c:
				one <- struct{}{}
			case <-stop:
			}
		}()
	}
	select {
	case <-one:
	case <-over.C:
	}
}

// notes reports each kind of event once: the stream belongs to the server.
type notes struct {
	mu    sync.Mutex
	w     io.Writer
	noted map[string]bool
}

func (n *notes) add(kind, sentence string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.noted[kind] {
		return
	}
	n.noted[kind] = true
	fmt.Fprintln(n.w, "sentinel-guard:", sentence) //nolint:errcheck // there is nobody else to tell
}
