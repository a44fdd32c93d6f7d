// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
)

const sessionHeader = "Mcp-Session-Id"

// A streamable carries the stdio of programs to clients that know only Streamable HTTP
// (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports). A session with a
// handshake has a program of its own; all requests without one share the program of the session "".
type streamable struct {
	t       *testing.T
	command []string

	mu       sync.Mutex
	sessions map[string]*session
}

func (s *streamable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !local(r.Host) || r.Header.Get("Origin") != "" && !local(origin(r)) {
		http.Error(w, "not of this machine", http.StatusForbidden)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m := parse(raw)
	in := s.session(r.Header.Get(sessionHeader), m.Method == "initialize" && r.Header.Get("MCP-Protocol-Version") != "2026-07-28")
	switch {
	case in == nil:
		http.Error(w, "no such session", http.StatusNotFound)
	case r.Method == http.MethodPost:
		w.Header().Set(sessionHeader, in.id)
		in.post(w, r, raw, m)
	case r.Method == http.MethodGet && in.id != "":
		in.listen(w, r)
	case r.Method == http.MethodDelete && in.id != "":
		s.end(in)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// local says whether a name or an address with a port is of this machine, which a page that has
// had its own name point here is not.
func local(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return name == "localhost" || name == "127.0.0.1"
}

func origin(r *http.Request) string {
	u, err := url.Parse(r.Header.Get("Origin"))
	if err != nil {
		return ""
	}
	return u.Host
}

// session returns one that runs, and starts it where the request is its first; nil where there is none.
func (s *streamable) session(id string, first bool) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" && first {
		id = strconv.Itoa(len(s.sessions) + 1)
	} else if id != "" || s.sessions[""] != nil {
		return s.sessions[id]
	}
	s.sessions[id] = s.start(id)
	return s.sessions[id]
}

func (s *streamable) start(id string) *session {
	cmd := exec.Command(s.command[0], s.command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Error(err)
		return nil
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Error(err)
		return nil
	}
	if err := cmd.Start(); err != nil {
		s.t.Error(err)
		return nil
	}
	started := &session{id: id, stdin: in, ended: make(chan struct{})}
	go func() {
		defer close(started.ended)
		started.read(out)
		cmd.Wait()
	}()
	return started
}

// end closes the program of a session and waits for it.
func (s *streamable) end(in *session) {
	s.mu.Lock()
	s.sessions[in.id] = nil // the number is not given again
	s.mu.Unlock()
	in.stdin.Close()
	<-in.ended
}

func (s *streamable) close() {
	s.mu.Lock()
	running := s.sessions
	s.sessions = map[string]*session{}
	s.mu.Unlock()
	for _, in := range running {
		if in != nil {
			in.stdin.Close()
			<-in.ended
		}
	}
}

// A session is one program.
type session struct {
	id    string
	stdin io.WriteCloser
	ended chan struct{}

	mu      sync.Mutex
	streams []*stream // the last one takes what belongs to none
	count   int
}

// A stream is what one HTTP response carries: what goes with a request, or all the rest.
type stream struct {
	id, inner json.RawMessage // of the request, as the client and as the program know it
	token     json.RawMessage // of its progress
	messages  chan []byte
}

// A parsed message has what routes it.
type parsed struct {
	ID     json.RawMessage
	Method string
	Error  *struct{ Code int }
	params
}

type params struct {
	ProgressToken json.RawMessage `json:"progressToken"`
	Meta          struct {
		ProgressToken json.RawMessage `json:"progressToken"`
		Subscription  json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
	} `json:"_meta"`
}

// parse leaves empty what is not as it should be: to judge that is the program's business.
func parse(raw []byte) (m parsed) {
	var whole struct{ Params json.RawMessage }
	_ = json.Unmarshal(raw, &m)
	_ = json.Unmarshal(raw, &whole)
	_ = json.Unmarshal(whole.Params, &m.params)
	return m
}

// post hands a message to the program and answers with what the program says to it.
func (s *session) post(w http.ResponseWriter, r *http.Request, raw []byte, m parsed) {
	if len(m.ID) == 0 || m.Method == "" {
		s.write(raw)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	request := s.open(&stream{id: m.ID, inner: m.ID, token: m.Meta.ProgressToken})
	defer s.close(request)
	s.write(renamed(raw, request.inner))
	if !s.forward(w, r, request) && s.id == "" { // how a client cancels where there is no session
		s.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, request.inner))
	}
}

// listen answers with what belongs to no request.
func (s *session) listen(w http.ResponseWriter, r *http.Request) {
	all := s.open(&stream{})
	defer s.close(all)
	asEvents(w)
	s.forward(w, r, all)
}

// open adds a stream. Clients of one program do not know of each other's ids, so they get new ones.
func (s *session) open(added *stream) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count++; s.id == "" {
		added.inner = json.RawMessage(strconv.Itoa(s.count))
	}
	added.messages = make(chan []byte, 1000)
	if len(added.id) == 0 {
		s.streams = slices.Insert(s.streams, 0, added)
	} else {
		s.streams = append(s.streams, added)
	}
	return added
}

func (s *session) close(closed *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams = slices.DeleteFunc(s.streams, func(other *stream) bool { return other == closed })
}

// write hands the program a message on one line.
func (s *session) write(raw []byte) {
	var line bytes.Buffer
	if json.Compact(&line, raw) != nil {
		line.Write(bytes.ReplaceAll(raw, []byte("\n"), nil))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stdin.Write(append(line.Bytes(), '\n'))
}

// renamed returns a message with another id.
func renamed(raw []byte, id json.RawMessage) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	fields["id"] = id
	out, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return out
}

// forward writes what arrives on a stream up to the answer, and says whether that came. An answer
// that nothing precedes is a document, all else are events.
func (s *session) forward(w http.ResponseWriter, r *http.Request, from *stream) bool {
	for first := len(from.id) > 0; ; first = false {
		select {
		case <-r.Context().Done():
			return false
		case <-s.ended:
			return true
		case line := <-from.messages:
			m := parse(line)
			answer := m.Method == ""
			if first && answer {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(s.status(m))
				w.Write(line)
				return true
			}
			if first {
				asEvents(w)
			}
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", line)
			w.(http.Flusher).Flush()
			if answer {
				return true
			}
		}
	}
}

// status is that of the transport of 2026-07-28 where there is no session.
func (s *session) status(answer parsed) int {
	switch {
	case s.id != "" || answer.Error == nil:
		return http.StatusOK
	case answer.Error.Code == -32601:
		return http.StatusNotFound
	case slices.Contains([]int{-32602, -32022, -32021}, answer.Error.Code):
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func asEvents(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
}

// read gives each line of the program to the stream that it belongs to.
func (s *session) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := bytes.Clone(lines.Bytes())
		m := parse(line)
		s.mu.Lock()
		to := s.route(m)
		s.mu.Unlock()
		if to == nil {
			continue // nobody listens
		}
		if m.Method == "" {
			line = renamed(line, to.id)
		}
		const key = `"io.modelcontextprotocol/subscriptionId":`
		to.messages <- bytes.Replace(line, []byte(key+string(m.Meta.Subscription)), []byte(key+string(to.id)), min(1, len(m.Meta.Subscription)))
	}
}

func (s *session) route(m parsed) *stream {
	for _, one := range slices.Backward(s.streams) {
		id := cmp.Or(string(m.Meta.Subscription), map[bool]string{true: string(m.ID)}[m.Method == ""])
		if id != "" && id == string(one.inner) || len(m.ProgressToken) > 0 && bytes.Equal(m.ProgressToken, one.token) {
			return one
		}
	}
	if m.Method == "" || len(s.streams) == 0 {
		return nil
	}
	return s.streams[len(s.streams)-1]
}
