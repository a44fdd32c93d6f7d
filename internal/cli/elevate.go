// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"time"

	"sentinel/internal/elevation"
	"sentinel/internal/fault"
	"sentinel/internal/host"
	"sentinel/internal/ops"
	"sentinel/internal/progress"
	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
)

// elevatedGrace is how long an interrupted change may take to finish or roll back, and to say so.
const elevatedGrace = 6 * time.Second

// elevate runs what needs root in the form that the rules of sudo name, where it was typed without
// sudo or sent from another machine over SSH. done is false where that does not apply, or where sudo
// does not do it without a password: then this run refuses, and says what helps.
//
// The run behind sudo gets a request and no terminal, so nothing of this environment reaches it, and
// there is no second round. sudo is told to ignore a password that was typed before (-k): what
// becomes root is decided by its rules, not by the last quarter of an hour.
func (p Program) elevate(ctx context.Context, call invocation, stdin io.Reader) (doc document, done bool, err error) {
	if !p.elevates(call) {
		return nil, false, nil
	}
	h, err := p.Open()
	if err != nil || !h.Live {
		return nil, false, nil //nolint:nilerr // what runs next says it
	}
	own, err := p.Own()
	if err != nil || p.Trusted(own) != nil {
		return nil, false, nil //nolint:nilerr // as above
	}
	e := elevated{h.Programs, own, call}
	if call.request {
		return p.elevateRequest(ctx, e, h)
	}
	_, atTerminal := terminalWidth(stdin, call.stderr)
	if !atTerminal || call.dryRun {
		return e.run(ctx, call.args, ops.Context{})
	}
	if asksFirst(call) {
		if done, err := askThrough(ctx, call, stdin, e); !done || err != nil {
			return nil, done, err
		}
	}
	return e.run(ctx, call.args, ops.Context{Asked: ops.Typed})
}

// elevateRequest hands a request from another machine to sudo. sudo logs what it refuses, so what
// works without root, too, is tried where the rules are likely to let this user alone.
func (p Program) elevateRequest(ctx context.Context, e elevated, h *host.Host) (doc document, done bool, err error) {
	likely := elevation.Look(ctx, elevation.Machine{
		Root: h.Root, OS: h.OS, Programs: h.Programs, Program: e.own, Trusted: p.trusted, UID: p.UID, Groups: p.Groups,
	}).Likely()
	if e.call.op.Privilege != ops.NeedsRoot && !likely {
		return nil, false, nil
	}
	if _, err := e.call.op.ParseRequest(e.call.raw); err != nil {
		return nil, true, argumentFault(err)
	}
	return e.send(ctx, e.call.raw)
}

// An elevated run is one behind sudo.
type elevated struct {
	programs sysexec.Runner
	own      string // absolute path of this program
	call     invocation
}

// A relay runs a call in another process. done is false where that did not run it.
type relay interface {
	run(ctx context.Context, args ops.Arguments, claims ops.Context) (doc document, done bool, err error)
}

// asksFirst reports whether the person at the terminal may have to agree first.
func asksFirst(call invocation) bool {
	return call.op.Asks && !call.yes && !call.args.Bool("confirm")
}

// askThrough asks the person what the run behind a relay cannot, with what a dry run there says.
func askThrough(ctx context.Context, call invocation, stdin io.Reader, r relay) (done bool, err error) {
	args := maps.Clone(call.args)
	args["dry_run"] = true
	doc, done, err := r.run(ctx, args, ops.Context{Asking: true})
	if d, ok := doc.(dryDocument); ok && err == nil && d.Asking != nil {
		err = ask(ctx, call, change{question: d.Asking.Question, would: d.Details, preview: d.Preview}, stdin)
	}
	return done, err
}

// run runs the operation with args. done is false where sudo refuses.
func (e elevated) run(ctx context.Context, args ops.Arguments, claims ops.Context) (doc document, done bool, err error) {
	request, err := composed(args, claims)
	if err != nil {
		return nil, true, err
	}
	return e.send(ctx, request)
}

// send runs the operation with a request.
func (e elevated) send(ctx context.Context, request []byte) (doc document, done bool, err error) {
	op := e.call.op
	c := elevation.Through(e.own, elevation.Request(op.Name), request)
	c.Args = append([]string{"-k"}, c.Args...)
	c.Timeout, c.WaitDelay = op.Deadline+lastResort+elevatedGrace, elevatedGrace
	c.OnStderrLine = relayProgress(e.call, ownWords)
	stop := e.call.indicator.Start()
	result, err := e.programs.Run(ctx, c)
	stop()
	if elevation.Refusal(result, err) != "" {
		return nil, false, nil
	}
	if !e.call.request {
		result.Stdout = confirmedWithoutSudo(op, result.Stdout)
	}
	doc, err = elevatedAnswer(ctx, op, result, err)
	if e.call.request && e.call.verbatim && isAnswer(op, result.Stdout) {
		return relayed{bytes.TrimSpace(result.Stdout), result.Exit}, true, nil
	}
	return doc, true, err
}

// confirmedWithoutSudo takes sudo out of the command that confirms what op began: the rules allow it
// to this user, who may have no other right of sudo, and a trial waits for it.
func confirmedWithoutSudo(op ops.Operation, document []byte) []byte {
	command := regexp.MustCompile(`sudo (sentinel --` + regexp.QuoteMeta(op.Flag) + `(?: [^ "]+)? --confirm)`)
	return command.ReplaceAll(document, []byte("$1"))
}

// elevates reports whether the rules of sudo have a form for call: one that carries more than
// arguments, such as --force, has none. A request is elevated where it came over SSH: sentinel-mcp of
// this machine has asked sudo already.
func (p Program) elevates(call invocation) bool {
	_, tool := ops.ByName(call.op.Name)
	if !tool || p.Root || p.Trusted == nil || p.Own == nil || len(call.unlisted()) > 0 {
		return false
	}
	if call.request {
		return p.overSSH() && call.op.Privilege != ops.AnyUser
	}
	return call.op.Privilege == ops.NeedsRoot
}

// overSSH reports whether sshd has started this run for another machine (sshd(8), "ENVIRONMENT"). No
// right comes of it.
func (p Program) overSSH() bool { return p.env("SSH_CONNECTION") != "" }

// A head is what an answer from another process is known by.
type head struct {
	Success *bool      `json:"success"`
	Action  string     `json:"action"`
	DryRun  bool       `json:"dry_run"`
	Error   string     `json:"error"`
	Code    fault.Code `json:"error_code"`
	Fix     string     `json:"fix"`
}

// isAnswer reports whether an output is a document of op.
func isAnswer(op ops.Operation, stdout []byte) bool {
	var h head
	return json.Unmarshal(stdout, &h) == nil && h.Success != nil && h.Action == op.Action
}

// elevatedAnswer reads the document of a run behind sudo, which may have come although the run was
// interrupted.
func elevatedAnswer(ctx context.Context, op ops.Operation, result sysexec.Result, failed error) (document, error) {
	scarce := elevation.Exhausted(result, failed)
	switch {
	case isAnswer(op, result.Stdout):
		return documentOf(op, result.Stdout)
	case !json.Valid(result.Stdout) && (ctx.Err() != nil || errors.Is(failed, context.DeadlineExceeded)):
		return nil, fault.New(fault.From(errors.Join(ctx.Err(), failed)).Code, op.Name+" was ended before it said what it did.").
			WithFix("It finishes or takes back what it has begun; see what became of it with: sentinel --history")
	case scarce != nil && (failed != nil || !op.Changes()): // of a change it is not known how far it came
		return nil, scarce
	default:
		said, _, _ := strings.Cut(strings.TrimSpace(progress.Without(string(result.Stderr))), "\n")
		return nil, fault.New(fault.BadOutput, fmt.Sprintf("The run of %s as root printed no document (exit status %d). %s", op.Name, result.Exit, sanitize.Text(said, 200)))
	}
}

// A fitted document is shown by what was asked for, which is not in it: where another process has made it,
// it has yet to be told.
type fitted interface{ asked(args ops.Arguments) }

// documentOf reads a document of op that another process has printed.
func documentOf(op ops.Operation, raw []byte) (document, error) {
	var h head
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, fault.Wrap(fault.BadOutput, "The answer cannot be read", err)
	}
	switch {
	case h.Success == nil || !*h.Success:
		return nil, fault.New(h.Code, h.Error).WithFix(h.Fix).WithObject(failedObject(op, raw))
	case h.DryRun:
		return decodeDryRun(op, raw)
	default:
		return decodeDocument(operations()[op.Name].result, raw)
	}
}

// decodeDryRun reads the document of a dry run. A preview that can be shown to a person gets its
// type back.
func decodeDryRun(op ops.Operation, raw []byte) (document, error) {
	d := dryDocument{}
	switch op.Name {
	case "enable_firewall":
		d.Preview = &enablePreview{}
	case "disable_firewall":
		d.Preview = &disablePreview{}
	case "allow_service":
		d.Preview = &allowPreview{}
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fault.Wrap(fault.BadOutput, "The answer is not one of this version", err)
	}
	return d, nil
}

// decodeDocument reads a document of a type that operations lists.
func decodeDocument(result reflect.Type, raw []byte) (document, error) {
	pointer := result.Kind() == reflect.Pointer
	if pointer {
		result = result.Elem()
	}
	value := reflect.New(result)
	if err := json.Unmarshal(raw, value.Interface()); err != nil {
		return nil, fault.Wrap(fault.BadOutput, "The answer is not one of this version", err)
	}
	if !pointer {
		value = value.Elem()
	}
	doc, ok := reflect.TypeAssert[document](value)
	if !ok {
		return nil, fmt.Errorf("%v is no document", result)
	}
	return doc, nil
}

// failedObject returns what a failed document tells beside the failure.
func failedObject(op ops.Operation, raw []byte) any {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	for _, own := range []string{"success", "action", "timestamp", "hostname", "version", "error", "error_code", "fix"} {
		delete(members, own)
	}
	o := relayedObject{members: members}
	if op.Name == "restart_service" {
		var restart failedRestart
		if json.Unmarshal(raw, &restart.Restarted) == nil {
			o.explained = restart
		}
	}
	return o
}

// A relayedObject is the object of a failure behind sudo.
type relayedObject struct {
	members   map[string]json.RawMessage
	explained explained // may be nil
}

// MarshalJSON returns the members as they came.
func (o relayedObject) MarshalJSON() ([]byte, error) { return json.Marshal(o.members) }

func (o relayedObject) explain(p *page) {
	if o.explained != nil {
		o.explained.explain(p)
	}
}
