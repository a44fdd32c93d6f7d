// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"sync"
)

// maxInFlight is how many requests may wait for their answers at a time.
const maxInFlight = 256

// Why a request is refused, as the client reads it.
const (
	idInUse = "Invalid request: this id belongs to a request that is still running; every request needs its own"
	tooMany = "Too many requests are running: wait for an answer before sending the next one"
	closing = "The server is shutting down"
)

// A registry holds the running requests, so that each can be cancelled by its id
// and all can be waited for. It is safe for concurrent use.
type registry struct {
	mu      sync.Mutex
	closed  bool
	running map[string]*running
	counted sync.WaitGroup
}

// running is a request between its arrival and its answer.
type running struct {
	cancel    context.CancelFunc
	counted   bool // the end of input waits for it
	cancelled bool // by the client, which wants no answer
	settled   bool // the answer is on its way: too late to cancel
}

func newRegistry() *registry {
	return &registry{running: map[string]*running{}}
}

// add enters a request before any of its work begins, so that a cancellation on
// the next line finds it. The caller removes it once it is answered. Only counted requests
// are waited for. add returns why it refused the request, or "".
func (r *registry) add(key string, cancel context.CancelFunc, counted bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return closing
	case r.running[key] != nil:
		return idInUse
	case len(r.running) >= maxInFlight:
		return tooMany
	}
	r.running[key] = &running{cancel: cancel, counted: counted}
	if counted {
		r.counted.Add(1)
	}
	return ""
}

// remove takes out a request that add has entered.
func (r *registry) remove(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[key].counted {
		r.counted.Done()
	}
	delete(r.running, key)
}

// has says whether a request runs.
func (r *registry) has(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[key] != nil
}

// cancel cancels a running request. One that is not there was answered already.
func (r *registry) cancel(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if request := r.running[key]; request != nil && !request.settled {
		request.cancelled = true
		request.cancel()
	}
}

// settle says whether the answer to a running request is to be sent: one that its
// client has cancelled gets none (MCP 2026-07-28, "Cancellation"; the revisions before advise
// it, and some clients end the connection over such an answer). From now on it is too late to
// cancel.
func (r *registry) settle(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[key].settled = true
	return !r.running[key].cancelled
}

// close refuses new requests, and returns a channel that is closed when all
// counted ones are answered.
func (r *registry) close() <-chan struct{} {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		r.counted.Wait()
		close(idle)
	}()
	return idle
}
