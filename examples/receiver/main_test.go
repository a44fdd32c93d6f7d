// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	oldKey = "whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2w="
	newKey = "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU="
	body   = `{"success":true}`
)

// request is signed with keys by the official library.
func request(t *testing.T, id string, at time.Time, body string, keys ...string) *http.Request {
	t.Helper()
	q := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	q.Header.Set("Webhook-Id", id)
	q.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	var signed []string
	for _, key := range keys {
		w, err := standardwebhooks.NewWebhook(key)
		if err != nil {
			t.Fatal(err)
		}
		s, err := w.Sign(id, at, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		signed = append(signed, s)
	}
	q.Header.Set("Webhook-Signature", strings.Join(signed, " "))
	return q
}

func newReceiver(t *testing.T, now time.Time, keys ...string) *receiver {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(strings.Join(keys, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := readKeys(file)
	if err != nil {
		t.Fatal(err)
	}
	return &receiver{keys: read, dir: t.TempDir(), now: func() time.Time { return now }}
}

func (r *receiver) status(q *http.Request) int {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, q)
	return w.Code
}

func TestWhatIsTakenAndWhatIsNot(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	changed := func(f func(*http.Request)) *http.Request {
		q := request(t, "msg_1", now, body, newKey)
		f(q)
		return q
	}
	for name, c := range map[string]struct {
		q    *http.Request
		want int
	}{
		"signed":                        {request(t, "msg_1", now, body, newKey), 204},
		"signed with both keys":         {request(t, "msg_1", now, body, oldKey, newKey), 204},
		"five minutes old":              {request(t, "msg_1", now.Add(-5*time.Minute), body, newKey), 204},
		"a minute more":                 {request(t, "msg_1", now.Add(-6*time.Minute), body, newKey), 401},
		"from the future":               {request(t, "msg_1", now.Add(6*time.Minute), body, newKey), 401},
		"signed with another key":       {request(t, "msg_1", now, body, oldKey), 401},
		"not signed":                    {request(t, "msg_1", now, body), 401},
		"of another body":               {changed(func(q *http.Request) { q.Body = http.NoBody }), 401},
		"of another id":                 {changed(func(q *http.Request) { q.Header.Set("Webhook-Id", "msg_2") }), 401},
		"of another time":               {changed(func(q *http.Request) { q.Header.Set("Webhook-Timestamp", "1800000001") }), 401},
		"without a time":                {changed(func(q *http.Request) { q.Header.Del("Webhook-Timestamp") }), 401},
		"of a version that is unknown":  {changed(func(q *http.Request) { q.Header.Set("Webhook-Signature", "v2"+q.Header.Get("Webhook-Signature")[2:]) }), 401},
		"with an id that leads outside": {request(t, "../x", now, body, newKey), 401},
		"without an id":                 {request(t, "", now, body, newKey), 401},
		"too large":                     {request(t, "msg_1", now, strings.Repeat("x", maxBody+1), newKey), 413},
		"a GET":                         {changed(func(q *http.Request) { q.Method = http.MethodGet }), 405},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, now, newKey)
			if got := r.status(c.q); got != c.want {
				t.Errorf("status %d, want %d", got, c.want)
			}
			files, err := os.ReadDir(r.dir)
			if err != nil || (len(files) == 1) != (c.want == 204) {
				t.Errorf("kept %v, %v", files, err)
			}
		})
	}
}

func TestADocumentThatComesTwiceIsKeptOnce(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := newReceiver(t, now, oldKey, newKey)
	for i, q := range []*http.Request{request(t, "msg_1", now, body, oldKey), request(t, "msg_1", now.Add(-time.Minute), `{"success":false}`, newKey)} {
		if got := r.status(q); got != 204 {
			t.Errorf("time %d: status %d", i, got)
		}
	}
	files, err := os.ReadDir(r.dir)
	if err != nil || len(files) != 1 || files[0].Name() != "msg_1.json" {
		t.Fatalf("kept %v, %v", files, err)
	}
	if raw, err := os.ReadFile(filepath.Join(r.dir, "msg_1.json")); err != nil || string(raw) != body {
		t.Errorf("kept %q, %v", raw, err)
	}
}

// A document that is not on disk is not accepted, so that sentinel keeps it.
func TestWhatCannotBeKeptIsNotTaken(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := newReceiver(t, now, newKey)
	r.dir = filepath.Join(r.dir, "gone")
	if got := r.status(request(t, "msg_1", now, body, newKey)); got != 500 {
		t.Errorf("status %d", got)
	}
}

func TestKeysThatAreNone(t *testing.T) {
	for _, text := range []string{"", "x\n", "whsec_!\n", newKey + "\n\n" + newKey} {
		file := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if keys, err := readKeys(file); err == nil {
			t.Errorf("%q became %v", text, keys)
		}
	}
	if _, err := readKeys(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there")
	}
}
