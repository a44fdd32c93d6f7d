// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"sentinel/internal/fault"
	"sentinel/internal/nagios"
	"sentinel/internal/prometheus"
)

// A document is the answer of an operation: a struct that marshals to JSON and
// can show itself to people.
type document interface {
	view(p *page)
}

// An explained value shows people more than the sentence that it comes with.
type explained interface {
	explain(p *page)
}

// An output prints the one document of a run.
type output struct {
	stdout, stderr io.Writer
	human          bool
	metrics        bool // of Prometheus, where the document has some
	indent         bool
	service        string // what is checked for a monitoring system, whose statuses then hold; may be unknown
	checking       bool
	formChosen     bool // by a flag; a check otherwise prints the line of a plugin
	width          int
	colour         bool
	giveUp         func() <-chan struct{} // closed a moment from now if the run was interrupted, else a moment after it is
}

// lastWord is how long an interrupted run may take to write its answer to
// somebody who does not read.
const lastWord = time.Second

// newOutput chooses the form: the view for people on a terminal, unless JSON
// is asked for.
func newOutput(ctx context.Context, stdout, stderr io.Writer, forceJSON bool) output {
	o := output{stdout: stdout, stderr: stderr, width: defaultWidth, giveUp: func() <-chan struct{} { return afterwards(ctx, lastWord) }}
	file, ok := stdout.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return o
	}
	o.human, o.indent = !forceJSON, true
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		o.width = width
	}
	terminal := os.Getenv("TERM")
	o.colour = os.Getenv("NO_COLOR") == "" && terminal != "" && terminal != "dumb"
	return o
}

// check makes the exit status that of a plugin of Nagios, and its line the usual
// form.
func (o *output) check(call invocation) {
	o.checking, o.service, o.formChosen = true, call.op.Word(), call.json
}

// result prints the line of a plugin and returns its exit status.
func (o output) result(r nagios.Result) int {
	r.Service = o.service
	return o.write([]byte(r.Line()), int(r.Status))
}

// broken is the exit status of an answer that nobody got.
func (o output) broken(status int) int {
	if o.checking {
		return int(nagios.Unknown)
	}
	return status
}

// document prints doc and returns the exit status.
func (o output) document(doc document) int {
	status := fault.ExitOK
	if c, ok := doc.(checkable); ok && o.checking {
		result := c.check()
		if !o.formChosen {
			return o.result(result)
		}
		status = int(result.Status)
	}
	if m, ok := doc.(metered); ok && o.metrics {
		var p prometheus.Page
		m.metrics(&p)
		return o.write(p.Bytes(), status)
	}
	if o.human {
		p := newPage(o.width, o.colour)
		doc.view(p)
		return o.write(p.bytes(), status)
	}
	return o.json(doc, status)
}

// fail prints the document of a failure and returns its exit status.
func (o output) fail(action string, err error) int {
	e := fault.From(err)
	doc := fault.NewDocument(action, e)
	status := o.broken(e.Code.Exit())
	if o.checking && !o.formChosen {
		return o.result(uncheckable(doc))
	}
	if o.human {
		p := newPage(o.width, o.colour)
		p.verdict(severe, "FAILED", doc.Error)
		p.fix(doc.Fix)
		if known, ok := e.With.(explained); ok {
			known.explain(p)
		}
		return o.write(p.bytes(), status)
	}
	return o.json(doc, status)
}

func (o output) text(text string) int { return o.write([]byte(text), fault.ExitOK) }

func (o output) json(doc any, status int) int {
	raw, err := encode(doc, o.indent)
	if err != nil {
		raw, _ = encode(fault.NewDocument("internal", err), o.indent) //nolint:errcheck // strings alone always encode
		status = o.broken(fault.Internal.Exit())
	}
	return o.write(raw, status)
}

// write writes the answer in one piece. It gives up only when the run was
// interrupted while nobody reads.
func (o output) write(raw []byte, status int) int {
	done := make(chan error, 1)
	go func() {
		_, err := o.stdout.Write(raw)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			return status
		}
		fmt.Fprintf(o.stderr, "sentinel: the answer could not be written: %v\n", err) //nolint:errcheck // nowhere left to say it
		return o.broken(fault.ExitFailed)
	case <-o.giveUp():
		return o.broken(fault.ExitInterrupted)
	}
}

// afterwards returns a channel that closes d after the end of ctx.
func afterwards(ctx context.Context, d time.Duration) <-chan struct{} {
	over := make(chan struct{})
	context.AfterFunc(ctx, func() {
		time.AfterFunc(d, func() { close(over) })
	})
	return over
}

// encode renders a document as one line of JSON, or indented for a reader.
func encode(doc any, indent bool) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if indent {
		e.SetIndent("", "  ")
	}
	err := e.Encode(doc)
	return b.Bytes(), err
}
