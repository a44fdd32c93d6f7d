// SPDX-License-Identifier: Apache-2.0

// Package assistant talks to sentinel-mcp as an assistant does, through the
// official client of test/interop.
package assistant

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Build builds packages of a module as they are shipped, into a directory.
func Build(t *testing.T, module, into string, packages ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-o", into + "/"}, packages...)...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %v: %v\n%s", packages, err, out)
	}
}

// A Session is a client of sentinel-mcp. T is the test that its answers fail; a
// session may outlive a part of a test.
type Session struct {
	T   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
}

// Start runs the client with its server, named by words, and ends it with the
// test.
func Start(t *testing.T, words ...string) *Session {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client: %v", err)
		}
	})
	s := &Session{T: t, in: in, out: bufio.NewScanner(out)}
	s.out.Buffer(nil, 1<<20)
	return s
}

// An Ask is a line to the client.
type Ask struct {
	Tool      string         `json:"tool,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`
	Progress  bool           `json:"progress,omitempty"`
	CancelMS  int            `json:"cancel_after_ms,omitempty"`
}

// A Reply is the client's line back.
type Reply struct {
	IsError   bool     `json:"is_error"`
	Document  Document `json:"document"`
	Cancelled bool     `json:"cancelled"`
	Tools     []string `json:"tools"`
	Progress  []struct {
		Progress, Total float64
		Message         string
		Known           bool
	} `json:"progress"`
	Took time.Duration
}

// A Document is what the assistant gets.
type Document map[string]any

// Text returns a text of the document, empty when it is not there.
func (d Document) Text(name string) string {
	s, _ := d[name].(string)
	return s
}

// Number returns a whole number of the document.
func (d Document) Number(name string) int {
	n, _ := d[name].(float64)
	return int(n)
}

// Texts returns a list of texts.
func (d Document) Texts(name string) (texts []string) {
	list, _ := d[name].([]any)
	for _, one := range list {
		text, _ := one.(string)
		texts = append(texts, text)
	}
	return texts
}

// Rows returns a list of the Document.
func (d Document) Rows(name string) (rows []Document) {
	list, _ := d[name].([]any)
	for _, one := range list {
		row, _ := one.(map[string]any)
		rows = append(rows, row)
	}
	return rows
}

// Ask sends a line to the client and waits for its line back.
func (s *Session) Ask(a Ask) (r Reply) {
	s.T.Helper()
	line, err := json.Marshal(a)
	if err != nil {
		s.T.Fatal(err)
	}
	began := time.Now()
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		s.T.Fatal(err)
	}
	if !s.out.Scan() {
		s.T.Fatalf("%s: no answer: %v", line, s.out.Err())
	}
	r.Took = time.Since(began)
	if err := json.Unmarshal(s.out.Bytes(), &r); err != nil {
		s.T.Fatalf("%v in %s", err, s.out.Text())
	}
	return r
}

// Call calls a tool and returns its Document. want is the error code that it
// shall have, empty for a success.
func (s *Session) Call(want, tool string, arguments map[string]any) Document {
	s.T.Helper()
	r := s.Ask(Ask{Tool: tool, Arguments: arguments})
	d := r.Document
	if d.Text("error_code") != want || r.IsError != (want != "") {
		s.T.Errorf("%s %v: %v, want code %q", tool, arguments, d, want)
	}
	if want != "" && (d.Text("error") == "" || d.Text("fix") == "") {
		s.T.Errorf("%s %v: a failure without a sentence or a fix: %v", tool, arguments, d)
	}
	return d
}
