// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"sentinel/internal/ops"
	"sentinel/internal/progress"
)

// progressPace is the least time between two notifications about one call, and
// answerPace that between the last one and the answer. The TypeScript client acts on a
// notification a moment after it has read it, and on an answer at once: of two that it reads
// together it takes the answer first, and the notification is then one too many.
const (
	progressPace = 250 * time.Millisecond
	answerPace   = 20 * time.Millisecond
)

// maxToken is the longest progress token in bytes that is sent back.
const maxToken = 1 << 10

// trackerKey is the key under which a context holds the tracker of its call.
type trackerKey struct{}

// A tracker tells the client how far one call is. Its notifications take the
// same way out as the answer and stop before it: mcp-go's own travel through a channel that
// another goroutine empties, and most arrive after the answer, where clients drop them or
// take them for an error. A nil tracker tells nothing. It is safe for concurrent use.
type tracker struct {
	token     json.RawMessage // as the client wrote it
	send      func(notification any) error
	cancelled <-chan struct{}

	mu      sync.Mutex
	closed  bool
	percent int    // the highest that is known; -1 before the first
	message string // about it
	at      time.Time
	waiting bool // what is known will be told when its time has come
}

// track puts a tracker into ctx when the call raw asks for one with a progress
// token, which is a text or a whole number (MCP, "Progress").
func (l *transport) track(ctx context.Context, raw json.RawMessage) context.Context {
	var call struct {
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(raw, &call) != nil {
		return ctx
	}
	token := call.Params.Meta["progressToken"]
	if _, ok := idKey(token); !ok || len(token) > maxToken {
		return ctx
	}
	return context.WithValue(ctx, trackerKey{}, &tracker{token: token, send: l.send, cancelled: ctx.Done(), percent: -1})
}

// trackerOf returns the tracker of the call that ctx belongs to, nil when its
// client asked for none.
func trackerOf(ctx context.Context) *tracker {
	t, _ := ctx.Value(trackerKey{}).(*tracker)
	return t
}

// listener returns what takes the progress out of the lines of a run of op; nil
// when nobody asked for it.
func (t *tracker) listener(op ops.Operation) func(line string) {
	if t == nil {
		return nil
	}
	return func(line string) {
		if percent, ok := progress.Parse(line); ok {
			t.note(percent, fmt.Sprintf("%s: %d percent done", op.Title, percent))
		}
	}
}

// note takes a percentage that is higher than all before, and tells it when the
// time has come. That all is done is left to the answer, which follows at once.
func (t *tracker) note(percent int, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if percent <= t.percent || percent >= 100 || t.closed {
		return
	}
	t.percent, t.message = percent, message
	rest := progressPace - time.Since(t.at)
	switch {
	case t.waiting:
	case rest <= 0:
		t.tell()
	default:
		t.waiting = true
		time.AfterFunc(rest, t.tellLater)
	}
}

func (t *tracker) tellLater() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = false
	t.tell()
}

// tell sends what is known. A call that was cancelled is told nothing more.
func (t *tracker) tell() {
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

// close ends the telling. Nothing is sent once it has returned, and the answer
// may be.
func (t *tracker) close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.closed = true
	rest := answerPace - time.Since(t.at)
	t.mu.Unlock()
	if rest > 0 {
		<-time.After(rest)
	}
}

// withoutProgress leaves out of what a program said on stderr how far it was:
// that is no reason for its end.
func withoutProgress(stderr []byte) []byte {
	var rest bytes.Buffer
	for line := range bytes.Lines(stderr) {
		if _, ok := progress.Parse(strings.TrimSuffix(string(line), "\n")); !ok {
			rest.Write(line)
		}
	}
	return rest.Bytes()
}
