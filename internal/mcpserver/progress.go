// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"sentinel/internal/ops"
	"sentinel/internal/progress"
)

// progressPace is the least time between two notifications about one call, and
// answerPace between the last one and the answer, where it is not known that the client
// has read it ([waitRead]). The TypeScript client handles a notification a moment after
// reading it, and an answer at once: of two that it reads together it handles the answer
// first, and then the notification is an error.
const (
	progressPace = 250 * time.Millisecond
	answerPace   = 20 * time.Millisecond
)

// maxToken is the longest progress token in bytes that is sent back.
const maxToken = 1 << 10

// trackerKey is the key under which a context holds the tracker of its call.
type trackerKey struct{}

// A tracker sends the progress of one call to the client. Its notifications are
// written like the answer and stop before it: mcp-go sends its own through a channel that
// another goroutine empties, and most arrive after the answer, where clients drop them or
// take them for an error. A nil tracker sends nothing. It is safe for concurrent use.
type tracker struct {
	token     json.RawMessage // as the client wrote it
	send      func(notification any) error
	cancelled <-chan struct{}
	read      func() // waits until the client has read what was sent

	mu        sync.Mutex
	closed    bool
	percent   int    // the highest so far; -1 before the first
	message   string // about it
	at        time.Time
	scheduled bool // percent is to be sent when progressPace allows it
}

// track puts a tracker into ctx when the call has a progress token, which is a
// text or a whole number (MCP, "Progress"); others were refused.
func (t *transport) track(ctx context.Context, m message) context.Context {
	token := given(m.Meta, "progressToken")
	if token == nil {
		return ctx
	}
	return context.WithValue(ctx, trackerKey{}, &tracker{token: json.RawMessage(token), send: t.send, cancelled: ctx.Done(), read: t.out.waitRead, percent: -1})
}

// trackerOf returns the tracker of the call that ctx belongs to, nil when its
// client asked for none.
func trackerOf(ctx context.Context) *tracker {
	t, _ := ctx.Value(trackerKey{}).(*tracker)
	return t
}

// listener returns the function that reads the progress of op from a line of
// its stderr; nil when the client did not ask for progress.
func (t *tracker) listener(op ops.Operation) func(line string) {
	if t == nil {
		return nil
	}
	return func(line string) {
		percent, words, ok := progress.Parse(line)
		switch {
		case !ok:
		case words == "":
			t.note(percent, fmt.Sprintf("%s: %d percent done", op.Title, percent))
		default:
			t.say(percent, op.Title+": "+words)
		}
	}
}

// say sends a message that is new, with a percentage that is higher than all
// before, as the protocol asks: what is done next is worth it where the share is not known.
func (t *tracker) say(percent int, message string) {
	t.mu.Lock()
	if percent <= t.percent && message != t.message {
		percent = t.percent + 1
	}
	t.mu.Unlock()
	t.note(percent, message)
}

// waitPace is the time between two notifications of a call that waits.
const waitPace = 2 * time.Second

// during says what a call waits for, again and again until stop is called: a client may take one
// that says nothing for hung. The program of the call does so itself.
func (t *tracker) during(words string) (stop func()) {
	if t == nil {
		return func() {}
	}
	over := make(chan struct{})
	go func() {
		for began := time.Now(); ; {
			select {
			case <-over:
				return
			case <-time.After(waitPace):
				t.say(0, fmt.Sprintf("%s (%d s so far)", words, int(time.Since(began).Seconds())))
			}
		}
	}()
	return sync.OnceFunc(func() { close(over) })
}

// note sends a percentage that is higher than all before, at once or when
// progressPace allows it. 100 is left to the answer, which follows at once.
func (t *tracker) note(percent int, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if percent <= t.percent || percent >= 100 || t.closed {
		return
	}
	t.percent, t.message = percent, message
	rest := progressPace - time.Since(t.at)
	switch {
	case t.scheduled:
	case rest <= 0:
		t.sendNow()
	default:
		t.scheduled = true
		time.AfterFunc(rest, t.sendScheduled)
	}
}

func (t *tracker) sendScheduled() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.scheduled = false
	t.sendNow()
}

// sendNow sends the latest percentage, unless the call was cancelled.
func (t *tracker) sendNow() {
	select {
	case <-t.cancelled:
		t.closed = true
	default:
	}
	if t.closed {
		return
	}
	t.at = time.Now()
	t.send(newNotification(t.token, t.percent, t.message)) //nolint:errcheck // numbers and texts alone always encode
}

// A notification is notifications/progress as it goes out.
type notification struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress int             `json:"progress"`
		Total    int             `json:"total"`
		Message  string          `json:"message"`
	} `json:"params"`
}

func newNotification(token json.RawMessage, percent int, message string) (n notification) {
	n.JSONRPC, n.Method = mcp.JSONRPC_VERSION, string(mcp.MethodNotificationProgress)
	n.Params.Token, n.Params.Progress, n.Params.Total, n.Params.Message = token, percent, 100, message
	return n
}

// close stops the notifications, and returns when the answer may be sent.
func (t *tracker) close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.closed = true
	sent, rest := !t.at.IsZero(), answerPace-time.Since(t.at)
	t.mu.Unlock()
	if rest > 0 {
		<-time.After(rest)
	}
	if sent {
		t.read()
	}
}
