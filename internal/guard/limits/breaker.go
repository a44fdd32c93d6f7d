// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"
)

// When the breaker opens, and for how long.
const (
	ratioSpan  = time.Minute
	ratioCalls = 10 // fewer calls in the span have no ratio
	inARow     = 5  // failures, in whatever time
	openFor    = time.Minute
	bucket     = 5 * time.Second
)

// What came of a call; nil is that the server has answered.
var (
	errFailed  = errors.New("the server failed")
	errNothing = errors.New("nothing is known of the server by it")
)

// A breaker keeps calls from a server that fails. Calls count when they end, not when they begin:
// a call of two minutes that fails says how the server is now. It is for one caller at a time.
type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
	ratio   float64 // of failures at which it opens; 0 when it is off
	row     int     // failures since the last success
	until   time.Time
}

func newBreaker() *breaker {
	b := &breaker{}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:  1,
		Interval:     ratioSpan,
		BucketPeriod: bucket,
		Timeout:      openFor,
		IsExcluded:   func(err error) bool { return errors.Is(err, errNothing) },
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return b.row >= inARow || c.Requests >= ratioCalls && float64(c.TotalFailures) >= b.ratio*float64(c.Requests)
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			b.row = 0
			if to == gobreaker.StateOpen {
				b.until = time.Now().Add(openFor)
			}
		},
	})
	return b
}

// enter says whether a call may pass; if not, after how long one may, 0 when that depends on the
// one that is under way. A call that tries whether the server works again returns its probe.
func (b *breaker) enter() (probe func(error), wait time.Duration, ok bool) {
	if b.ratio == 0 {
		return nil, 0, true
	}
	switch b.circuit.State() {
	case gobreaker.StateClosed:
		return nil, 0, true
	case gobreaker.StateOpen:
		return nil, time.Until(b.until), false
	}
	probe, err := b.circuit.Allow()
	return probe, 0, err == nil
}

// ended counts what came of a call.
func (b *breaker) ended(probe func(error), outcome error) {
	if probe != nil {
		probe(outcome)
		return
	}
	if b.ratio == 0 || errors.Is(outcome, errNothing) || b.circuit.State() != gobreaker.StateClosed {
		return
	}
	if b.row++; outcome == nil {
		b.row = 0
	}
	if done, err := b.circuit.Allow(); err == nil {
		done(outcome)
	}
}
