// SPDX-License-Identifier: Apache-2.0

// Package jsonrpc reads JSON-RPC 2.0 messages, one a line, as the Model Context
// Protocol sends them over standard input and output.
//
// It reads so strictly that no two readers can take a message for two different
// ones: what has a name twice, a name that differs from one with a meaning only by case, text
// that is no Unicode, or an id that a reader may round, is refused with a sentence. Whoever
// decides by what it returned may hand the same bytes to another reader.
package jsonrpc

import (
	"bytes"
	"fmt"
	"sync"
)

// Codes of errors (JSON-RPC 2.0, section 5.1).
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
)

// Version is what every message must have as its member jsonrpc.
const Version = "2.0"

// MaxBatch is how many messages may stand in one batch.
const MaxBatch = 100

// A Fault says why something that was sent is no message.
type Fault struct {
	Code         int    // ParseError or InvalidRequest
	Reason       string // a sentence for the sender
	Notification bool   // it is none that wants an answer: it has a method and no id at all
	Answered     ID     // the id of the request that it would have answered; nil when it is no answer, or that cannot be told
}

// A Message is one request, notification or answer.
type Message struct {
	Raw     []byte // as it came, without blanks around
	ID      ID     // nil for a notification; when there is a fault, nil unless it could be read
	Method  string // "" for an answer; when there is a fault, "" unless it could be read
	Params  []byte // nil when there are none
	Members Object // of params, when these are an object
	Meta    Object // of the _meta in params
	Result  []byte
	Outcome Object // of result, when it is an object
	Error   []byte
	Fault   *Fault // why it is no message; nil when it is one
}

// Request says that the message wants an answer.
func (m *Message) Request() bool { return m.Method != "" && m.ID != nil }

// Answer says that the message answers a request.
func (m *Message) Answer() bool { return m.Method == "" && m.Fault == nil }

// A Frame is what one line holds: one message, or a batch of them.
type Frame struct {
	Messages []Message
	Batch    bool // the line is an array; without messages it is an empty one
}

// Parse reads one line that is not blank. The messages share its bytes. A line
// that is no JSON is one message with a fault.
func Parse(line []byte) Frame {
	r := readers.Get().(*reader)
	defer r.done()
	r.in = line
	if bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) {
		r.fail("it begins with a byte order mark")
		r.at = 3
		return r.noJSON()
	}
	if r.next() == '[' {
		return r.batch()
	}
	messages := make([]Message, 1)
	r.message(0, &messages[0])
	if r.broken == "" && !r.ended() {
		r.fail("something follows it")
	}
	if r.broken != "" {
		return r.noJSON()
	}
	return Frame{Messages: messages}
}

// ParseHead reads the beginning of a line, and its end where that is known too, of which the
// whole is not at hand or is no JSON. It returns a message with a fault in which nothing but the
// method and the ids are filled in, as far as they can be told.
func ParseHead(head, tail []byte) Message {
	s := &scanner{in: head}
	top := &place{known: envelopeNames()}
	s.value(0, top)
	envelope := top.kept
	if envelope.Get("id") == nil {
		if id := lastID(tail); id != nil {
			envelope = append(envelope, Member{"id", id})
		}
	}
	var m Message
	m.Fault = &Fault{Code: InvalidRequest}
	m.identify(envelope)
	return m
}

// lastID returns the id in the last members of an object of which tail is the end: many senders
// write it after the params or the result.
func lastID(tail []byte) ID {
	if n := lastMember(tail, `"jsonrpc"`); n >= 0 && bytes.Count(tail[n:], []byte(`"`)) == 4 {
		tail = append(tail[:n:n], '}')
	}
	n := lastMember(tail, `"id"`)
	if n < 0 {
		return nil
	}
	members, ok := ParseObject(append([]byte("{"), tail[n+1:]...))
	if !ok || len(members) != 1 {
		return nil
	}
	return members[0].Value
}

// lastMember returns where the comma before the last member of a name is, or -1.
func lastMember(tail []byte, quoted string) int {
	n := bytes.LastIndex(tail, []byte(quoted))
	before := bytes.TrimRight(tail[:max(n, 0)], " ")
	if !bytes.HasSuffix(before, []byte(",")) {
		return -1
	}
	return len(before) - 1
}

// A reader reads one line, and then another: most messages are so short that making one anew
// would take as long as reading.
type reader struct {
	scanner
	top, params, meta, result place
	inTop                     [2]inner
	inParams                  [1]inner
}

var readers = sync.Pool{New: func() any { return newReader() }}

func newReader() *reader {
	r := &reader{top: place{known: envelopeNames()}, params: place{known: paramsNames()}, meta: place{known: metaNames()}}
	r.inParams = [1]inner{{"_meta", &r.meta}}
	r.params.below = r.inParams[:]
	r.inTop = [2]inner{{"params", &r.params}, {"result", &r.result}}
	r.top.below = r.inTop[:]
	return r
}

// done has the reader used again, without what it has read.
func (r *reader) done() {
	const most = 64
	names, envelope := r.names[:cap(r.names)], r.top.kept[:cap(r.top.kept)]
	if len(names) > most || len(envelope) > most {
		return
	}
	clear(names)
	clear(envelope)
	r.scanner = scanner{names: names[:0]}
	r.top.kept = envelope[:0]
	r.params.kept, r.meta.kept, r.result.kept = nil, nil, nil
	readers.Put(r)
}

// noJSON is the frame of a line that is no JSON. It names no id, even when one was
// read: of two objects on a line it would be that of the first alone.
func (r *reader) noJSON() Frame {
	reason := "Parse error: a line must hold exactly one JSON object: " + r.broken
	return Frame{Messages: []Message{{Fault: &Fault{Code: ParseError, Reason: reason}}}}
}

// batch reads an array of messages. It is read to its end even when it has too
// many.
func (r *reader) batch() Frame {
	f := Frame{Batch: true}
	count := 0
	ok := r.list(']', func() bool {
		if count++; count > MaxBatch {
			return r.value(1, nil)
		}
		r.doubt = ""
		f.Messages = append(f.Messages, Message{})
		r.message(1, &f.Messages[count-1])
		return r.broken == ""
	})
	switch {
	case !ok, !r.ended():
		r.fail("something follows it")
		return r.noJSON()
	case count > MaxBatch:
		reason := fmt.Sprintf("Invalid request: a batch may hold %d messages, not %d", MaxBatch, count)
		return Frame{Batch: true, Messages: []Message{{Fault: &Fault{Code: InvalidRequest, Reason: reason}}}}
	}
	return f
}

// message reads one value and makes a message of it.
func (r *reader) message(depth int, m *Message) {
	first := r.next()
	from := r.at
	r.top.kept = r.top.kept[:0]
	r.params.kept, r.meta.kept, r.result.kept = nil, nil, nil
	r.value(depth, &r.top)
	m.Raw = r.in[from:r.at:r.at]
	m.Members, m.Meta, m.Outcome = r.params.kept, r.meta.kept, r.result.kept
	switch {
	case r.broken != "":
	case first != '{':
		m.refuse("a request is a JSON object")
	case r.doubt != "":
		m.refuse(r.doubt)
	default:
		m.take(r.top.kept)
	}
	if m.Fault != nil {
		m.identify(r.top.kept)
	}
}

// identify fills in what a message with a fault is about, as far as that can be told: the id is
// nil when there are two, when it could not be sent back (a text that is no Unicode, or what can
// be no id at all), and in an answer: its id is that of a request of the other side, and a refusal
// that bears it would answer another request.
func (m *Message) identify(envelope Object) {
	m.ID = nil
	request := envelope.has("method") || envelope.has("params")
	switch {
	case !request && (envelope.has("result") || envelope.has("error")):
		m.Fault.Answered = onlyID(envelope)
	default:
		m.ID = onlyID(envelope)
	}
	if method := envelope.only("method"); len(method) > 2 && method[0] == '"' {
		m.Method = said(method)
		m.Fault.Notification = !envelope.has("id")
	}
}

func onlyID(envelope Object) ID { return sendable(envelope.only("id")) }

// sendable returns an id that may stand in an answer, else nil.
func sendable(id ID) ID {
	s := &scanner{in: id}
	switch first := s.next(); {
	case first == '"' && s.value(0, nil) && s.doubt == "":
		return id
	case (first == '-' || digit(first)) && len(id) <= maxNumber:
		return id
	default:
		return nil
	}
}

func (m *Message) refuse(why string) {
	m.Fault = &Fault{Code: InvalidRequest, Reason: "Invalid request: " + why}
}

// take fills the message from the members of its envelope.
func (m *Message) take(envelope Object) {
	id, method := envelope.Get("id"), envelope.Get("method")
	m.ID = sendable(id) // of an answer it is null when the request could not be read
	m.Params, m.Result, m.Error = envelope.Get("params"), envelope.Get("result"), envelope.Get("error")
	answers := m.Result != nil || m.Error != nil
	switch {
	case string(envelope.Get("jsonrpc")) != `"`+Version+`"`:
		m.refuse(`jsonrpc must be "` + Version + `"`)
	case method == nil && m.Result != nil && m.Error != nil:
		m.refuse("it has a result and an error at once")
	case method == nil && answers:
	case id != nil && !usable(m.ID):
		m.refuse("id must be a text or a whole number of at most 2^53; leave it out in a notification")
	case len(method) < 3 || method[0] != '"':
		m.refuse("method must be a text that names what to do")
	case answers:
		m.refuse("it has a method and an answer at once")
	default:
		m.Method = said(method)
	}
}

func usable(id ID) bool {
	var room [maxNumber + len(textKind)]byte
	_, ok := id.AppendKey(room[:0])
	return ok
}

// said returns what a string of JSON that was read before says.
func said(text []byte) string {
	s := &scanner{in: text}
	raw, escaped, _ := s.text()
	if escaped {
		raw = unescaped(raw)
	}
	return string(raw)
}

// Text returns what the value of a member says. It is false when that is no text.
func Text(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	return said(value), true
}

// ParseObject reads one object as strictly as a message, its names by spelling
// alone.
func ParseObject(text []byte) (members Object, ok bool) {
	return parseObject(&scanner{in: text})
}

// ParseFolded reads one object as ParseObject does, for readers that fold case, as encoding/json does: at no
// depth are two names of an object one to them.
func ParseFolded(text []byte) (members Object, ok bool) {
	return parseObject(&scanner{in: text, folds: true})
}

func parseObject(s *scanner) (members Object, ok bool) {
	if s.next() != '{' {
		return nil, false
	}
	var p place
	ok = s.object(0, &p) && s.ended()
	return p.kept, ok && s.doubt == ""
}

// ParseArray returns the items of an array as they came, nil when it is none.
func ParseArray(text []byte) (items [][]byte) {
	s := &scanner{in: text}
	if s.next() != '[' {
		return nil
	}
	ok := s.list(']', func() bool {
		s.next()
		from := s.at
		whole := s.value(1, nil)
		items = append(items, s.in[from:s.at:s.at])
		return whole
	})
	if !ok || !s.ended() {
		return nil
	}
	return items
}
