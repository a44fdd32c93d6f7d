// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestClientThatDoesNotReadEndsTheConnection has a client that stays and does not
// read: the reader of requests hangs in an answer and never sees the end of its input.
func TestClientThatDoesNotReadEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		p.send(ping("1"))
		began := time.Now()
		if err := p.ended(); !errors.Is(err, errClientGone) {
			t.Errorf("serve: %v, want errClientGone", err)
		}
		if took, most := time.Since(began), testLimit+grace+settleTimeout; took < testLimit || took > most {
			t.Errorf("ended after %v, want within %v", took, most)
		}
	})
}

// TestSlowReaderIsWaitedFor has a client that reads shortly before it would be
// given up.
func TestSlowReaderIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		for range 3 {
			p.send(ping("1"))
			<-time.After(testLimit + grace - time.Second)
			p.expect("1: ok")
		}
		if err := p.ended(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}
