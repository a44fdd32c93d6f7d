// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"sentinel/internal/jsonrpc"
)

const noBatches = "Invalid request: batches are part of revision " + mcp.ProtocolVersion20250326 + " alone; send one message a line"

// A batch collects the answers to the messages that came on one line. It is safe
// for concurrent use.
type batch struct {
	send func(line []byte)

	mu      sync.Mutex
	open    int // messages that are not dealt with
	answers [][]byte
}

// done takes what the answer to one message is, nil for none, and sends all answers
// as one array after the last. A batch that wants no answer gets none.
func (b *batch) done(answer []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answer != nil {
		b.answers = append(b.answers, answer)
	}
	if b.open--; b.open == 0 && len(b.answers) > 0 {
		b.send(append(append([]byte("["), bytes.Join(b.answers, []byte(","))...), ']'))
	}
}

// foreign reports whether a request that came in a batch names another revision than the one that has
// batches: what it means by that is not what the others on its line mean.
func foreign(m message) bool {
	revision, said := jsonrpc.Text(m.Meta.Get(mcp.MetaKeyProtocolVersion))
	return m.batch != nil && said && revision != mcp.ProtocolVersion20250326
}

// takeBatch handles an array of messages, each by itself. Only revision 2025-03-26 has
// them, and there a server must take them; the handshake cannot be part of one.
func (t *transport) takeBatch(ctx context.Context, messages []jsonrpc.Message) {
	why := ""
	switch {
	case t.session.ProtocolVersion() != mcp.ProtocolVersion20250326:
		why = noBatches
	case len(messages) == 0:
		why = "Invalid request: a batch holds at least one message"
	}
	if why != "" {
		t.finish(message{}, t.refused(message{}, &refusal{code: jsonrpc.InvalidRequest, sentence: why}))
		return
	}
	b := &batch{send: t.out.writeLine, open: len(messages)}
	for _, m := range messages {
		t.take(ctx, m, b)
	}
}
