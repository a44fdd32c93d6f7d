// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/jsonrpc"
)

func batchOf(lines ...string) string { return "[" + strings.Join(lines, ",") + "]" }

// connectBatching connects a client that has agreed on the revision with batches.
func connectBatching(t *testing.T, w *work) *peer {
	t.Helper()
	p := connect(t, w)
	p.send(opened("2025-03-26"))
	p.expect("0: ok")
	return p
}

// answers returns the next line, an array of answers, each in short, sorted.
func (p *peer) answers() (short []string) {
	p.t.Helper()
	var replies []reply
	line := p.raw()
	if err := json.Unmarshal([]byte(line), &replies); err != nil {
		p.t.Fatalf("%v in %s", err, line)
	}
	for _, r := range replies {
		short = append(short, r.short())
	}
	slices.Sort(short)
	return short
}

func TestBatchIsAnsweredAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connectBatching(t, w)
		p.send(batchOf(
			ping("1"), call("2", "work", "a"), call("3", "work", "b"),
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":9,"result":{}}`,
			call("3", "work", "again"), `{"jsonrpc":"2.0","id":4,"method":"ping","method":"ping"}`, "5", "[]", opened("2025-03-26"),
		))
		p.send(ping("6")) // does not wait for the batch
		p.expect("6: ok")
		for range 2 {
			w.release <- struct{}{}
		}
		want := []string{
			"0: error -32600 Invalid request: the handshake cannot be part of a batch", "1: ok", "2: done", "3: done", "3: error -32600 " + idInUse,
			`4: error -32600 Invalid request: the key "method" is there twice`, "null: error -32600 Invalid request: a request is a JSON object",
			"null: error -32600 Invalid request: a request is a JSON object",
		}
		if diff := cmp.Diff(want, p.answers()); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

// What a request of 2026-07-28 says holds for it alone, and there are no batches for it to be in.
func TestBatchTakesNothingOfAnotherRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connectBatching(t, w)
		p.send(batchOf(
			request("1", "tools/call", `{"name":"work","arguments":{"name":"a"},`+modern+`}`), request("2", "server/discover", `{`+modern+`}`),
			request("3", "ping", `{`+metaOf(`"2025-06-18"`)+`}`), request("4", "ping", `{`+metaOf(`"2025-03-26"`)+`}`), ping("5"),
		))
		want := []string{"1: error -32600 " + noBatches, "2: error -32600 " + noBatches, "3: error -32600 " + noBatches, "4: ok", "5: ok"}
		if diff := cmp.Diff(want, p.answers()); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if n := len(w.started); n != 0 {
			t.Errorf("%d calls began", n)
		}
	})
}

func TestBatchWithoutAnswersIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connectBatching(t, w)
		p.send(batchOf(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, cancelOf("5")))
		p.send(batchOf(call("1", "work", ""), call("2", "work", ""), cancelOf("1")))
		synctest.Wait()
		p.send(cancelOf("2"))
		synctest.Wait()
		p.send(ping("3"))
		p.expect("3: ok")
	})
}

func TestEndOfInputWaitsForABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connectBatching(t, w)
		p.send(batchOf(call("1", "work", ""), ping("2")))
		p.in.Close()
		w.release <- struct{}{}
		if diff := cmp.Diff([]string{"1: done", "2: ok"}, p.answers()); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if err := <-p.served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

func TestBatchIsRefusedAsAWhole(t *testing.T) {
	long := batchOf(slices.Repeat([]string{ping("1")}, jsonrpc.MaxBatch+1)...)
	for _, test := range []struct{ revision, line, sentence string }{
		{"", batchOf(ping("1")), "part of revision 2025-03-26 alone"},
		{"2024-11-05", batchOf(ping("1")), "part of revision 2025-03-26 alone"},
		{"2025-06-18", batchOf(ping("1")), "part of revision 2025-03-26 alone"},
		{"2025-11-25", batchOf(ping("1")), "part of revision 2025-03-26 alone"},
		{"2025-03-26", "[]", "holds at least one message"},
		{"2025-03-26", "[" + ping("1"), "exactly one JSON object"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := connect(t, newWork())
			if test.revision != "" {
				p.send(opened(test.revision))
				p.expect("0: ok")
			}
			p.send(test.line)
			if r := p.receive(); r.Error == nil || !strings.Contains(r.Error.Message, test.sentence) {
				t.Errorf("%s: %.60s: %s", test.revision, test.line, r.short())
			}
			p.send(ping("2"))
			p.expect("2: ok")
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := connectBatching(t, newWork())
		p.send(long)
		if got := p.answers(); len(got) != 1 || !strings.Contains(got[0], "may hold 100 messages, not 101") {
			t.Errorf("answers %q", got)
		}
	})
}
