// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/nagios"
	"sentinel/internal/prometheus"
	"sentinel/internal/sysexec"
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

// A form is how an answer is printed.
type form string

// The forms. The usual one is a page on a terminal and JSON elsewhere.
const (
	usualForm   form = ""
	jsonForm    form = "json"
	textForm    form = "text"
	metricsForm form = "prometheus" // where the document has some
)

// An output prints the one document of a run.
type output struct {
	stdout, stderr io.Writer
	form           form
	screen         screen
	verbose        bool
	command        string                 // that was typed
	named          func(string) string    // makes the commands of a page such that they can be pasted
	fuller         func() string          // the command that shows what only root sees, "" if there is none for this user
	host           string                 // the answer is from; "" is this machine
	root           bool                   // the answer is that of root
	pager          *sysexec.Interactive   // shows pages that are longer than the screen; nil is none
	service        string                 // what is checked for a monitoring system, whose statuses then hold; may be unknown
	checking       bool                   // for one, which prints the line of a plugin where no form is asked for
	giveUp         func() <-chan struct{} // closed a moment from now if the run was interrupted, else a moment after it is
	readWithin     time.Duration          // by whoever reads; 0 is as long as they like
}

// lastWord is how long an interrupted run may take to write its answer to
// somebody who does not read. requesterPatience is how long any run may for a program that asked, which
// reads at once: runs of root that never end would use up the machine for whoever started them.
const (
	lastWord          = time.Second
	requesterPatience = 30 * time.Second
)

// newOutput returns the output of call.
func (p Program) newOutput(ctx context.Context, call invocation, stdout, stderr io.Writer) output {
	o := output{
		stdout: stdout, stderr: stderr, form: call.form, screen: screenOf(stdout, p.env), verbose: call.verbose, command: p.command(call), named: p.named, root: p.Root,
		fuller: func() string { return p.fuller(ctx, call) },
		giveUp: func() <-chan struct{} { return afterwards(ctx, lastWord) },
	}
	if len(call.hosts) == 1 && !call.op.OfFleet() {
		o.host = call.hosts[0]
	}
	if o.screen.terminal && call.mayPage() {
		o.pager = p.pager()
	}
	return o
}

// forPeople says that the answer is a page.
func (o output) forPeople() bool {
	return o.form == textForm || o.form == usualForm && o.screen.terminal
}

// check makes the exit status that of a plugin of Nagios, and its line the usual
// form.
func (o *output) check(call invocation) {
	o.checking, o.service = true, call.op.Word()
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
		if o.form == usualForm {
			return o.result(result)
		}
		status = int(result.Status)
	}
	if m, ok := doc.(metered); ok && o.form == metricsForm {
		var p prometheus.Page
		m.metrics(&p)
		return o.write(p.Bytes(), status)
	}
	if o.forPeople() {
		p := o.page()
		doc.view(p)
		p.end()
		return o.show(p, status)
	}
	return o.json(doc, status)
}

// fail prints the document of a failure and returns its exit status.
func (o output) fail(action string, err error) int {
	e := fault.From(err)
	doc := fault.NewDocument(action, e)
	status := o.broken(e.Code.Exit())
	if o.checking && o.form == usualForm {
		return o.result(uncheckable(doc))
	}
	if o.forPeople() {
		p := o.page()
		tone, word := failureWord(e.Code)
		p.verdict(tone, word, doc.Error)
		p.fix(doc.Fix)
		if known, ok := e.With.(explained); ok {
			known.explain(p)
		}
		return o.write(p.bytes(), status)
	}
	return o.json(doc, status)
}

func (o output) page() *page {
	p := newPage(o.screen.width, o.screen.colour)
	p.height, p.verbose, p.command, p.named, p.fuller, p.root, p.host = o.screen.height, o.verbose, o.command, o.named, o.fuller, o.root || o.host != "", o.host
	return p
}

// show prints a page, through the pager if it is longer than the screen.
func (o output) show(p *page, status int) int {
	return o.paged(p.bytes(), p.fits(), status)
}

func (o output) paged(raw []byte, fits bool, status int) int {
	if o.pager == nil || fits {
		return o.write(raw, status)
	}
	pager := *o.pager
	pager.Stdin = raw
	if err := pager.Run(o.stdout, o.stderr); err != nil {
		return o.write(raw, status)
	}
	return status
}

// help prints a help text, which is a page.
func (o output) help(text string) int {
	p := o.page()
	p.b.WriteString(text)
	return o.paged([]byte(text), p.fits(), fault.ExitOK)
}

func (o output) text(text string) int { return o.write([]byte(text), fault.ExitOK) }

func (o output) json(doc any, status int) int {
	raw, err := encode(doc, o.screen.terminal)
	if err != nil {
		raw, _ = encode(fault.NewDocument("internal", err), o.screen.terminal) //nolint:errcheck // strings alone always encode
		status = o.broken(fault.Internal.Exit())
	}
	return o.write(raw, status)
}

// write writes the answer in one piece. It gives up only when the run was
// interrupted while nobody reads.
func (o output) write(raw []byte, status int) int {
	return o.arrives(func() error { _, err := o.stdout.Write(raw); return err }, status)
}

// arrives waits for what hands the answer on, and returns status if it did.
func (o output) arrives(hand func() error, status int) int {
	done := make(chan error, 1)
	go func() {
		err := hand()
		if err != nil {
			fmt.Fprintf(o.stderr, "sentinel: the answer could not be written: %v\n", err) //nolint:errcheck // nowhere left to say it
		}
		done <- err
	}()
	var late <-chan time.Time
	if o.readWithin > 0 {
		late = time.After(o.readWithin)
	}
	select {
	case err := <-done:
		if err == nil {
			return status
		}
		return o.broken(fault.ExitFailed)
	case <-o.giveUp():
		return o.broken(fault.ExitInterrupted)
	case <-late:
		return o.broken(fault.ExitFailed)
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
