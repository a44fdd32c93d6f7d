// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/user"
	"slices"
	"unicode/utf8"

	"sentinel/internal/config"
	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/progress"
	"sentinel/internal/prometheus"
	"sentinel/internal/remote"
	"sentinel/internal/sanitize"
)

// An elsewhere is a run on another machine.
type elsewhere struct {
	carrier *remote.Carrier
	host    string
	call    invocation
}

// elsewhere runs the call on the machine that it names.
func (p Program) elsewhere(ctx context.Context, call invocation, stdin io.Reader) (document, error) {
	if err := p.mayAskElsewhere(call); err != nil {
		return nil, err
	}
	carrier, err := p.carrier()
	if err != nil {
		return nil, err
	}
	e := elsewhere{carrier, call.hosts[0], call}
	if call.request {
		return e.forward(ctx)
	}
	claims := ops.Context{Caller: origin()}
	_, atTerminal := terminalWidth(stdin, call.stderr)
	if !atTerminal || call.dryRun {
		doc, _, err := e.run(ctx, call.args, claims)
		return doc, err
	}
	if asksFirst(call) {
		if _, err := askThrough(ctx, call, stdin, e); err != nil {
			return nil, err
		}
	}
	claims.Asked = ops.Typed
	doc, _, err := e.run(ctx, call.args, claims)
	return doc, err
}

// mayAskElsewhere refuses what the policy of this machine keeps from its programs, to whom another
// machine would be the way around it. The policy there holds there besides, and is the one that
// switches on what is off without it.
func (p Program) mayAskElsewhere(call invocation) error {
	if !call.request && !limited(p.whoAsks(ops.Context{})) {
		return nil
	}
	c, err := config.Load(p.ConfigPath, false)
	if err != nil {
		return err
	}
	return switchedOff(c.Policy, call.op)
}

// carrier returns what runs tools on other machines for this user.
func (p Program) carrier() (*remote.Carrier, error) {
	h, err := p.Open()
	if err != nil {
		return nil, err
	}
	return remote.New(h.Programs, p.environ(), p.UID)
}

// sent are the arguments that are not the default anyway, which an older sentinel may not know. A
// person gets everything.
func (e elsewhere) sent(args ops.Arguments) ops.Arguments {
	args = maps.Clone(args)
	for _, f := range e.call.op.Fields {
		if f.Name == "verbose" {
			args[f.Name] = true
		}
		if f.Default != nil && args[f.Name] == f.Default {
			delete(args, f.Name)
		}
	}
	return args
}

// run runs the operation there with args.
func (e elsewhere) run(ctx context.Context, args ops.Arguments, claims ops.Context) (doc document, done bool, err error) {
	request, err := composed(e.sent(args), claims)
	if err != nil {
		return nil, true, err
	}
	doc, err = e.ask(ctx, request, e.call.verbatim && !claims.Asking)
	return doc, true, err
}

// forward sends on the request of a program. It is checked here, where a wrong one costs no
// connection.
func (e elsewhere) forward(ctx context.Context) (document, error) {
	request, err := e.call.op.ParseRequest(e.call.raw)
	if err != nil {
		return nil, argumentFault(err)
	}
	e.call.tools.take(request.Tools)
	members := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(e.call.raw)) > 0 {
		if err := json.Unmarshal(e.call.raw, &members); err != nil {
			return nil, err
		}
	}
	claims := request.Context
	claims.Caller = origin()
	if left := maxName - utf8.RuneCountInString(claims.Caller) - len(", "); request.Caller != "" && left > 0 {
		claims.Caller = sanitize.Text(request.Caller, left) + ", " + claims.Caller
	}
	if members["_context"], err = json.Marshal(claims); err != nil {
		return nil, err
	}
	composed, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return e.ask(ctx, composed, e.call.verbatim)
}

// ask sends a request and returns its document, as it came or such that it can be shown.
func (e elsewhere) ask(ctx context.Context, request []byte, verbatim bool) (document, error) {
	defer e.call.indicator.Start()()
	defer e.call.reporter.Start()()
	answer, err := e.carrier.Run(ctx, e.host, e.call.op, request, relayProgress(e.call, e.said))
	switch {
	case err != nil:
		return nil, err
	case verbatim:
		return relayed{answer.Document, answer.Exit}, nil
	}
	doc, err := documentOf(e.call.op, answer.Document)
	if err != nil {
		return nil, err
	}
	return doc, remote.About(e.host, showable(doc))
}

// showable returns why a document cannot be shown: another version, or another hand, has left out what
// a page is made of.
func showable(doc document) (err error) {
	lacking := fault.New(fault.BadOutput, "The answer lacks what a page is made of.").WithFix("See it as it came, with --json.")
	if h, ok := doc.(*healthDocument); ok && !slices.Contains(levels, h.ThreatLevel) {
		return lacking
	}
	defer func() {
		if recover() != nil {
			err = lacking
		}
	}()
	doc.view(newPage(minWidth, false))
	if m, ok := doc.(metered); ok {
		m.metrics(new(prometheus.Page))
	}
	if c, ok := doc.(checkable); ok {
		c.check()
	}
	return nil
}

// said are the words of the other machine about its progress: that it has them, and in quotes.
func (e elsewhere) said(words string) string {
	if words == "" {
		return ""
	}
	return e.host + ": " + sanitize.Quoted(ops.OnHost(words, e.host), maxName)
}

// ownWords are those of a run on this machine.
func ownWords(words string) string { return sanitize.Text(words, maxName) }

// relayProgress hands on what a run that does the work says of its progress.
func relayProgress(call invocation, shown func(words string) string) func(line string) {
	return func(line string) {
		if percent, words, ok := progress.Parse(line); ok {
			words = shown(words)
			call.indicator.Set(percent, words)
			call.reporter.Say(percent, words)
		}
	}
}

// composed is a request with arguments and claims.
func composed(args ops.Arguments, claims ops.Context) ([]byte, error) {
	request := maps.Clone(args)
	if claims.Asking || claims.Asked != "" || claims.Caller != "" {
		request["_context"] = claims
	}
	return json.Marshal(request)
}

// origin says who asks from which machine, for the journal of another.
func origin() string {
	name := "unknown user"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	machine, err := os.Hostname()
	if err != nil {
		machine = "unknown machine"
	}
	return sanitize.Text(name+"@"+machine, maxName)
}

// A relayed document is printed as the program that made it printed it.
type relayed struct {
	raw  json.RawMessage
	exit int
}

// view is never shown: a page is made of what was read.
func (relayed) view(*page) {}

// print prints the document, and returns the exit status of the run that made it.
func (r relayed) print(o output) int {
	var b bytes.Buffer
	if !o.screen.terminal || json.Indent(&b, r.raw, "", "  ") != nil {
		b.Reset()
		b.Write(r.raw)
	}
	b.WriteByte('\n')
	return o.write(b.Bytes(), r.exit)
}
