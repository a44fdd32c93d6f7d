// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sentinel/internal/config"
	"sentinel/internal/fault"
	"sentinel/internal/testenv"
)

// collector returns the endpoint of a Collector, with the files that the test gives.
func collector(t *testing.T, base string, files map[string]string, o config.OTLP) Endpoint {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "secrets")
	must(t, os.Mkdir(dir, 0o700))
	for name, content := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	w := config.Default().Webhook
	w.TimeoutSeconds = 1
	o.Endpoint = base
	e, err := Collector(o.Metrics(), w, dir)
	must(t, err)
	return e
}

func TestACollectorGetsTheBodyAlone(t *testing.T) {
	a := newAuthority(t)
	r := receive(t, a, nil)
	e := collector(t, r.URL+"/otlp/", map[string]string{"ca": string(a.pem), "token": "Bearer abc\n", "headers": "X-Scope-OrgID: one\n"}, config.OTLP{CAFile: "ca", AuthorizationFile: "token", HeadersFile: "headers"})
	c, _ := withoutPauses(t, e)
	if got := c.Deliver(t.Context(), document); got.Verdict != Delivered || got.Partial != "" {
		t.Fatalf("%+v", got)
	}
	q := r.requests()[0]
	unpacked, err := gzip.NewReader(bytes.NewReader(q.body))
	must(t, err)
	body, err := io.ReadAll(unpacked)
	must(t, err)
	if q.path != "/otlp/v1/metrics" || string(body) != string(document.Body) || q.header.Get("Content-Type") != "application/json" || q.header.Get("Content-Encoding") != "gzip" ||
		q.header.Get("Authorization") != "Bearer abc" || q.header.Get("X-Scope-Orgid") != "one" || q.header.Get("User-Agent") != "sentinel/test" {
		t.Errorf("%s %q %v", q.path, body, q.header)
	}
	for name := range q.header {
		if strings.HasPrefix(name, "Webhook-") || strings.HasPrefix(name, "Sentinel-") {
			t.Errorf("%s is for webhooks", name)
		}
	}
}

// By the section "Failures" of OTLP/HTTP, which lets a client send again after four statuses alone.
func TestEachAnswerOfACollectorHasItsVerdict(t *testing.T) {
	a := newAuthority(t)
	for _, c := range []struct {
		codes    []int
		verdict  Verdict
		attempts int
		says     string // in reason or fix
	}{
		{[]int{200}, Delivered, 1, ""},
		{[]int{503, 200}, Delivered, 2, ""},
		{[]int{429, 502, 504, 200}, Delivered, 4, ""},
		{[]int{503}, Unreached, 4, "answered with status 503"},
		{[]int{500}, Refused, 1, "logs of the Collector"},
		{[]int{501}, Refused, 1, "logs of the Collector"},
		{[]int{400}, Refused, 1, "logs of the Collector"},
		{[]int{401}, Refused, 1, "authorization_file and headers_file of otlp"},
		{[]int{403}, Refused, 1, "authorization_file and headers_file of otlp"},
		{[]int{404}, Refused, 1, "to which /v1/metrics and /v1/logs are added"},
		{[]int{413}, Refused, 1, "logs of the Collector"},
		{[]int{415}, Refused, 1, "logs of the Collector"},
		{[]int{301}, Unreached, 1, "a redirect that is not followed"},
	} {
		r := receive(t, a, status(c.codes...))
		client, _ := withoutPauses(t, collector(t, r.URL, map[string]string{"ca": string(a.pem)}, config.OTLP{CAFile: "ca"}))
		got := client.Deliver(t.Context(), document)
		if got.Verdict != c.verdict || got.Attempts != c.attempts || !strings.Contains(got.Reason+got.Fix, c.says) {
			t.Errorf("%v: %+v", c.codes, got)
		}
	}
}

func TestWhatACollectorTakesInPartIsTold(t *testing.T) {
	for answer, want := range map[string]string{
		`{"partialSuccess":{"rejectedDataPoints":"2","errorMessage":"old"}}`: `it rejected data points (2): "old"`, `{"partialSuccess":{}}`: "", "no JSON": "",
	} {
		r := &receiver{then: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) }}
		c, _ := withoutPauses(t, collector(t, plain(t, r), nil, config.OTLP{}))
		if got := c.Deliver(t.Context(), document); got.Verdict != Delivered || got.Partial != want {
			t.Errorf("%s: %+v", answer, got)
		}
		hook, _ := withoutPauses(t, endpoint(t, plain(t, r), nil, config.Endpoint{}))
		if got := hook.Deliver(t.Context(), document); got.Partial != "" {
			t.Errorf("%s: a webhook is quoted: %+v", answer, got)
		}
	}
}

// An answer without an end costs a second at most, however long an attempt may take, and memory for its
// beginning. One that is not whole is no answer about a part.
func TestACollectorCannotHoldAReportUp(t *testing.T) {
	testenv.HangGuard(t)
	var elsewhere atomic.Int32
	var written atomic.Int64
	other := plain(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	for name, c := range map[string]struct {
		then    http.HandlerFunc
		verdict Verdict
		says    string
	}{
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for block := []byte(`{"partialSuccess":{"errorMessage":"` + strings.Repeat("a", 1<<20)); ; {
				n, err := w.Write(block)
				if written.Add(int64(n)); err != nil {
					return
				}
			}
		}, Delivered, ""},
		"slow": {func(w http.ResponseWriter, q *http.Request) {
			io.WriteString(w, `{"partialSuccess":`)
			w.(http.Flusher).Flush()
			<-q.Context().Done()
		}, Delivered, ""},
		"silent":     {func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }, Unreached, "did not answer within 1s"},
		"broken off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Unreached, "broke the connection off"},
		"elsewhere": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, Unreached, "a redirect that is not followed"},
	} {
		r := &receiver{then: c.then}
		e := collector(t, plain(t, r), nil, config.OTLP{})
		if c.verdict == Delivered {
			e.timeout = 2 * testenv.HangLimit
		}
		client, _ := withoutPauses(t, e)
		got := client.Deliver(t.Context(), document)
		if got.Verdict != c.verdict || !strings.Contains(got.Reason, c.says) || got.Partial != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if elsewhere.Load() > 0 {
		t.Error("the report went to another host")
	}
	if n := written.Load(); n > 64<<20 {
		t.Errorf("%d bytes of an answer without an end were read", n)
	}
}

func TestTheSettingOfACollectorIsNamed(t *testing.T) {
	_, err := Collector(config.OTLP{Endpoint: "https://otel.example.com", AuthorizationFile: "none"}.Logs(), config.Default().Webhook, t.TempDir())
	if f := fault.From(err); f.Code != fault.ConfigInvalid || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(f.Fix, "out of otlp.") {
		t.Errorf("%v, %q", err, fmt.Sprint(f.Fix))
	}
}
