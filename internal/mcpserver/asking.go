// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
)

// The user of a client is asked before a change, where the client can ask. sentinel says with a
// dry run what would happen and whether its policy wants a question; what the user agreed to, or was not
// asked about, goes with the change as a fingerprint, and sentinel refuses another.
//
// A yes is what the client says that its user said. It keeps a model from acting on its own, and
// is no barrier to a client, or to another program of the same user.

// A way is how the user of a client can be asked.
type way int

const (
	noWay     way = iota
	byRequest     // elicitation/create, of the revisions with a handshake
	byResult      // input_required: the client repeats its call with the answer (2026-07-28)
)

// wayToAsk returns how the user behind the call of ctx can be asked.
func wayToAsk(ctx context.Context) way {
	if r := server.RequestProtocolInfoFromContext(ctx); r != nil && r.Modern {
		if r.ClientCapabilities != nil && showsForms(r.ClientCapabilities.Elicitation) {
			return byResult
		}
		return noWay
	}
	s, ok := server.ClientSessionFromContext(ctx).(*session)
	if ok && slices.Contains([]string{"2025-06-18", "2025-11-25"}, s.ProtocolVersion()) && showsForms(s.peer().Capabilities.Elicitation) {
		return byRequest
	}
	return noWay
}

// showsForms reports whether a client shows forms to its user. One that does not say which modes it
// has shows forms.
func showsForms(e *mcp.ElicitationCapability) bool {
	return e != nil && (e.Form != nil || e.URL == nil)
}

// maxQuestions is how many questions wait for their answers at a time: a model that calls many
// tools at once is not to bury its user.
const maxQuestions = maxCalls

// repeats reports whether the call of ctx comes with the state of a question. It counts as that even
// where the client no longer says that it can ask: its user may have declined.
func repeats(ctx context.Context) bool {
	return server.IsModernRequest(ctx) && inputOf(ctx).State != nil
}

// confirm makes a change after the user has agreed to it.
func (h *handler) confirm(ctx context.Context, c checked, by way) (*mcp.CallToolResult, error) {
	if repeats(ctx) {
		q, err := h.answered(c, inputOf(ctx))
		if err != nil {
			return nil, err
		}
		if answer := inputOf(ctx).answer(); answer != nil || by == noWay {
			return h.decide(ctx, c, q.plan, judge(answer, nil, time.Since(q.at)))
		}
		// Without an answer it is asked again (MCP 2026-07-28, "Multi Round-Trip Requests").
	}
	p, d, err := h.plan(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case !d.success:
		return d.result(), nil
	case p.Asking.Policy == askOff:
		return h.perform(ctx, c, ops.Context{})
	case p.Asking.Idle: // it is no change to ask about only as long as that holds
		return h.perform(ctx, c, ops.Context{Plan: p.Asking.Plan})
	case by == byResult:
		return h.pose(c, p)
	}
	ctx, v, err := h.elicit(ctx, c, p)
	if err != nil {
		return nil, err
	}
	return h.decide(ctx, c, p, v)
}

// pose asks the user with the result of the call, which the client repeats with the answer.
func (h *handler) pose(c checked, p plan) (*mcp.CallToolResult, error) {
	state, ok := h.posed.add(c.key(), p, time.Now())
	if !ok {
		return nil, fault.New(fault.Declined, fmt.Sprintf("%s did nothing: %d questions to the user are open already, and no more are asked at a time.", c.op.Name, maxQuestions)).
			WithFix("The user was not asked and has not refused: have them answer the open questions, which stand for five minutes at most, and call it again then; ask for fewer changes at a time.")
	}
	return p.inputRequired(state), nil
}

// plan asks sentinel what a change would do.
func (h *handler) plan(ctx context.Context, c checked) (p plan, d document, err error) {
	dry := c.asDryRun()
	d, err = h.run(ctx, dry, ops.Context{Asking: true})
	if err != nil || !d.success {
		return plan{}, d, err
	}
	if json.Unmarshal(d.raw, &p) != nil || p.Asking == nil || !p.DryRun || p.Asking.Plan == "" {
		return plan{}, document{}, fault.New(fault.BadOutput, "sentinel did not say what "+c.op.Name+" would do.")
	}
	p.host = c.host
	return p, d, nil
}

// elicit asks the user of a client of a revision with a handshake. While they read, other calls may
// have the slot of this one; the context that it returns has a slot again.
func (h *handler) elicit(ctx context.Context, c checked, p plan) (context.Context, verdict, error) {
	placeOf(ctx).leave()
	limited, cancel := h.untilAnswered(ctx)
	defer cancel()
	stop := trackerOf(ctx).during("Waiting for the answer of the user")
	v, err := h.question(limited, p)
	stop()
	switch {
	case ctx.Err() != nil:
		return ctx, v, h.ended(c.op, c.host, ctx.Err(), "did nothing, because its user had not answered")
	case limited.Err() != nil:
		return ctx, v, fault.New(fault.Timeout, "The user did not answer in time, and "+c.op.Name+" did nothing.").
			WithFix("Tell the user what you want to do and why; call it again when they are there to answer.")
	case errors.Is(err, errNoAnswer):
		return ctx, v, fault.New(fault.Cancelled, "The client closed the connection before its user had answered, and "+c.op.Name+" did nothing.")
	case err != nil:
		return ctx, v, err
	}
	ctx, err = placeOf(ctx).enter(ctx)
	if err != nil {
		return ctx, v, h.ended(c.op, c.host, err, "did not begin").WithFix(fewer)
	}
	return ctx, v, nil
}

// question asks and judges the answer. An error of the client is an answer.
func (h *handler) question(ctx context.Context, p plan) (verdict, error) {
	select {
	case h.questions <- struct{}{}:
		defer func() { <-h.questions }()
	case <-ctx.Done():
		return verdict{}, ctx.Err()
	}
	began := time.Now()
	answer, err := ask(ctx, string(mcp.MethodElicitationCreate), p.form())
	took := time.Since(began)
	if _, refused := errors.AsType[*clientError](err); refused || err == nil {
		return judge(answer, err, took), nil
	}
	return verdict{}, err
}

// untilAnswered bounds how long a question stands. A third of the limit of a call is left for the
// change itself.
func (h *handler) untilAnswered(ctx context.Context) (context.Context, context.CancelFunc) {
	left := h.limit
	if end, ok := ctx.Deadline(); ok {
		left = time.Until(end)
	}
	return context.WithTimeout(ctx, left-h.limit/3)
}

// answered takes out the question that a repeated call answers.
func (h *handler) answered(c checked, in input) (posedQuestion, error) {
	q, ok := h.posed.take(in.requestState(), c.key(), time.Now())
	if !ok {
		return q, fault.New(fault.InvalidArgument, "requestState belongs to no open question about this very call: it was used, is too old, or was never given out.").
			WithFix("Call " + c.op.Name + " again without inputResponses and requestState; the user is asked then.")
	}
	return q, nil
}

// decide does what the user said. Where there is nobody to ask, a policy that merely offers the
// question goes on as with a client that cannot ask, and one that requires it refuses.
func (h *handler) decide(ctx context.Context, c checked, p plan, v verdict) (*mcp.CallToolResult, error) {
	switch {
	case v.meaning == approved:
		return h.perform(ctx, c, ops.Context{Asked: ops.Accepted, Plan: p.Asking.Plan})
	case v.meaning == unattended && p.Asking.Policy == askOffered:
		h.log.Info("the user of the client is not asked: "+v.why, "tool", c.op.Name, "client", clientName(ctx))
		return h.perform(ctx, c, ops.Context{Plan: p.Asking.Plan})
	case v.meaning == unattended:
		return nil, fault.New(fault.DisabledByPolicy, fmt.Sprintf("policy.ask of this machine's configuration requires that a person agrees to %s first, and %s.", c.op.Name, v.why)).
			WithFix("Tell the user: the client has to show the questions of servers (elicitation) rather than answer them by itself; or the administrator changes policy.ask in /etc/sentinel/config.yaml.")
	}
	err := fault.New(fault.Declined, fmt.Sprintf("%s did nothing: %s.", c.op.Name, v.why))
	if v.meaning == silent {
		return nil, err.WithFix(silentFix)
	}
	return nil, err
}

// silentFix is for a model whose user has said neither yes nor no.
const silentFix = "The user was not asked and has not refused: tell them what was to happen, and call it again only if they want it. " +
	"Where a client keeps answering by itself, it can be set to show the questions of servers (elicitation), or the administrator sets policy.ask: off in /etc/sentinel/config.yaml."
