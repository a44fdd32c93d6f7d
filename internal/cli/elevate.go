// SPDX-License-Identifier: Apache-2.0

package cli

import (
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
	"sentinel/internal/ops"
	"sentinel/internal/progress"
	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
)

// elevatedGrace is how long an interrupted change may take to finish or roll back, and to say so.
const elevatedGrace = 6 * time.Second

// elevate runs what a person typed without sudo, and what needs root, in the form that the rules of
// sudo name. done is false where that does not apply, or where sudo does not do it without a
// password: then this run refuses, and says what helps.
//
// The run behind sudo gets a request and no terminal, so nothing of this environment reaches it, and
// a request never elevates itself: there is no second round. sudo is told to ignore a password that
// was typed before (-k): what becomes root is decided by its rules, not by the last quarter of an
// hour.
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
	_, atTerminal := terminalWidth(stdin, call.stderr)
	if !atTerminal || call.dryRun {
		return e.run(ctx, call.args, ops.Context{})
	}
	if e.asks() {
		if done, err := e.ask(ctx, stdin); !done || err != nil {
			return nil, done, err
		}
	}
	return e.run(ctx, call.args, ops.Context{Asked: ops.Typed})
}

// An elevated run is one behind sudo.
type elevated struct {
	programs sysexec.Runner
	own      string // absolute path of this program
	call     invocation
}

// asks reports whether the person at the terminal may have to agree first.
func (e elevated) asks() bool {
	return e.call.op.Asks && !e.call.yes && !e.call.args.Bool("confirm")
}

// ask asks the person what the run behind sudo cannot, with what a dry run there says.
func (e elevated) ask(ctx context.Context, stdin io.Reader) (done bool, err error) {
	args := maps.Clone(e.call.args)
	args["dry_run"] = true
	doc, done, err := e.run(ctx, args, ops.Context{Asking: true})
	if d, ok := doc.(dryDocument); ok && err == nil && d.Asking != nil {
		err = ask(ctx, e.call, change{question: d.Asking.Question, would: d.Details, preview: d.Preview}, stdin)
	}
	return done, err
}

// run runs the operation with args. done is false where sudo refuses.
func (e elevated) run(ctx context.Context, args ops.Arguments, claims ops.Context) (doc document, done bool, err error) {
	request := maps.Clone(args)
	if claims.Asking || claims.Asked != "" {
		request["_context"] = claims
	}
	stdin, err := json.Marshal(request)
	if err != nil {
		return nil, true, err
	}
	op := e.call.op
	c := elevation.Through(e.own, elevation.Request(op.Name), stdin)
	c.Args = append([]string{"-k"}, c.Args...)
	c.Timeout, c.WaitDelay = op.Deadline+lastResort+elevatedGrace, elevatedGrace
	c.OnStderrLine = func(line string) {
		if percent, words, ok := progress.Parse(line); ok {
			e.call.indicator.Set(percent, words)
		}
	}
	stop := e.call.indicator.Start()
	result, err := e.programs.Run(ctx, c)
	stop()
	if elevation.Refusal(result, err) != "" {
		return nil, false, nil
	}
	result.Stdout = confirmedWithoutSudo(op, result.Stdout)
	doc, err = elevatedAnswer(ctx, op, result, err)
	return doc, true, err
}

// confirmedWithoutSudo takes sudo out of the command that confirms what op began: the rules allow it
// to this user, who may have no other right of sudo, and a trial waits for it.
func confirmedWithoutSudo(op ops.Operation, document []byte) []byte {
	command := regexp.MustCompile(`sudo (sentinel --` + regexp.QuoteMeta(op.Flag) + `(?: [^ "]+)? --confirm)`)
	return command.ReplaceAll(document, []byte("$1"))
}

// elevates reports whether the rules of sudo have a form for call: one that carries more than
// arguments, such as --force, has none.
func (p Program) elevates(call invocation) bool {
	_, tool := ops.ByName(call.op.Name)
	return tool && call.op.Privilege == ops.NeedsRoot && !p.Root && !call.request && p.Trusted != nil && p.Own != nil &&
		len(call.unlisted()) == 0
}

// elevatedAnswer reads the document of a run behind sudo, which may have come although the run was
// interrupted.
func elevatedAnswer(ctx context.Context, op ops.Operation, result sysexec.Result, failed error) (document, error) {
	var head struct {
		Success *bool      `json:"success"`
		Action  string     `json:"action"`
		DryRun  bool       `json:"dry_run"`
		Error   string     `json:"error"`
		Code    fault.Code `json:"error_code"`
		Fix     string     `json:"fix"`
	}
	err := json.Unmarshal(result.Stdout, &head)
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(failed, context.DeadlineExceeded)):
		return nil, fault.New(fault.From(errors.Join(ctx.Err(), failed)).Code, op.Name+" was ended before it said what it did.").
			WithFix("It finishes or takes back what it has begun; see what became of it with: sentinel --history")
	case err != nil || head.Success == nil || head.Action != op.Action:
		said, _, _ := strings.Cut(strings.TrimSpace(progress.Without(string(result.Stderr))), "\n")
		return nil, fault.New(fault.BadOutput, fmt.Sprintf("The run of %s as root printed no document (exit status %d). %s", op.Name, result.Exit, sanitize.Text(said, 200)))
	case !*head.Success:
		return nil, fault.New(head.Code, head.Error).WithFix(head.Fix).WithObject(failedObject(op, result.Stdout))
	}
	if head.DryRun {
		return decodeDryRun(op, result.Stdout)
	}
	return decodeDocument(operations()[op.Name].result, result.Stdout)
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
		return nil, fault.Wrap(fault.BadOutput, "The document of the run as root is not one of this version", err)
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
		return nil, fault.Wrap(fault.BadOutput, "The document of the run as root is not one of this version", err)
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
