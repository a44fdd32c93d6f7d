// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// A scriptReceiver is a server on loopback for a script. Request number N is in
// the files NAME.N.json and NAME.N.headers.
type scriptReceiver struct {
	ts     *testscript.TestScript
	name   string
	mu     sync.Mutex
	status int
	count  int
	last   http.Header
	body   []byte
}

// ServeHTTP implements [http.Handler].
func (r *scriptReceiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	r.last, r.body = q.Header, body
	var head bytes.Buffer
	q.Header.Write(&head)
	base := r.ts.MkAbs(r.name + "." + strconv.Itoa(r.count))
	if err == nil {
		err = os.WriteFile(base+".json", body, 0o644)
	}
	if err == nil {
		err = os.WriteFile(base+".headers", head.Bytes(), 0o644)
	}
	if err != nil {
		r.status = http.StatusInternalServerError
	}
	if r.status >= 300 && r.status < 400 {
		w.Header().Set("Location", "https://hooks.example.com/")
	}
	w.WriteHeader(r.status)
}

// receiverKey is the name under which a script keeps its receivers.
type receiverKey string

// receives runs "receiver NAME STATUS", which starts one, with its URL in the
// variable NAME, or changes what it answers.
func receives(ts *testscript.TestScript, _ bool, args []string) {
	status, err := strconv.Atoi(args[1])
	ts.Check(err)
	if r, ok := ts.Value(receiverKey("all")).(map[string]*scriptReceiver)[args[0]]; ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.status = status
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	r := &scriptReceiver{ts: ts, name: args[0], status: status}
	s := &http.Server{Handler: r}
	go s.Serve(l)
	ts.Defer(func() { s.Close() })
	ts.Value(receiverKey("all")).(map[string]*scriptReceiver)[args[0]] = r
	ts.Setenv(args[0], "http://"+l.Addr().String()+"/")
}

// verifies runs "signed NAME KEY": the last request carries a signature of it.
func verifies(ts *testscript.TestScript, negated bool, args []string) {
	r := ts.Value(receiverKey("all")).(map[string]*scriptReceiver)[args[0]]
	w, err := standardwebhooks.NewWebhook(args[1])
	ts.Check(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := w.Verify(r.body, r.last); (err == nil) == negated {
		ts.Fatalf("the signature: %v", err)
	}
}

// requests runs "requests NAME NUMBER": so many came until now.
func requests(ts *testscript.TestScript, _ bool, args []string) {
	r := ts.Value(receiverKey("all")).(map[string]*scriptReceiver)[args[0]]
	r.mu.Lock()
	defer r.mu.Unlock()
	if fmt.Sprint(r.count) != args[1] {
		ts.Fatalf("%d requests, want %s", r.count, args[1])
	}
}

// expand runs "expand FROM TO": a file with variables in it becomes one with
// their values.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}

// spoil runs "spoil DIR": the last byte of every document below it changes.
func spoil(ts *testscript.TestScript, _ bool, args []string) {
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*", "*.doc"))
	if err != nil || len(files) == 0 {
		ts.Fatalf("nothing to spoil: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		ts.Check(err)
		raw[len(raw)-1]++
		ts.Check(os.WriteFile(file, raw, 0o600))
	}
}
