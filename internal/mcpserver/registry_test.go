// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
)

// cancelable returns a cancel function for the registry and a way to see
// whether it was called.
func cancelable(t *testing.T) (context.CancelFunc, func() bool) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return cancel, func() bool { return ctx.Err() != nil }
}

func TestCancelReachesOnlyItsRequest(t *testing.T) {
	r := newRegistry()
	cancelNumber, number := cancelable(t)
	cancelText, text := cancelable(t)
	r.add("number 7", cancelNumber, true)
	r.add("text 7", cancelText, true)
	r.cancel("number 8")
	r.cancel("text 7")
	if number() || !text() {
		t.Errorf("cancelled: number %v, text %v; want only the text", number(), text())
	}
	r.remove("number 7")
	r.cancel("number 7")
	if number() {
		t.Error("a request that was answered was cancelled")
	}
}

func TestCancelledRequestIsNotAnswered(t *testing.T) {
	r := newRegistry()
	for _, key := range []string{"cancelled", "answered"} {
		r.add(key, func() {}, true)
	}
	r.cancel("cancelled")
	if r.settle("cancelled") {
		t.Error("a cancelled request is answered")
	}
	if !r.settle("answered") {
		t.Error("a request is not answered although nobody cancelled it")
	}
	cancel, cancelled := cancelable(t)
	r.add("late", cancel, true)
	r.settle("late")
	if r.cancel("late"); cancelled() {
		t.Error("a request whose answer is on its way was cancelled")
	}
}

func TestIDIsTakenUntilItsRequestIsAnswered(t *testing.T) {
	r := newRegistry()
	if why := r.add("number 1", func() {}, true); why != "" {
		t.Fatal(why)
	}
	if why := r.add("number 1", func() {}, true); why != idInUse {
		t.Errorf("second request with the id: %q, want %q", why, idInUse)
	}
	r.remove("number 1")
	if why := r.add("number 1", func() {}, true); why != "" {
		t.Errorf("after the answer: %q", why)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	r := newRegistry()
	for i := range maxInFlight {
		if why := r.add("number "+strconv.Itoa(i), func() {}, false); why != "" {
			t.Fatalf("request %d: %s", i, why)
		}
	}
	if why := r.add("one more", func() {}, false); why != tooMany {
		t.Errorf("%q, want %q", why, tooMany)
	}
}

func TestCloseWaitsForCountedRequestsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		r.add("call", func() {}, true)
		r.add("stream", func() {}, false)
		idle := r.close()
		synctest.Wait()
		select {
		case <-idle:
			t.Fatal("idle although a call runs")
		default:
		}
		if why := r.add("late", func() {}, true); why != closing {
			t.Errorf("after close: %q, want %q", why, closing)
		}
		r.remove("call")
		<-idle
	})
}
