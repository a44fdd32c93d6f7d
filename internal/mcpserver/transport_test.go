// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sentinel/internal/jsonrpc"
)

func TestEndOfInputWaitsForRunningCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connect(t, w)
		p.send(call("1", "work", "a"), call("2", "work", "b"))
		p.in.Close()
		synctest.Wait()
		if got := w.running.Load(); got != 2 {
			t.Fatalf("%d calls run after the end of input, want 2", got)
		}
		w.release <- struct{}{}
		w.release <- struct{}{}
		got := []string{p.receive().short(), p.receive().short()}
		if got[0] > got[1] {
			got[0], got[1] = got[1], got[0]
		}
		if diff := cmp.Diff([]string{"1: done", "2: done"}, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if err := <-p.served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

func TestLastLineNeedsNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		if _, err := io.WriteString(p.in, ping("1")); err != nil {
			t.Fatal(err)
		}
		p.in.Close()
		p.expect("1: ok")
	})
}

// TestCancelOnTheNextLineIsNeverLost is about the fault of mcp-go's own
// transport, which loses a cancel that comes before a worker has begun.
func TestCancelOnTheNextLineIsNeverLost(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			w := newWork()
			p := connect(t, w)
			p.send(call("1", "work", "a"), cancelOf("1"))
			synctest.Wait()
			if n := w.running.Load(); n != 0 {
				t.Errorf("%d calls run on", n)
			}
			p.send(ping("2"))
			p.expect("2: ok")
		})
	}
}

// A client that cancels wants no more of the call, whatever else it writes there: that is for requests.
func TestCancellationCountsWhateverElseItSays(t *testing.T) {
	for _, more := range []string{
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}`,
		`"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}`, `"_meta":{"io.modelcontextprotocol/protocolVersion":5}`,
		modern, `"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"c"}}`, `"_meta":{"progressToken":1.5}`, `"_meta":[]`,
		`"name":5`, `"level":1`, `"cursor":1`, `"uri":{}`, `"ref":"x"`, `"context":"shutdown"`, `"notifications":1`, `"reason":{}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWork()
			p := connect(t, w)
			p.send(call("1", "work", ""))
			synctest.Wait()
			p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,` + more + `}}`)
			synctest.Wait()
			if n := w.running.Load(); n != 0 {
				t.Errorf("%s: %d calls run on", more, n)
			}
			p.send(ping("2"))
			p.expect("2: ok")
		})
	}
}

func TestAtMostFourCallsRunAndQueuedOnesCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connect(t, w)
		for i := range 120 { // more than mcp-go's own queue holds
			p.send(call(fmt.Sprint(i), "work", fmt.Sprint(i)))
		}
		synctest.Wait()
		if len(w.started) != maxCalls {
			t.Fatalf("%d calls began, want %d", len(w.started), maxCalls)
		}
		ran := map[string]bool{}
		for range maxCalls {
			ran[<-w.started] = true
		}
		for i := range 120 {
			if id := fmt.Sprint(i); !ran[id] {
				p.send(cancelOf(id))
			}
		}
		synctest.Wait() // the last one is read, but may not be heeded yet
		for range maxCalls {
			w.release <- struct{}{}
			if r := p.receive(); !ran[string(r.ID)] {
				t.Errorf("answer to a cancelled call: %s", r.short())
			}
		}
		p.send(ping(`"p"`))
		p.expect(`"p": ok`)
		if len(w.started) != 0 || w.most.Load() != maxCalls {
			t.Errorf("%d cancelled calls began, %d ran at once", len(w.started), w.most.Load())
		}
	})
}

func TestIDsOfNumberAndTextAreTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connect(t, w)
		p.send(call("7", "work", "number"), call(`"7"`, "work", "text"))
		synctest.Wait()
		p.send(cancelOf(`"7"`))
		synctest.Wait()
		if n := w.running.Load(); n != 1 {
			t.Errorf("%d calls run, want the one that was not cancelled", n)
		}
		w.release <- struct{}{}
		p.expect("7: done")
	})
}

// TestCancelledCallIsNeverAnswered has calls that were cancelled while they
// waited, while they ran and after their handler had its result, in a server that goes on
// and in one whose input has ended.
func TestCancelledCallIsNeverAnswered(t *testing.T) {
	for _, ends := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWork()
			p := connect(t, w)
			for i := range maxCalls {
				p.send(call(fmt.Sprint(i), "stubborn", "")) // ends when it likes
			}
			p.send(call("4", "work", "queued"))
			synctest.Wait()
			for i := range maxCalls + 1 {
				p.send(cancelOf(fmt.Sprint(i)))
			}
			p.send(cancelOf("0"), cancelOf("5")) // again, and one that never was
			if ends {
				p.in.Close()
			}
			synctest.Wait()
			for range maxCalls {
				w.release <- struct{}{}
			}
			if ends {
				rest, err := io.ReadAll(p.out)
				if len(rest) != 0 || err != nil || <-p.served != nil {
					t.Errorf("after the end of input: %q, %v", rest, err)
				}
				return
			}
			p.send(call("4", "panic", "")) // the id is free again
			p.expect("4: error -32603 A fault in sentinel-mcp; its log on stderr has the details")
		})
	}
}

func TestCancellationAfterTheAnswerIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connect(t, w)
		p.send(call("1", "work", ""))
		w.release <- struct{}{}
		p.expect("1: done")
		synctest.Wait() // an id is free a moment after its answer
		p.send(cancelOf("1"), call("1", "work", ""))
		w.release <- struct{}{}
		p.expect("1: done")
	})
}

func TestHandshakeCannotBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		p.send(cancelOf("0"))
		lines := []string{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, cancelOf("0"), ping("1")}
		go io.WriteString(p.in, strings.Join(lines, "\n")+"\n") // which waits for its reader; what is missing then says so
		p.expect("0: ok", "1: ok")
	})
}

// TestIDOfARunningCallIsRefusedToAll is about answers that are made at once.
func TestIDOfARunningCallIsRefusedToAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connect(t, w)
		p.send(call("1", "work", ""))
		p.send(ping("1"))
		p.expect("1: error -32600 " + idInUse)
		w.release <- struct{}{}
		p.expect("1: done")
	})
}

func TestRunningIDIsRefusedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connect(t, w)
		p.send(call("1", "work", "a"), call("1", "work", "b"))
		p.expect("1: error -32600 " + idInUse)
		synctest.Wait()
		w.release <- struct{}{}
		p.expect("1: done")
		if <-w.started; len(w.started) != 0 {
			t.Error("the second call ran")
		}
	})
}

func TestRunningCallEndsAtItsTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		began := time.Now()
		p.send(call("1", "work", ""))
		p.expect("1: stopped: context deadline exceeded")
		if took := time.Since(began); took != testLimit {
			t.Errorf("answered after %v, want %v", took, testLimit)
		}
	})
}

// TestTimeInTheQueueCounts has every slot taken by calls that do not end.
func TestTimeInTheQueueCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connect(t, w)
		for i := range maxCalls {
			p.send(call(fmt.Sprint(i), "stubborn", ""))
		}
		synctest.Wait()
		began := time.Now()
		p.send(call(`"queued"`, "work", ""))
		p.expect(`"queued": never ran: context deadline exceeded`)
		if took := time.Since(began); took != testLimit {
			t.Errorf("answered after %v, want %v", took, testLimit)
		}
		for range maxCalls {
			w.release <- struct{}{}
			p.receive()
		}
	})
}

// TestEndOfInputWaitsNoLongerThanCallsMayTake has a call that outlives its
// time, which no handler of ours should.
func TestEndOfInputWaitsNoLongerThanCallsMayTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connect(t, w)
		p.send(call("1", "stubborn", ""))
		began := time.Now()
		if err := p.ended(); !errors.Is(err, errUnanswered) {
			t.Errorf("serve: %v, want errUnanswered", err)
		}
		if took := time.Since(began); took < testLimit || took > 2*testLimit {
			t.Errorf("waited %v, want a little more than %v", took, testLimit)
		}
		w.release <- struct{}{}
	})
}

func TestTooManyRequestsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		for i := range maxInFlight {
			p.send(call(fmt.Sprint(i), "work", ""))
		}
		p.send(call(`"more"`, "work", ""))
		p.expect(`"more": error 503 ` + tooMany)
		p.send(ping(`"p"`))
		p.expect(`"p": ok`)
		p.cancel()
		go io.Copy(io.Discard, p.out)
		<-p.served
	})
}

func TestPingIsAnsweredWhileCallsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		p := connect(t, w)
		for i := range 10 {
			p.send(call(fmt.Sprint(i), "work", ""))
		}
		p.send(ping(`"p"`))
		p.expect(`"p": ok`)
	})
}

func TestEndOfContextCancelsAndAnswersCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		p.send(call("1", "work", ""))
		synctest.Wait()
		p.cancel()
		p.expect("1: stopped: context canceled")
		if err := <-p.served; !errors.Is(err, context.Canceled) {
			t.Errorf("serve: %v, want Canceled", err)
		}
	})
}

// brokenPipe is a client that has closed its reading end.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestClientThatReadsNoMoreEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		s := server.NewMCPServer("test", "1")
		s.AddTool(mcp.NewToolWithRawSchema("work", "", json.RawMessage(`{"type":"object"}`)), w.handle)
		in, client := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- newTransport(s, brokenPipe{}, testLimit, quiet()).serve(t.Context(), in) }()
		io.WriteString(client, call("1", "work", "")+"\n")
		<-w.started
		io.WriteString(client, ping("2")+"\n")
		if err := <-served; !errors.Is(err, errClientGone) {
			t.Errorf("serve: %v, want errClientGone", err)
		}
		synctest.Wait()
		if w.running.Load() != 0 {
			t.Error("the call still runs")
		}
		client.Close()
	})
}

func TestBadLinesAreAnsweredAndTheNextRequestWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		for _, line := range []string{"nonsense", "[]", `{"id":null,"method":"ping"}`, `{"jsonrpc":"2.0"}`, strings.Repeat("x", 3*maxLine)} {
			go io.WriteString(p.in, "\n \t\r\n"+line+"\n")
			if r := p.receive(); r.Error == nil || r.ID != nil {
				t.Errorf("%.30q: answer %s, want an error without an id", line, r.short())
			}
			p.send(ping("1"))
			p.expect("1: ok")
		}
	})
}

func TestUnknownToolAndMethodAreErrorsOfTheProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		p.send(call("1", "nope\u202e", ""))
		p.expect("1: error -32602 There is no tool \"nope\uFFFD\". Tools: odd, panic, stubborn, work.")
		p.send(call("2", "get_asset_info", ""))
		p.expect("2: error -32602 The tool \"get_asset_info\" is turned off on this server.")
		p.send(call("3", strings.Repeat("x", 1000), ""))
		p.expect("3: error -32602 There is no tool \"" + strings.Repeat("x", 63) + "…\". Tools: odd, panic, stubborn, work.")
		p.send(`{"jsonrpc":"2.0","id":4,"method":"nope"}`)
		if r := p.receive(); r.Error == nil || r.Error.Code != -32601 {
			t.Errorf("unknown method: %s, want -32601", r.short())
		}
		p.send(`{"jsonrpc":"2.0","id":5,"method":"nope\u202e` + strings.Repeat("x", 5000) + `"}`)
		if r := p.receive(); r.Error == nil || r.Error.Code != -32601 || utf8.RuneCountInString(r.Error.Message) != maxError || strings.ContainsRune(r.Error.Message, '\u202e') {
			t.Errorf("a long method: %.100s", r.short())
		}
	})
}

func TestPanicIsAnsweredWithoutItsText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		p.send(call("1", "panic", ""))
		p.expect("1: error -32603 A fault in sentinel-mcp; its log on stderr has the details")
		p.send(ping("2"))
		p.expect("2: ok")
	})
}

func TestAnswerThatCannotBeEncodedIsStillAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		p.send(call("1", "odd", ""))
		p.expect("1: error -32603 A fault in sentinel-mcp; its log on stderr has the details")
	})
}

func TestNotificationsAndAnswersOfTheClientGetNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		p.send(
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"work"}}`,
			`{"jsonrpc":"2.0","id":9,"result":{}}`,
			cancelOf("99"), cancelOf("{}"),
			ping("1"),
		)
		p.expect("1: ok")
		if err := p.ended(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func TestSubscriptionIsAcknowledgedBeforeItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		p.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modern + `}}`)
		p.expect("notifications/subscriptions/acknowledged", "1: ok")
	})
}

// TestOpenSubscriptionDoesNotHoldTheEnd uses a server that does keep such a
// request open, as ours will if its list of tools can ever change.
func TestOpenSubscriptionDoesNotHoldTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectTo(t, server.NewMCPServer("test", "1", server.WithToolCapabilities(true)))
		p.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modern + `}}`)
		go io.Copy(io.Discard, p.out)
		if err := p.ended(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

func TestCancelledSubscriptionIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectTo(t, server.NewMCPServer("test", "1", server.WithToolCapabilities(true)))
		p.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modern + `}}`)
		synctest.Wait()
		p.send(cancelOf("1"))
		synctest.Wait()
		p.send(ping("2"))
		p.expect("notifications/subscriptions/acknowledged", "2: ok")
	})
}

func FuzzEveryLineGetsItsAnswer(f *testing.F) {
	for _, seed := range []string{
		ping("1"), call("1", "work", "x"), cancelOf("1"), "[]", "{}", "null", `{"id":1}`, "", "\r\n",
		`{"jsonrpc":"2.0","ID":1,"Method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","id":1e0,"method":"ping"}`, `{"id":1,"error":{}}`,
	} {
		f.Add([]byte(seed))
	}
	s := server.NewMCPServer("test", "1", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewToolWithRawSchema("work", "", json.RawMessage(`{"type":"object"}`)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("done"), nil
		})
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsRune(line, '\n') || len(line) > maxLine || strings.Contains(string(line), "subscriptions") {
			return
		}
		var out bytes.Buffer
		if err := newTransport(s, &out, testLimit, quiet()).serve(t.Context(), bytes.NewReader(line)); err != nil {
			t.Fatal(err)
		}
		want := 0
		if !jsonrpc.Blank(line) {
			frame := jsonrpc.Parse(line)
			if frame.Batch || frame.Messages[0].Fault != nil || frame.Messages[0].Request() {
				want = 1
			}
		}
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != want {
			t.Errorf("%d answers to %q, want %d: %s", got, line, want, out.String())
		}
		if out.Len() > 0 && !json.Valid(out.Bytes()) {
			t.Errorf("the answer to %q is no JSON: %s", line, out.String())
		}
	})
}
