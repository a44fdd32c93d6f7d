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
	cancels map[string]context.CancelFunc
	counted sync.WaitGroup
}

func newRegistry() *registry {
	return &registry{cancels: map[string]context.CancelFunc{}}
}

// add enters a request before any of its work begins, so that a cancellation on
// the next line finds it. The caller removes it once it is answered. Only counted requests
// are waited for. add returns why it refused the request, or "".
func (r *registry) add(key string, cancel context.CancelFunc, counted bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch _, used := r.cancels[key]; {
	case r.closed:
		return closing
	case used:
		return idInUse
	case len(r.cancels) >= maxInFlight:
		return tooMany
	}
	r.cancels[key] = cancel
	if counted {
		r.counted.Add(1)
	}
	return ""
}

// remove takes out a request that add has entered.
func (r *registry) remove(key string, counted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.cancels, key)
	if counted {
		r.counted.Done()
	}
}

// cancel cancels a running request. One that is not there was answered already.
func (r *registry) cancel(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel, ok := r.cancels[key]; ok {
		cancel()
	}
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
