// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sentinel/internal/elevation"
	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/remote"
	"sentinel/internal/sysexec"
)

// roomForContext is what "_context" may add to the arguments, in bytes: the
// name of the client, every rune of it escaped in the longest way, and the names of tools.
const roomForContext = maxCaller*12 + 1<<10

// A handler turns calls of tools into runs of sentinel.
type handler struct {
	locate locator
	sudo   *sudoRunner
	limit  time.Duration
	log    *slog.Logger
	tools  []string // on offer
	hosts  []string // other machines that a call may name

	questions chan struct{} // has room for maxQuestions
	posed     posedSet
}

// toolHandler returns the handler of the tool for op. It never returns an error:
// what goes wrong becomes a failed document that the model can read.
func (h *handler) toolHandler(op ops.Operation) server.ToolHandlerFunc {
	return func(ctx context.Context, _ mcp.CallToolRequest) (result *mcp.CallToolResult, _ error) {
		began := time.Now()
		defer func() {
			if p := recover(); p != nil {
				h.log.Error("a call caused a panic", "tool", op.Name, "panic", p)
				result = h.failed(op, fault.New(fault.Internal, "sentinel-mcp failed while it handled the call; its log has the details."))
			}
			h.log.Debug("call answered", "tool", op.Name, "failed", result.IsError, "took", time.Since(began))
		}()
		result, err := h.call(ctx, op, argumentsOf(ctx))
		if err != nil {
			return h.failed(op, err), nil
		}
		return result, nil
	}
}

// A checked call has arguments that sentinel takes, and a program to take them.
type checked struct {
	op      ops.Operation
	path    string
	host    string // other machine that it is for; "" is this one
	members map[string]json.RawMessage
	dry     bool
}

// changes reports whether the call changes this machine.
func (c checked) changes() bool { return c.op.Changes() && !c.dry }

// asks reports whether the user is asked first: before a change, and before the state of this machine is
// sent to somebody.
func (c checked) asks() bool { return c.op.Writes() && !c.dry }

func (c checked) asDryRun() checked {
	c.members = maps.Clone(c.members)
	c.members["dry_run"], c.dry = json.RawMessage("true"), true
	return c
}

// key is the same for calls that ask for the same.
func (c checked) key() string {
	raw, err := json.Marshal(c.members)
	if err != nil {
		panic("mcpserver: arguments that were JSON cannot be encoded: " + err.Error())
	}
	sum := sha256.Sum256(append([]byte(c.op.Name+" "+c.host+" "), raw...))
	return string(sum[:])
}

func (h *handler) call(ctx context.Context, op ops.Operation, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, h.ended(op, "", err, "did not begin").WithFix(fewer)
	}
	c, err := h.check(op, arguments)
	if err != nil {
		return nil, err
	}
	if c.path, err = h.locate(); err != nil {
		return nil, err
	}
	if c.host != "" || op.OfFleet() {
		if ctx, err = placeOf(ctx).depart(ctx); err != nil {
			return nil, h.ended(op, c.host, err, "did not begin").WithFix(fewer)
		}
	}
	result, err := h.answer(ctx, c)
	return result, remote.About(c.host, err)
}

// answer answers a call that was checked.
func (h *handler) answer(ctx context.Context, c checked) (*mcp.CallToolResult, error) {
	if by := wayToAsk(ctx); c.asks() && (by != noWay || repeats(ctx)) {
		return h.confirm(ctx, c, by)
	}
	return h.perform(ctx, c, ops.Context{})
}

// perform runs sentinel and returns what it says.
func (h *handler) perform(ctx context.Context, c checked, claims ops.Context) (*mcp.CallToolResult, error) {
	d, err := h.run(ctx, c, claims)
	if err != nil {
		return nil, err
	}
	return d.result(), nil
}

// run runs sentinel with the arguments of c, unchanged, and with claims.
func (h *handler) run(ctx context.Context, c checked, claims ops.Context) (document, error) {
	stdin, err := h.compose(ctx, c, claims)
	if err != nil {
		return document{}, err
	}
	result, err := h.start(ctx, c, stdin)
	if err != nil && ctx.Err() != nil {
		// What the program itself says about its end is worth more than that it was
		// asked to end.
		d, none := readDocument(c.op, result)
		lateRead := errors.Is(ctx.Err(), context.DeadlineExceeded) && !c.changes() && !d.success // nobody cancelled it
		if none == nil && !lateRead {
			return d, nil
		}
	}
	if err != nil {
		return document{}, h.explain(ctx, c, err)
	}
	return readDocument(c.op, result)
}

// explain returns the coded error for a run that gave no result.
func (h *handler) explain(ctx context.Context, c checked, err error) error {
	var known *fault.Error
	var start *fs.PathError
	switch {
	case errors.As(err, &known):
		return known
	case ctx.Err() != nil && c.changes():
		return h.ended(c.op, c.host, ctx.Err(), "has not said yet what it did").
			WithFix("sentinel finishes or takes back what it has begun. Before asking again, see what became of it with: " + historyOf(c.host))
	case ctx.Err() != nil:
		return h.ended(c.op, c.host, ctx.Err(), "did not finish")
	case elevation.Exhausted(sysexec.Result{}, err) != nil:
		return elevation.Exhausted(sysexec.Result{}, err)
	case errors.Is(err, sysexec.ErrOutputTooLarge):
		return fault.New(fault.BadOutput, "sentinel printed more than any document holds.")
	case errors.As(err, &start):
		return fault.Wrap(fault.SentinelNotFound, "The sentinel binary cannot be started", err)
	default:
		return fault.Wrap(fault.BadOutput, "The run of sentinel did not end as it should", err)
	}
}

// fewer is the fix for a call that did not begin, because others had all places.
const fewer = "Try again, with fewer calls at a time."

// ended returns the error of a call that is over before it has a result. host is the other machine that
// it was for, or "".
func (h *handler) ended(op ops.Operation, host string, err error, what string) *fault.Error {
	name, look := op.Name, "tell the user to look for a hung disk or network mount"
	if host != "" {
		name, look = op.Name+" on "+host, "tell the user to look at that machine and the way there"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Timeout, fmt.Sprintf("%s %s within %v, the time limit of sentinel-mcp.", name, what, h.limit)).
			WithFix("Try again, with fewer calls at a time; if it happens again, " + look + ".")
	}
	return fault.New(fault.Cancelled, fmt.Sprintf("%s was cancelled and %s.", name, what))
}

// check checks the arguments of a call.
func (h *handler) check(op ops.Operation, arguments json.RawMessage) (checked, error) {
	if string(arguments) == "null" { // some clients write it for "none"
		arguments = nil
	}
	if len(arguments) > ops.MaxRequest-roomForContext {
		return checked{}, invalid(&ops.ArgumentError{
			Message: fmt.Sprintf("The arguments of %s are larger than %d KiB.", op.Name, ops.MaxRequest>>10),
			Fix:     "Send only the arguments that the tool describes.",
		})
	}
	host, arguments, err := h.takeHost(op, arguments)
	if err != nil {
		return checked{}, invalid(err)
	}
	request, err := parseArguments(op, arguments)
	if err != nil {
		return checked{}, invalid(err)
	}
	c := checked{op: op, host: host, members: map[string]json.RawMessage{}, dry: request.Arguments.Bool("dry_run")}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &c.members); err != nil {
			return checked{}, fmt.Errorf("decode arguments that were checked: %w", err)
		}
	}
	return c, nil
}

// compose returns what sentinel reads from stdin: the arguments, unchanged, who is
// asking, and what else is claimed.
func (h *handler) compose(ctx context.Context, c checked, claims ops.Context) ([]byte, error) {
	claims.Caller, claims.Tools = clientName(ctx), h.tools
	context, err := json.Marshal(claims)
	if err != nil {
		return nil, fmt.Errorf("encode who is asking: %w", err)
	}
	members := maps.Clone(c.members)
	members[contextKey] = context
	return json.Marshal(members)
}

// contextKey is the member of a request that says who is asking. Only the server
// fills it: a model must not speak for somebody else.
const contextKey = "_context"

// parseArguments checks arguments as sentinel will, so that a wrong one does not
// cost a run, and refuses contextKey.
func parseArguments(op ops.Operation, arguments json.RawMessage) (ops.Request, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) == nil {
		if _, there := members[contextKey]; there {
			return ops.Request{}, &ops.ArgumentError{
				Message: fmt.Sprintf("%s has no argument %q.", op.Name, contextKey),
				Fix:     "Leave it out: sentinel-mcp itself says who is asking.",
			}
		}
	}
	return op.ParseRequest(arguments)
}

func invalid(err error) error {
	var wrong *ops.ArgumentError
	if !errors.As(err, &wrong) {
		return fault.Wrap(fault.InvalidArgument, "The arguments cannot be used", err)
	}
	return fault.New(fault.Code(cmp.Or(wrong.Code, string(fault.InvalidArgument))), wrong.Message).WithFix(wrong.Fix)
}
