// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
	"sentinel/internal/target"
	"sentinel/internal/webhook"
	"sentinel/internal/webhook/spool"
)

// A webhookDocument answers send_telemetry_webhook.
type webhookDocument struct {
	answer.Header
	Details string `json:"details"` // what became of the document, in sentences
	delivery
	record
}

// answerReserve is how much time is left for the answer.
const answerReserve = 2 * time.Second

func planWebhook(ctx context.Context, s session, call invocation) (change, error) {
	u, err := target.ParseURL(call.args.Text("url"))
	if err != nil {
		return change{}, about(err, targetObject{sanitize.Reason(call.args.Text("url"), 200)})
	}
	_, named := s.config.Webhook.Endpoint(u)
	if text := u.Readable(); call.request && !named && len(text) > maxReadURL {
		return change{}, about(fault.New(fault.InvalidURL, fmt.Sprintf("The URL is longer than %d characters, more than who is asked about a receiver that the configuration does not name can read.", maxReadURL)).
			WithFix("Send a shorter URL, or have the administrator name the receiver in webhook.endpoints."), targetObject{u.Shown()})
	}
	way, err := s.route(u)
	if err != nil {
		return change{}, err
	}
	var last delivery
	c := change{
		object:  map[string]any{"url": u.Shown(), "configured": way.spool != nil},
		bound:   []any{u.String(), way.spool != nil}, // which may hold keys, and is not kept
		named:   named,
		do:      func(ctx context.Context) (changed, error) { return s.sendTo(ctx, call, way, &last) },
		pending: func() bool { return last.State == stateQueued },
	}
	if call.dryRun {
		to := u.Readable() // its query and every part of its path: either can hold what somebody wants to get out
		if named {         // may hold keys, which the administrator knows
			to = u.Shown()
		}
		c.would, c.preview, err = s.wouldSend(ctx, way, to)
	}
	return c, err
}

// maxReadURL is the longest URL that a person is asked about, in bytes: nobody agrees to what is cut off.
const maxReadURL = 500

// A targetObject names the receiver in the document of a failure.
type targetObject struct {
	Target string `json:"target"`
}

// wouldSend creates the document without sending it. to names the receiver.
func (s session) wouldSend(ctx context.Context, way route, to string) (string, delivery, error) {
	var d webhook.Document
	err := s.with(way, func(s session) (err error) {
		d, err = s.telemetry(ctx)
		return err
	})
	if err != nil {
		return "", delivery{}, err
	}
	would, t := way.would(d, to)
	return would, t, nil
}

// would describes how a document would be sent to a receiver.
func (r route) would(d webhook.Document, to string) (string, delivery) {
	t := r.delivery(d, spool.Sent{})
	t.DeliveryID, t.State = "", ""
	return fmt.Sprintf("Would send %d bytes to %s, %s.", t.Bytes, to, r.manner()), t
}

// manner describes how documents are sent.
func (r route) manner() string {
	signed := "not signed"
	switch {
	case r.payload != webhookPayload:
		signed = "over OTLP"
	case r.endpoint.Signed():
		signed = "signed"
	}
	if r.spool == nil {
		return signed + ", with what an ordinary user can see, because the configuration does not name it"
	}
	return signed + ", kept and sent later if it does not answer"
}

// sendTo collects and sends, both with the rights that the receiver may profit from.
func (s session) sendTo(ctx context.Context, call invocation, way route, last *delivery) (changed, error) {
	err := s.with(way, func(s session) error {
		d, err := s.telemetry(ctx)
		if err != nil {
			return err
		}
		d.Sender = strconv.Itoa(s.behind())
		limited, cancel := beforeDeadline(ctx)
		defer cancel()
		*last = way.send(limited, d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := last.failure(); err != nil {
		if ctx.Err() != nil && last.State == stateFailed {
			err = ctx.Err()
		}
		return nil, about(err, *last)
	}
	return &webhookDocument{answer.NewHeader(call.op.Action, true), last.details(), *last, record{}}, nil
}

// beforeDeadline returns a context that ends early enough for an answer.
func beforeDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, end.Add(-answerReserve))
	}
	return context.WithCancel(ctx)
}

func (t delivery) details() string {
	text := fmt.Sprintf("%d bytes were taken by %s", t.Bytes, t.Target)
	if t.Attempts == 0 {
		text = t.Target + " has got the document from another run of sentinel"
	}
	if t.EarlierSent > 0 {
		text += ", after " + counted(t.EarlierSent, "document") + " from before"
	}
	if !t.Configured {
		text += "; it holds what an ordinary user can see, because the configuration does not name this receiver"
	}
	return text + "."
}

func (d *webhookDocument) outcome() string { return d.Details }

func (d *webhookDocument) view(p *page) {
	p.verdict(calm, "SENT", d.Details)
	d.explain(p)
	p.gaps(d.Unavailable)
}

// explain shows what the sentence leaves out.
func (t delivery) explain(p *page) {
	if t.HTTPStatus > 0 {
		p.line("Status %d, %s, %s.", t.HTTPStatus, counted(t.Attempts, "attempt"), map[bool]string{true: "signed", false: "not signed"}[t.Signed])
	}
	if t.RetryAfterSeconds > 0 {
		p.line("The receiver wants to be asked again in %s.", counted(t.RetryAfterSeconds, "second"))
	}
	p.warnings(t.Notes)
}
