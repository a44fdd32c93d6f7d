// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"sync"
	"time"
)

// posedLife is how long a question that was given out in a result is open: what it says grows old, and a
// client does not tell of one that its user leaves without an answer.
const posedLife = 5 * time.Minute

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

// add enters a question and returns its state. It is false while [maxQuestions] are open: none of them is
// forgotten for it, since its user may be reading it.
func (s *posedSet) add(call string, p plan, at time.Time) (state string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.open, func(_ string, q posedQuestion) bool { return q.over(at) })
	if len(s.open) >= maxQuestions {
		return "", false
	}
	if s.open == nil {
		s.open = map[string]posedQuestion{}
	}
	state = rand.Text()
	s.open[state] = posedQuestion{call, p, at}
	return state, true
}

// over reports whether a question is too old to be answered.
func (q posedQuestion) over(now time.Time) bool { return now.Sub(q.at) > posedLife }

// take takes out the question with the state. It is false unless that is open and about the call;
// it is gone in any case.
func (s *posedSet) take(state, call string, now time.Time) (posedQuestion, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.open[state]
	delete(s.open, state)
	return q, ok && q.call == call && !q.over(now)
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
