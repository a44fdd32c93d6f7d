// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"sentinel/internal/jsonrpc"
	"sentinel/internal/sanitize"
)

// errNoAnswer reports that the client has closed its end, and so answers no
// request of ours.
var errNoAnswer = errors.New("the client answers no more requests")

// A clientError is the error with which the client answered a request of ours.
type clientError struct {
	Code    int
	Message string
}

// Error implements error.
func (e *clientError) Error() string {
	return fmt.Sprintf("the client answered with error %d: %s", e.Code, sanitize.Text(e.Message, 200))
}

// A questions holds the requests that the server has sent to the client and that
// are not answered. Their ids begin with random letters, so that no id that a client guesses
// or uses for itself is one of them. It is safe for concurrent use.
type questions struct {
	mu      sync.Mutex
	prefix  string
	count   int
	closed  bool
	waiting map[string]chan json.RawMessage // answers, by key of the id
}

func newQuestions() *questions {
	return &questions{prefix: rand.Text() + "-", waiting: map[string]chan json.RawMessage{}}
}

// add enters a question and returns its id and where its answer arrives; that
// is closed without one when the client has closed its end.
func (q *questions) add() (id string, answer <-chan json.RawMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count++
	id = q.prefix + strconv.Itoa(q.count)
	c := make(chan json.RawMessage, 1)
	if q.closed {
		close(c)
	} else {
		q.waiting[jsonrpc.TextKey(id)] = c
	}
	return id, c
}

// remove takes out a question and says whether it still waited for its answer.
func (q *questions) remove(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, waited := q.waiting[jsonrpc.TextKey(id)]
	delete(q.waiting, jsonrpc.TextKey(id))
	return waited
}

// answered hands an answer of the client to whoever asked. It is false for an
// answer to nothing that waits: the first of two counts.
func (q *questions) answered(key string, message json.RawMessage) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c, ok := q.waiting[key]
	delete(q.waiting, key)
	if ok {
		c <- message
	}
	return ok
}

// close ends the wait of all who asked, now and later.
func (q *questions) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for key, c := range q.waiting {
		close(c)
		delete(q.waiting, key)
	}
}

// A question is a request of ours as it goes out.
type question struct {
	JSONRPC string `json:"jsonrpc"`
	ID      string `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
}

// transportKey is the key under which a context holds the transport of its
// request.
type transportKey struct{}

// ask sends a request to the client that the call of ctx came from, and returns
// the result with which it answers. Its error is a [*clientError] when the client answers
// with one, errNoAnswer when it has closed its end, and the cause of ctx when that ends
// first; the client is then told that its answer is no longer wanted.
func ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	t, ok := ctx.Value(transportKey{}).(*transport)
	if !ok {
		return nil, errNoAnswer
	}
	id, answer := t.questions.add()
	defer t.questions.remove(id)
	if err := t.send(question{mcp.JSONRPC_VERSION, id, method, params}); err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	select {
	case message, ok := <-answer:
		if !ok {
			return nil, errNoAnswer
		}
		return resultOf(message)
	case <-ctx.Done():
		if t.questions.remove(id) {
			t.withdraw(id)
		}
		return nil, context.Cause(ctx)
	}
}

// resultOf returns the result in an answer, or the error in it.
func resultOf(message json.RawMessage) (json.RawMessage, error) {
	answer, _ := jsonrpc.ParseObject(message)
	if failed := answer.Get("error"); failed != nil {
		return nil, newClientError(failed)
	}
	return json.RawMessage(answer.Get("result")), nil
}

// newClientError reads the error in an answer. One that has not the form of an error is one all the same:
// its code is 0, which is that of no error.
func newClientError(raw []byte) *clientError {
	members, _ := jsonrpc.ParseObject(raw)
	var e clientError
	e.Message, _ = jsonrpc.Text(members.Get("message"))
	if code, err := strconv.Atoi(string(members.Get("code"))); err == nil {
		e.Code = code
	}
	return &e
}

// withdraw tells the client that a question needs no answer any more.
func (t *transport) withdraw(id string) {
	params := struct {
		ID string `json:"requestId"`
	}{id}
	t.send(cancellation{mcp.JSONRPC_VERSION, string(mcp.MethodNotificationCancelled), params}) //nolint:errcheck // texts alone always encode
}

// A cancellation is notifications/cancelled as it goes out.
type cancellation struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}
