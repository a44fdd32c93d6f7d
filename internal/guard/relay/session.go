// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"hash/maphash"
	"sync"
	"time"

	"sentinel/internal/guard/stage"
	"sentinel/internal/jsonrpc"
)

// revisionWithBatches is the only one in which a line may be an array.
const revisionWithBatches = "2025-03-26"

// metaRevision is where requests say their revision from 2026-07-28 on, which has no handshake.
const metaRevision = "io.modelcontextprotocol/protocolVersion"

// maxRetries is how many calls are remembered for which the server has asked for input.
const maxRetries = 1 << 10

// A session is what the traffic has told: nothing is negotiated here. It is safe for concurrent
// use.
type session struct {
	seed maphash.Seed

	mu       sync.Mutex
	revision string
	agreed   bool // in a handshake, which holds for all that follows
	calls    int
	retries  map[uint64]retry // by the digest of the call
	order    []uint64         // of retries, oldest first
}

// A retry is a call that the client is to repeat with the input that the server has asked for.
type retry struct {
	number int
	state  string // requestState, which the client sends back as it came
}

func newSession() *session {
	return &session{seed: maphash.MakeSeed(), retries: map[uint64]retry{}}
}

// spoken returns the revision, "" while it is not known.
func (s *session) spoken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// begin notes a request and returns its entry.
func (s *session) begin(from stage.Side, m *jsonrpc.Message) *entry {
	key, _ := m.ID.Key()
	e := &entry{key: key, call: stage.Call{ID: bytes.Clone(m.ID), Method: m.Method, Name: stage.NameOf(m.Method, m.Members)}, began: time.Now()}
	_, repeatable := stage.NameMember(m.Method)
	s.mu.Lock()
	defer s.mu.Unlock()
	revision, told := jsonrpc.Text(m.Meta.Get(metaRevision))
	if told && from == stage.Client && !s.agreed {
		s.revision = revision
	}
	if repeatable && told {
		e.digest = s.digest(m)
		e.call.Number, e.call.Retry = s.repeats(e.digest, m)
	}
	if !e.call.Retry {
		s.calls++
		e.call.Number = s.calls
	}
	return e
}

// digest returns a number that two requests share when they ask for the same.
func (s *session) digest(m *jsonrpc.Message) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	put := func(part []byte) {
		h.Write(part)
		h.Write([]byte{0})
	}
	put([]byte(m.Method))
	for _, member := range m.Members {
		if member.Name == "_meta" || member.Name == "inputResponses" || member.Name == "requestState" {
			continue
		}
		put([]byte(member.Name))
		put(member.Value)
	}
	return h.Sum64()
}

// repeats says which call a request repeats with the input that was asked for.
func (s *session) repeats(digest uint64, m *jsonrpc.Message) (number int, ok bool) {
	state := m.Members.Get("requestState")
	if m.Members.Get("inputResponses") == nil && state == nil {
		return 0, false
	}
	known, ok := s.retries[digest]
	if !ok || known.state != string(state) {
		return 0, false
	}
	delete(s.retries, digest)
	return known.number, true
}

// answered notes what an answer tells.
func (s *session) answered(from stage.Side, e *entry, m *jsonrpc.Message) {
	if from != stage.Server || m.Outcome == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.call.Method == "initialize" {
		if revision, ok := jsonrpc.Text(m.Outcome.Get("protocolVersion")); ok {
			s.revision, s.agreed = revision, true
		}
	}
	if kind, _ := jsonrpc.Text(m.Outcome.Get("resultType")); kind != "input_required" || e.digest == 0 {
		return
	}
	s.retries[e.digest] = retry{e.call.Number, string(m.Outcome.Get("requestState"))}
	if s.order = append(s.order, e.digest); len(s.order) > maxRetries {
		delete(s.retries, s.order[0])
		s.order = s.order[1:]
	}
}
