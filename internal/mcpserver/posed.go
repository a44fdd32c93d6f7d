// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"
)

// Bounds of the questions that were given out in results.
const (
	maxPosed  = 64
	posedLife = 5 * time.Minute // what a question says grows old
)

// A posedQuestion waits for the call to be repeated with its answer.
type posedQuestion struct {
	call string // key of the call that it is about
	plan plan
	at   time.Time
}

// A posedSet holds the questions that were given out in results, by the state that comes back with
// the answer. A state is random and counts once, for the very same call: a client may send any on
// its first call. It is safe for concurrent use.
type posedSet struct {
	mu   sync.Mutex
	open map[string]posedQuestion
}

// add enters a question and returns its state. Of too many the oldest is forgotten.
func (s *posedSet) add(call string, p plan, at time.Time) (state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]posedQuestion{}
	}
	if len(s.open) >= maxPosed {
		delete(s.open, s.oldest())
	}
	state = rand.Text()
	s.open[state] = posedQuestion{call, p, at}
	return state
}

func (s *posedSet) oldest() (state string) {
	for other, q := range s.open {
		if state == "" || q.at.Before(s.open[state].at) {
			state = other
		}
	}
	return state
}

// take takes out the question with the state. It is false unless that is open and about the call;
// it is gone in any case.
func (s *posedSet) take(state, call string, now time.Time) (posedQuestion, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.open[state]
	delete(s.open, state)
	return q, ok && q.call == call && now.Sub(q.at) <= posedLife
}

// inputKey is the key under which a context holds the input of its call.
type inputKey struct{}

// An input is what a client of revision 2026-07-28 sends with a call that it repeats.
type input struct {
	State     json.RawMessage // requestState; nil when none was sent
	Responses json.RawMessage // inputResponses
}

func (in input) requestState() string {
	var state string
	if json.Unmarshal(in.State, &state) != nil {
		return ""
	}
	return state
}

// answer returns the ElicitResult, nil if there is none.
func (in input) answer() json.RawMessage {
	var responses map[string]json.RawMessage
	if json.Unmarshal(in.Responses, &responses) != nil || isNull(responses[questionID]) {
		return nil
	}
	return responses[questionID]
}
