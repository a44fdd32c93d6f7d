// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"sentinel/internal/sanitize"
)

// maxID is the largest number that a request may have as its id. Most JSON
// decoders make a number a float64, which beyond 2^53 no longer stands for one integer: the
// answer would go to another request.
const maxID = 1 << 53

// A message is one line of a client.
type message struct {
	raw    json.RawMessage
	rawID  json.RawMessage // as the client wrote it
	id     string          // key of a request, or of the request of ours that is answered; "" for everything else
	method string          // "" for an answer to a request of ours
	cancel string          // key of the request that a cancellation names
}

// A refusal is the answer to a line that does not become a request.
type refusal struct {
	id       json.RawMessage
	code     int
	sentence string
}

// response returns the refusal as it is sent. An id that could not be read is
// null (JSON-RPC 2.0, section 5).
func (r *refusal) response() any {
	return mcp.JSONRPCError{
		JSONRPC: mcp.JSONRPC_VERSION,
		ID:      mcp.NewRequestId(r.id),
		Error:   mcp.NewJSONRPCErrorDetails(r.code, r.sentence, nil),
	}
}

// envelope is the part of a message that decides how it is handled. mcp-go
// decodes the same line with encoding/json too, and keys that encoding/json takes for the same are
// refused, so that both see the same message.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method any             `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// parseMessage reads one line that is not blank.
func parseMessage(line []byte) (message, *refusal) {
	line = bytes.TrimSpace(line)
	var raw json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return message{}, &refusal{nil, mcp.PARSE_ERROR,
			"Parse error: a line must hold exactly one JSON object: " + sanitize.Text(err.Error(), 200)}
	}
	switch line[0] {
	case '{':
	case '[':
		return message{}, &refusal{nil, mcp.INVALID_REQUEST,
			"Invalid request: batches are not supported; send one request a line"}
	default:
		return message{}, &refusal{nil, mcp.INVALID_REQUEST, "Invalid request: a request is a JSON object"}
	}
	if sentence := ambiguousKey(raw, envelopeKeys); sentence != "" {
		return message{}, &refusal{nil, mcp.INVALID_REQUEST, sentence}
	}
	var e envelope
	if err := json.Unmarshal(line, &e); err != nil {
		return message{}, &refusal{nil, mcp.INVALID_REQUEST, "Invalid request: " + sanitize.Text(err.Error(), 200)}
	}
	return e.message(raw)
}

func (e envelope) message(raw json.RawMessage) (message, *refusal) {
	m := message{raw: raw}
	if e.Method == nil && (e.Result != nil || e.Error != nil) {
		m.id, _ = idKey(e.ID)
		return m, nil
	}
	if e.ID != nil {
		key, ok := idKey(e.ID)
		if !ok {
			return message{}, wrongID(e.ID)
		}
		m.id, m.rawID = key, e.ID
	}
	method, ok := e.Method.(string)
	switch {
	case !ok, method == "":
		return message{}, &refusal{e.ID, mcp.INVALID_REQUEST, "Invalid request: method must be a text that names what to do"}
	case e.Result != nil, e.Error != nil:
		return message{}, &refusal{e.ID, mcp.INVALID_REQUEST, "Invalid request: it has a method and an answer at once"}
	}
	if sentence := ambiguousKey(e.Params, paramsKeys); sentence != "" {
		return message{}, &refusal{e.ID, mcp.INVALID_REQUEST, sentence}
	}
	m.method = method
	if m.id == "" && method == string(mcp.MethodNotificationCancelled) {
		m.cancel = cancelled(e.Params)
	}
	return m, nil
}

// wrongID refuses a request whose id an answer could not carry reliably. A number
// is sent back as it came, so that the client finds its request; anything else is left out.
func wrongID(id json.RawMessage) *refusal {
	const most = 64
	r := &refusal{nil, mcp.INVALID_REQUEST, "Invalid request: id must be a text or a whole number of at most 2^53; leave it out in a notification"}
	if number := id[0] == '-' || id[0] >= '0' && id[0] <= '9'; number && len(id) <= most {
		r.id = id
	}
	return r
}

// idKey returns a key for the id of a request, the same for all spellings of
// it. The number 7 and the text "7" are different ids.
func idKey(id json.RawMessage) (string, bool) {
	if len(id) > 0 && id[0] == '"' {
		var text string
		err := json.Unmarshal(id, &text)
		return textKey(text), err == nil
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil || n > maxID || n < -maxID {
		return "", false
	}
	return "number " + strconv.FormatInt(n, 10), true
}

func textKey(id string) string { return "text " + id }

// cancelled returns the key of the request that notifications/cancelled names.
// One that names none is ignored, as the protocol asks.
func cancelled(params json.RawMessage) string {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	key, _ := idKey(p.RequestID)
	return key
}
