// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/webhook"
	"sentinel/internal/webhook/spool"
)

// A reportDocument answers --report.
type reportDocument struct {
	answer.Header
	Details string `json:"details"`
	reportObject
	record
}

// A reportObject is the outcome of the report at each endpoint, in the order of the
// configuration.
type reportObject struct {
	Endpoints []delivery `json:"endpoints"`
	// Documents are, in a dry run, what the endpoints would get, in the same order.
	Documents []json.RawMessage `json:"documents,omitempty"`
	// Notes are about documents for endpoints that were removed from the configuration,
	// and about what is remembered between reports.
	Notes []string `json:"notes,omitempty"`
}

func planReport(ctx context.Context, s session, call invocation) (change, error) {
	routes, err := s.endpoints()
	if err != nil {
		return change{}, err
	}
	var last reportObject
	c := change{
		object:  map[string]any{"endpoints": targets(routes)},
		do:      func(ctx context.Context) (changed, error) { return s.report(ctx, call, routes, &last) },
		pending: func() bool { return last.code() == fault.WebhookQueued },
	}
	if call.dryRun {
		c.would, c.preview, err = s.wouldReport(ctx, routes)
	}
	return c, err
}

// endpoints returns the routes of the configuration.
func (s session) endpoints() ([]route, error) {
	var routes []route
	for _, e := range s.config.Webhook.Endpoints {
		way, err := s.listed(e)
		if err != nil {
			return nil, err
		}
		routes = append(routes, way)
	}
	collector, err := s.collector()
	if err != nil {
		return nil, err
	}
	if routes = append(routes, collector...); len(routes) == 0 {
		return nil, fault.New(fault.ConfigInvalid, "There is nobody to report to: webhook.endpoints and otlp.endpoint are empty.").
			WithFix("Name the receiver in /etc/sentinel/config.yaml: webhook: {endpoints: [{url: https://…, secret_file: NAME}]}, or otlp: {endpoint: https://…:4318} for an OpenTelemetry Collector.")
	}
	return routes, nil
}

func targets(routes []route) string {
	var list []string
	for _, w := range routes {
		list = append(list, w.endpoint.URL.Shown())
	}
	return strings.Join(list, " ")
}

func (s session) wouldReport(ctx context.Context, routes []route) (string, reportObject, error) {
	made, err := s.outbox(ctx, routes)
	if err != nil {
		return "", reportObject{}, err
	}
	var all reportObject
	var texts []string
	for i, way := range routes {
		would, t := way.would(made.documents[i], way.endpoint.URL.Shown())
		texts = append(texts, would)
		all.Endpoints, all.Documents = append(all.Endpoints, t), append(all.Documents, made.documents[i].Body)
	}
	return strings.Join(texts, " "), all, nil
}

// An outbox is one report.
type outbox struct {
	documents []webhook.Document // one for each route
	before    *reported          // what the last report said; nil if that is not known
	next      reported           // what the next report compares with
	notes     []string
}

// outbox looks at the machine once and makes a document of what it saw for each route. Routes
// with the same payload get the same document.
func (s session) outbox(ctx context.Context, routes []route) (made outbox, err error) {
	health, err := s.lookAtHealth(ctx)
	if err != nil {
		return outbox{}, err
	}
	payloads := map[payload]webhook.Document{}
	for _, way := range routes {
		d, known := payloads[way.payload]
		if !known {
			if d, err = s.document(ctx, way.payload, health, &made); err != nil {
				return outbox{}, err
			}
			payloads[way.payload] = d
		}
		made.documents = append(made.documents, d)
	}
	return made, nil
}

// report sends to all endpoints concurrently: one that hangs must not delay the others.
func (s session) report(ctx context.Context, call invocation, routes []route, last *reportObject) (changed, error) {
	made, err := s.outbox(ctx, routes)
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory() // return the memory of collecting, because sending takes as much again
	limited, cancel := beforeDeadline(ctx)
	defer cancel()
	last.Endpoints = sendAll(limited, made.documents, routes)
	last.Notes = append(append(made.notes, s.remember(made.next, routes, last.Endpoints)...), s.prune(routes)...)
	if code := last.code(); code != "" {
		return nil, about(fault.New(code, last.details()).WithFix(last.fix()), *last)
	}
	return &reportDocument{answer.NewHeader(call.op.Action, true), last.details(), *last, record{}}, nil
}

// prune drops expired documents for endpoints that were removed from the
// configuration, and reports how many.
func (s session) prune(routes []route) (notes []string) {
	var urls []string
	for _, w := range routes {
		urls = append(urls, w.endpoint.URL.String())
	}
	dropped, err := spool.Prune(filepath.Join(s.stateDir, spoolName), urls, s.config.Webhook.Spool.MaxAge())
	if dropped > 0 {
		notes = append(notes, counted(dropped, "document")+" had to be dropped as too old: the configuration does not name the receiver any more.")
	}
	if err != nil {
		notes = append(notes, "The spool of former endpoints: "+err.Error())
	}
	return notes
}

func sendAll(ctx context.Context, documents []webhook.Document, routes []route) []delivery {
	deliveries := make([]delivery, len(routes))
	var all sync.WaitGroup
	for i, way := range routes {
		all.Go(func() { deliveries[i] = way.send(ctx, documents[i]) })
	}
	all.Wait()
	return deliveries
}

// code is that of the worst delivery; "" if all arrived.
func (r reportObject) code() fault.Code {
	var code fault.Code
	for _, t := range r.Endpoints {
		switch t.State {
		case stateFailed:
			return fault.WebhookFailed
		case stateQueued:
			code = fault.WebhookQueued
		}
	}
	return code
}

func (r reportObject) details() string {
	arrived := 0
	var rest []string
	for _, t := range r.Endpoints {
		if err := t.failure(); err != nil {
			rest = append(rest, err.Error())
		} else {
			arrived++
		}
	}
	text := fmt.Sprintf("%d of %s have the report.", arrived, counted(len(r.Endpoints), "endpoint"))
	return strings.Join(append([]string{text}, rest...), " ")
}

// fix is that of the first delivery that has one.
func (r reportObject) fix() string {
	for _, t := range r.Endpoints {
		if t.State != stateDelivered && t.fix != "" {
			return t.fix
		}
	}
	return ""
}

func (d *reportDocument) outcome() string { return d.Details }

func (d *reportDocument) view(p *page) {
	p.verdict(calm, "REPORTED", d.Details)
	d.explain(p)
	p.gaps(d.Unavailable)
}

func (r reportObject) explain(p *page) {
	var rows [][]string
	for _, t := range r.Endpoints {
		rows = append(rows, []string{t.Target, t.State, fmt.Sprint(t.EarlierSent), fmt.Sprint(t.Waiting), known(t.Reason)})
	}
	p.table("", []column{{title: "receiver"}, {title: "state", whole: true}, {title: "earlier", right: true}, {title: "waiting", right: true}, {title: "why"}}, rows)
	for _, t := range r.Endpoints {
		p.warnings(t.Notes)
	}
	p.warnings(r.Notes)
}
