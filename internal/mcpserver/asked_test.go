// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// asking is a server whose one tool, "ask", asks the client and answers with
// what it learned.
func asking() *server.MCPServer {
	s := server.NewMCPServer("test", "1", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewToolWithRawSchema("ask", "", json.RawMessage(`{"type":"object"}`)),
		func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			result, err := ask(ctx, "elicitation/create", map[string]string{"message": "Really?"})
			if err != nil {
				return mcp.NewToolResultText("failed: " + err.Error()), nil
			}
			return mcp.NewToolResultText("told: " + string(result)), nil
		})
	return s
}

// question returns the id of the next line of the server, a request of its own.
func (p *peer) question() string {
	p.t.Helper()
	r := p.receive()
	if r.Method != "elicitation/create" || !strings.HasPrefix(string(r.ID), `"`) {
		p.t.Fatalf("not a question with an id of text: %s %s", r.ID, r.short())
	}
	return string(r.ID)
}

func TestAnswerReachesWhoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectTo(t, asking())
		p.send(call("1", "ask", ""), call("2", "ask", ""))
		first, second := p.question(), p.question() // of which call first is not said
		if first == second {
			t.Fatalf("two questions have the id %s", first)
		}
		p.send(
			`{"jsonrpc":"2.0","id":1,"result":{"of":"nothing asked"}}`,
			`{"jsonrpc":"2.0","id":`+first+`,"result":{"action":"accept"}}`,
			`{"jsonrpc":"2.0","id":`+first+`,"result":{"action":"twice"}}`,
		)
		if got := p.receive().short(); !strings.HasSuffix(got, `: told: {"action":"accept"}`) {
			t.Errorf("answer %s", got)
		}
		p.send(`{"jsonrpc":"2.0","id":` + second + `,"error":{"code":-32601,"message":"no such"}}`)
		if got := p.receive().short(); !strings.HasSuffix(got, "failed: the client answered with error -32601: no such") {
			t.Errorf("answer %s", got)
		}
	})
}

func TestEndOfInputAnswersNoQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectTo(t, asking())
		p.send(call("1", "ask", ""))
		p.question()
		p.in.Close()
		p.expect("1: failed: " + errNoAnswer.Error())
		if err := <-p.served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

func TestQuestionOfACallThatEndsIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectTo(t, asking())
		p.send(call("1", "ask", ""))
		id := p.question()
		var n struct {
			Method string
			Params struct{ RequestID json.RawMessage }
		}
		if err := json.Unmarshal([]byte(p.raw()), &n); err != nil { // at the end of the call's time
			t.Fatal(err)
		}
		if n.Method != "notifications/cancelled" || string(n.Params.RequestID) != id {
			t.Errorf("%s of %s, want a cancellation of %s", n.Method, n.Params.RequestID, id)
		}
		p.expect("1: failed: context deadline exceeded")
	})
}

func TestNobodyIsAskedOutsideOfACall(t *testing.T) {
	if _, err := ask(t.Context(), "elicitation/create", nil); !errors.Is(err, errNoAnswer) {
		t.Errorf("ask: %v, want errNoAnswer", err)
	}
}
