// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/config"
	"sentinel/internal/fault"
	"sentinel/internal/host"
	"sentinel/internal/host/local"
	"sentinel/internal/schema"
	"sentinel/internal/webhook"
	"sentinel/internal/webhook/spool"
)

// telemetryOf returns the document that a made-up machine with a tag sends.
func telemetryOf(t *testing.T, machine string) webhook.Document {
	t.Helper()
	h, err := local.Open(filepath.Join("..", "..", "testdata", "hosts", machine))
	if err != nil {
		t.Fatal(err)
	}
	s := session{host: h, config: config.Default(), stateDir: t.TempDir()}
	s.config.Webhook.Tags = map[string]string{"role": "web"}
	d, err := s.telemetry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTelemetryIsTheHealthDocumentWithItsVersion(t *testing.T) {
	for _, name := range []string{"laptop", "container"} {
		d := telemetryOf(t, name)
		validate(t, schema.Strict.Object(Telemetry()), d.Body)
		var got struct {
			SchemaVersion int               `json:"schema_version"`
			DeliveryID    string            `json:"delivery_id"`
			Tags          map[string]string `json:"tags"`
			Action        string            `json:"action"`
			ThreatLevel   string            `json:"threat_level"`
		}
		if err := json.Unmarshal(d.Body, &got); err != nil {
			t.Fatal(err)
		}
		if got.SchemaVersion != 1 || got.DeliveryID != d.ID || !strings.HasPrefix(d.ID, "msg_") || got.Tags["role"] != "web" || got.Action != "system_health" || got.ThreatLevel == "" || len(d.Body) > maxHealth+1000 {
			t.Errorf("%s: %s", name, d.Body)
		}
	}
}

// What a report keeps for its receiver is told apart from what a user had sent there.
func TestWhoHadADocumentSentIsKept(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer receiver.Close()
	h, err := local.Open(filepath.Join("..", "..", "testdata", "hosts", "container"))
	if err != nil {
		t.Fatal(err)
	}
	s := session{host: h, config: config.Default(), stateDir: t.TempDir(), root: true}
	s.config.Webhook.Endpoints = []config.Endpoint{{URL: receiver.URL}}
	routes, err := s.endpoints()
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.outbox(t.Context(), routes)
	if err != nil {
		t.Fatal(err)
	}
	deliveries := sendAll(t.Context(), made.documents, routes)
	for _, uid := range []*int{nil, new(1000)} {
		s.who.SudoUID = uid
		var last delivery
		if _, err := s.sendTo(t.Context(), invocation{}, routes[0], &last); fault.From(err).Code != fault.WebhookQueued {
			t.Fatal(err)
		}
		deliveries = append(deliveries, last)
	}
	for i, sender := range []string{"", ".0", ".1000"} {
		pattern := filepath.Join(s.stateDir, spoolName, "*", "*-"+deliveries[i].DeliveryID+sender+".doc")
		if found, err := filepath.Glob(pattern); err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", pattern, found, err)
		}
	}
}

// What became of a document decides the code, and the worst of several that of
// a report.
func TestTheCodeSaysWhetherItIsKept(t *testing.T) {
	u := config.Webhook{}
	way, err := session{config: config.Config{Webhook: u}, stateDir: t.TempDir(), host: &host.Host{Unreached: "Use Terminal."}}.listed(config.Endpoint{URL: "https://hooks.example.com/x?key=SECRET"})
	if err != nil {
		t.Fatal(err)
	}
	d := webhook.Document{ID: "msg_1", Body: []byte("{}")}
	arrived := way.delivery(d, spool.Sent{Result: webhook.Result{Verdict: webhook.Delivered, Status: 200, Attempts: 1}})
	other := way.delivery(d, spool.Sent{Result: webhook.Result{Verdict: webhook.Delivered}, ByOther: true})
	kept := way.delivery(d, spool.Sent{Result: webhook.Result{Reason: "is down", Attempts: 4}, Kept: true, Waiting: 3, Dropped: 2})
	lost := way.delivery(d, spool.Sent{Result: webhook.Result{Verdict: webhook.Refused, Reason: "answered with status 400", Status: 400, Fix: "Look."}})
	for _, c := range []struct {
		one  delivery
		want fault.Code
		says string
	}{
		{kept, fault.WebhookQueued, "Not delivered yet, and kept: the receiver https://hooks.example.com/x?… is down; 3 documents wait."},
		{lost, fault.WebhookFailed, "Not delivered, and not kept: the receiver https://hooks.example.com/x?… answered with status 400."},
	} {
		if e := fault.From(c.one.failure()); e.Code != c.want || e.Message != c.says {
			t.Errorf("%v", e)
		}
	}
	if arrived.failure() != nil || other.failure() != nil || !strings.Contains(other.details(), "from another run") {
		t.Errorf("%v, %v, %s", arrived.failure(), other.failure(), other.details())
	}
	for want, list := range map[fault.Code][]delivery{
		"": {arrived, other}, fault.WebhookQueued: {arrived, kept}, fault.WebhookFailed: {kept, lost, arrived},
	} {
		if got := (reportObject{Endpoints: list}).code(); got != want {
			t.Errorf("%v is %q, want %q", list, got, want)
		}
	}
	if r := (reportObject{Endpoints: []delivery{arrived, lost}}); r.fix() != "Look." || !strings.HasPrefix(r.details(), "1 of 2 endpoints have the report. Not delivered") {
		t.Errorf("%s, %s", r.details(), r.fix())
	}
	if r := way.delivery(d, spool.Sent{Result: webhook.Result{Reason: "could not be talked to: no route to host", NoRoute: true}}); fault.From(r.failure()).Fix != "Use Terminal." {
		t.Errorf("%v", r.failure())
	}
	if len(kept.Notes) != 1 || !strings.Contains(kept.Notes[0], "2 documents that waited had to be dropped") {
		t.Errorf("%q", kept.Notes)
	}
}

func TestTelemetryIsShownToPeople(t *testing.T) {
	d := delivery{Target: "https://hooks.example.com/x", State: stateDelivered, HTTPStatus: 200, Attempts: 2, Bytes: 9, Signed: true, Configured: true, EarlierSent: 1, Notes: []string{"A note."}}
	p := newPage(80, false)
	(&webhookDocument{delivery: d, Details: d.details()}).view(p)
	if got := string(p.bytes()); got != "SENT: 9 bytes were taken by https://hooks.example.com/x, after 1 document from\nbefore.\nStatus 200, 2 attempts, signed.\nNote: A note.\n" {
		t.Errorf("%q", got)
	}
	p = newPage(100, false)
	failed := d
	failed.State, failed.Reason, failed.RetryAfterSeconds = stateQueued, "is down", 30
	failed.explain(p)
	reportObject{Endpoints: []delivery{d, failed}}.explain(p)
	for _, want := range []string{"asked again in 30 seconds", "queued", "is down", "delivered"} {
		if !strings.Contains(string(p.bytes()), want) {
			t.Errorf("%q is not in %q", want, p.bytes())
		}
	}
}

// What waited for a receiver that was taken out of the configuration does not go
// without a word.
func TestDocumentsOfFormerEndpointsAreNotDroppedInSilence(t *testing.T) {
	s := session{config: config.Default(), stateDir: t.TempDir()}
	if notes := s.prune(nil); len(notes) != 0 {
		t.Errorf("%q", notes)
	}
	dir := filepath.Join(s.stateDir, spoolName, "0123456789abcdef")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "000000000000001-1000000000-msg_1.doc"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if notes := s.prune(nil); len(notes) != 1 || !strings.HasPrefix(notes[0], "1 document had to be dropped") {
		t.Errorf("%q", notes)
	}
	if notes := s.prune(nil); len(notes) != 0 {
		t.Errorf("said twice: %q", notes)
	}
}
