// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"time"

	"sentinel/internal/config"
	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/privilege"
	"sentinel/internal/target"
	"sentinel/internal/version"
	"sentinel/internal/webhook"
	"sentinel/internal/webhook/spool"
)

// A telemetryDocument is what receivers get: the health document with what they
// need to file it.
type telemetryDocument struct {
	*healthDocument
	// SchemaVersion is the version of this schema. Added members do not change it.
	SchemaVersion int `json:"schema_version"`
	// DeliveryID is the same in every attempt to deliver this document.
	DeliveryID string `json:"delivery_id"`
	// Tags are those of the configuration.
	Tags map[string]string `json:"tags,omitempty"`
}

// Telemetry is the type of the documents that receivers get.
func Telemetry() reflect.Type { return reflect.TypeFor[telemetryDocument]() }

// telemetry creates a document with all that this session may see.
func (s session) telemetry(ctx context.Context) (webhook.Document, error) {
	health, err := s.lookAtHealth(ctx)
	if err != nil {
		return webhook.Document{}, err
	}
	return s.webhookDocument(health)
}

// lookAtHealth is get_system_health for what is sent.
func (s session) lookAtHealth(ctx context.Context) (*healthDocument, error) {
	op, known := ops.ByName("get_system_health")
	if !known {
		return nil, errors.New("there is no health document")
	}
	made, err := runSystemHealth(ctx, s, invocation{op: op, rows: defaultRows})
	if err != nil {
		return nil, err
	}
	health, ok := made.(*healthDocument)
	if !ok {
		return nil, errors.New("the health document has another type")
	}
	return health, nil
}

func (s session) webhookDocument(health *healthDocument) (d webhook.Document, err error) {
	d.ID = webhook.NewID()
	d.Body, err = encode(telemetryDocument{health, webhook.SchemaVersion, d.ID, s.config.Webhook.Tags}, false)
	return d, err
}

// spoolName is the directory of the spools in the state directory.
const spoolName = "spool"

// A route is a receiver with its spool.
type route struct {
	payload  payload // what it gets
	endpoint webhook.Endpoint
	spool    *spool.Spool // nil if the receiver is not in the configuration
	noRoute  string       // the fix where the system knows no route; may be empty
}

// listed returns the route to an endpoint of the configuration.
func (s session) listed(e config.Endpoint) (route, error) {
	endpoint, err := webhook.Listed(e, s.config.Webhook, s.secrets)
	return s.spooled(webhookPayload, endpoint), err
}

// spooled returns the route to an endpoint for which documents are kept.
func (s session) spooled(p payload, endpoint webhook.Endpoint) route {
	limits := s.config.Webhook.Spool
	return route{p, endpoint, spool.New(filepath.Join(s.stateDir, spoolName), endpoint.URL.String(), limits.MaxBytes(), limits.MaxAge()), s.host.Unreached}
}

// route returns the route to a URL. Only root gets that of the configuration,
// because nobody else can read the keys.
func (s session) route(u target.URL) (route, error) {
	e, known := s.config.Webhook.Endpoint(u)
	switch {
	case known && s.root:
		return s.listed(e)
	case known:
		return route{endpoint: webhook.Unsigned(u, s.config.Webhook), noRoute: s.host.Unreached}, nil
	}
	endpoint := webhook.Unlisted(u, s.config.Webhook)
	if why := endpoint.Elsewhere(); why != "" {
		return route{}, about(fault.New(fault.TargetNotAllowed, "Nothing is sent to "+u.Shown()+": it "+why+".").WithFix(webhook.OwnMachineFix), targetObject{u.Shown()})
	}
	return route{endpoint: endpoint, noRoute: s.host.Unreached}, nil
}

// with runs f, in a session with the rights that the receiver may profit from:
// those of root for an endpoint of the configuration, of an ordinary user for any other.
func (s session) with(r route, f func(s session) error) error {
	if r.spool != nil {
		return f(s)
	}
	plain := s
	plain.root = false
	return privilege.AsUser(s.behind(), func() error { return f(plain) })
}

// behind is the uid of who asks: that of the user behind sudo, or root's.
func (s session) behind() int {
	if s.who.SudoUID != nil {
		return *s.who.SudoUID
	}
	return 0
}

// A delivery is the outcome for a document at one receiver.
type delivery struct {
	// Target is the URL without its query.
	Target string `json:"target"`
	// State is queued if the document waits on this machine to be sent again.
	State      string `json:"state,omitempty" enum:"delivered,queued,failed"`
	DeliveryID string `json:"delivery_id,omitempty"` // the same each time this document is sent
	// HTTPStatus is that of the last answer; absent without one.
	HTTPStatus int `json:"http_status,omitempty"`
	// Attempts is absent if another sentinel process was sending.
	Attempts int `json:"attempts,omitempty"`
	// Bytes is the size of the document.
	Bytes  int  `json:"bytes,omitempty"`
	Signed bool `json:"signed"` // it carried a signature of each configured key
	// Configured means that the receiver is in the configuration and gets the whole
	// document.
	Configured bool `json:"configured"`
	// EarlierSent counts earlier documents that were delivered now.
	EarlierSent int `json:"earlier_sent,omitempty"`
	// Waiting counts documents that still wait for this receiver.
	Waiting int `json:"waiting,omitempty"`
	// Dropped counts documents that were too old or too many to be kept.
	Dropped int `json:"dropped,omitempty"`
	// SetAside counts documents that were damaged, or refused by the receiver.
	SetAside int `json:"set_aside,omitempty"`
	// RetryAfterSeconds is how long the receiver asked to wait.
	RetryAfterSeconds int `json:"retry_after_seconds,omitempty"`
	// Reason is why it was not delivered.
	Reason string `json:"reason,omitempty"`
	// Notes are about earlier documents and about problems with the spool.
	Notes []string `json:"notes,omitempty"`

	fix        string
	ownMachine bool
}

// States of a delivery.
const (
	stateDelivered = "delivered"
	stateQueued    = "queued"
	stateFailed    = "failed"
)

// send delivers or spools a document.
func (r route) send(ctx context.Context, d webhook.Document) delivery {
	client := webhook.NewClient(r.endpoint, "sentinel/"+version.Number, nil)
	defer client.Close()
	var sent spool.Sent
	if r.spool == nil {
		sent.Result = client.Deliver(ctx, d)
	} else {
		sent = r.spool.Send(ctx, d, client)
	}
	return r.delivery(d, sent)
}

// delivery describes what was sent.
func (r route) delivery(d webhook.Document, sent spool.Sent) delivery {
	t := delivery{
		Target: r.endpoint.URL.Shown(), State: stateFailed, DeliveryID: d.ID, Bytes: len(d.Body), Signed: r.endpoint.Signed(), Configured: r.spool != nil,
		HTTPStatus: sent.Status, Attempts: sent.Attempts, EarlierSent: sent.Earlier, Waiting: sent.Waiting, Dropped: sent.Dropped, SetAside: sent.Damaged + sent.Unwanted,
		RetryAfterSeconds: int(sent.RetryAfter / time.Second), Reason: sent.Reason, fix: sent.Fix, ownMachine: sent.OwnMachine,
	}
	if sent.NoRoute && t.fix == "" {
		t.fix = r.noRoute
	}
	switch {
	case sent.Verdict == webhook.Delivered:
		t.State = stateDelivered
	case sent.Kept:
		t.State = stateQueued
	}
	t.remark(sent)
	return t
}

// remark adds notes about the spool.
func (t *delivery) remark(sent spool.Sent) {
	if sent.Dropped > 0 {
		t.Notes = append(t.Notes, counted(sent.Dropped, "document")+" that waited had to be dropped, the oldest first and reports last, to keep the bounds of webhook.spool.")
	}
	if sent.Unwanted > 0 {
		t.Notes = append(t.Notes, counted(sent.Unwanted, "document")+" that waited had to be set aside, because the receiver did not want it.")
	}
	for _, partial := range sent.Partials {
		t.Notes = append(t.Notes, "The Collector has not taken all: "+partial+".")
	}
	for _, g := range sent.Gaps {
		t.Notes = append(t.Notes, "The "+g.Field+": "+g.Reason)
	}
}

// failure is the error for a document that did not arrive, or nil.
func (t delivery) failure() error {
	switch t.State {
	case stateDelivered:
		return nil
	case stateQueued:
		e := fault.New(fault.WebhookQueued, fmt.Sprintf("Not delivered yet, and kept: the receiver %s %s; %s.", t.Target, t.Reason, waiting(t.Waiting)))
		return e.WithFix(t.fix)
	case stateFailed:
		code := fault.WebhookFailed
		if t.ownMachine {
			code = fault.TargetNotAllowed
		}
		e := fault.New(code, fmt.Sprintf("Not delivered, and not kept: the receiver %s %s.", t.Target, t.Reason))
		return e.WithFix(t.fix)
	default:
		return errors.New("a delivery ended as " + t.State)
	}
}

func waiting(n int) string {
	if n == 1 {
		return "1 document waits"
	}
	return counted(n, "document") + " wait"
}
