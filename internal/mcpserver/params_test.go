// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/ops"
)

// metaOf is the _meta of a request of 2026-07-28 that says another revision.
func metaOf(revision string) string { return strings.Replace(modern, `"2026-07-28"`, revision, 1) }

func request(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
}

func opened(revision string) string {
	return request("0", "initialize", `{"protocolVersion":"`+revision+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
}

// goWords are what a sentence for a client has nothing of.
var goWords = []string{"json:", "unmarshal", "struct", "Go ", "mcp.", "map[", "unparsable", "interface", "base64", "nil"}

func TestWrongParamsAreRefusedWithoutAWordOfGo(t *testing.T) {
	for _, test := range []struct {
		line     string
		code     int
		sentence string
	}{
		{request("1", "tools/list", `{`+metaOf(`"2027-01-01"`)+`}`), -32022, `"2027-01-01"`},
		{request("1", "tools/list", `{`+metaOf(`"zzz"`)+`}`), -32022, `"zzz"`},
		{request("1", "tools/list", `{`+metaOf(`"1900-01-01"`)+`}`), -32022, "2026-07-28, 2025-11-25"},
		{request("1", "tools/list", `{`+metaOf(`""`)+`}`), -32022, `""`},
		{request("1", "tools/call", `{"name":"get_asset_info",`+metaOf(`"2026-07-28 "`)+`}`), -32022, "Unsupported"},
		{request("1", "server/discover", `{`+metaOf(`"zzz"`)+`}`), -32022, `"zzz"`},
		{request("1", "tools/list", `{`+metaOf(`20260728`)+`}`), -32602, "io.modelcontextprotocol/protocolVersion must be a text"},
		{request("1", "tools/list", `{`+metaOf(`null`)+`}`), -32602, "must have io.modelcontextprotocol/protocolVersion"},
		{request("1", "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`), -32602, "must have io.modelcontextprotocol/clientCapabilities"},
		{request("1", "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":"all"}}`), -32602, "clientCapabilities must be an object"},
		{request("1", "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":"yes"}}}`), -32602, "clientCapabilities"},
		{request("1", "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":7}}`), -32602, "clientInfo must be an object"},
		{request("1", "server/discover", `{}`), -32602, "must have io.modelcontextprotocol/protocolVersion"},
		{`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, -32602, "must have io.modelcontextprotocol/protocolVersion"},
		{request("1", "subscriptions/listen", `{}`), -32602, "must have io.modelcontextprotocol/protocolVersion"},
		{request("1", "server/discover", `{`+metaOf(`"2025-11-25"`)+`}`), -32602, "part of revision 2026-07-28, not of 2025-11-25"},
		{request("1", "tools/list", `[]`), -32602, "params must be an object"},
		{request("1", "tools/list", `"all"`), -32602, "params must be an object"},
		{request("1", "tools/list", `{"cursor":5}`), -32602, "params.cursor must be a text"},
		{request("1", "tools/list", `{"cursor":"bm90aGluZw=="}`), -32602, "never given"},
		{request("1", "tools/list", `{"cursor":"?"}`), -32602, "never given"},
		{request("1", "tools/list", `{"_meta":[]}`), -32602, "params._meta must be an object"},
		{request("1", "tools/call", `{"name":7}`), -32602, "params.name must be a text"},
		{request("1", "tools/call", `{"name":["a"]}`), -32602, "params.name must be a text"},
		{request("1", "tools/call", `{"name":"get_asset_info","_meta":{"progressToken":{}}}`), -32602, "progressToken must be"},
		{request("1", "tools/call", `{"name":"get_asset_info","task":5}`), -32602, "the params of tools/call"},
		{request("1", "tools/call", `{"name":"get_asset_info","requestState":5}`), -32602, "params.requestState must be a text"},
		{request("1", "tools/call", `{"name":"get_asset_info","inputResponses":[]}`), -32602, "params.inputResponses must be an object"},
		{request("1", "initialize", `{"protocolVersion":5}`), -32602, "params.protocolVersion must be a text"},
		{request("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":[]}`), -32602, "params.capabilities must be an object"},
		{request("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"roots":5},"clientInfo":{"name":"c","version":"1"}}`), -32602, "the params of initialize"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, -32602, "params must have protocolVersion"},
		{request("1", "initialize", `null`), -32602, "params must have protocolVersion"},
		{request("1", "initialize", `{"protocolVersion":null,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}`), -32602, "params must have protocolVersion"},
		{request("1", "initialize", `{"protocolVersion":"","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`), -32602, "params.protocolVersion must name a revision, such as 2025-11-25"},
		{request("1", "initialize", `{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"}}`), -32602, "params must have capabilities"},
		{request("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`), -32602, "params must have clientInfo"},
		{request("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}`), -32602, "params.clientInfo must have name and version"},
		{request("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":5,"version":"1"}}`), -32602, "params.clientInfo must have name and version"},
		{request("1", "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c"}}}`), -32602, "clientInfo must have name and version"},
		{request("1", "tools/call", `{"arguments":{}}`), -32602, "params must have name"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, -32602, "params must have name"},
		{request("1", "prompts/get", `{"name":null}`), -32602, "params must have name"},
		{request("1", "prompts/get", `{"name":"no\u001bsuch"}`), -32602, "There is no prompt \"no\ufffdsuch\". Prompts: free-disk-space, health-check, "},
		{request("1", "subscriptions/listen", `{`+modern+`}`), -32602, "params must have notifications"},
		{request("1", "tools/call", `{"name":"get_asset_info","_meta":{"progressToken":1.5}}`), -32602, "progressToken must be"},
		{request("1", "tools/call", `{"name":"get_asset_info","_meta":{"progressToken":9007199254740993}}`), -32602, "progressToken must be"},
		{request("1", "tools/call", `{"name":"get_asset_info","_meta":{"progressToken":true}}`), -32602, "progressToken must be"},
		{request("1", "tools/call", `{"name":"get_asset_info","_meta":{"progressToken":"`+strings.Repeat("x", maxToken)+`"}}`), -32602, "progressToken must be"},
		{request("1", "subscriptions/listen", `{"notifications":{"toolsListChanged":"yes"},`+modern+`}`), -32602, "the params of subscriptions/listen"},
		{request("1.5", "ping", `{}`), -32600, "whole number"},
		{request("1e2", "ping", `{}`), -32600, "whole number"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := connectTo(t, newServer(ops.All(), nil, testHandler(printing(printed)).toolHandler))
			p.send(test.line)
			r := p.receive()
			if r.Error == nil || r.Error.Code != test.code || !strings.Contains(r.Error.Message, test.sentence) {
				t.Fatalf("%s: %s, want %d … %s", test.line, r.short(), test.code, test.sentence)
			}
			for _, word := range goWords {
				if strings.Contains(r.Error.Message, word) {
					t.Errorf("%s: %q has %q", test.line, r.Error.Message, word)
				}
			}
			p.send(ping("2"))
			p.expect("2: ok")
		})
	}
}

func TestUnknownRevisionIsToldWhichThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectTo(t, newServer(ops.All(), nil, testHandler(printing(printed)).toolHandler))
		p.send(request("1", "tools/list", `{`+metaOf(`"zz\u001bz"`)+`}`))
		var answer struct {
			Error struct {
				Data struct {
					Supported []string
					Requested string
				}
			}
		}
		if err := json.Unmarshal([]byte(p.raw()), &answer); err != nil {
			t.Fatal(err)
		}
		want := []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
		if diff := cmp.Diff(want, answer.Error.Data.Supported); diff != "" || !strings.HasPrefix(answer.Error.Data.Requested, "zz") {
			t.Errorf("requested %q, supported (-want +got):\n%s", answer.Error.Data.Requested, diff)
		}
	})
}

// TestHarmlessParamsAreTaken is about what clients send that no schema has.
func TestHarmlessParamsAreTaken(t *testing.T) {
	for _, line := range []string{
		request("1", "tools/list", `null`), request("1", "tools/list", `{"cursor":null}`), request("1", "tools/list", `{"cursor":""}`),
		request("1", "tools/list", `{"_meta":null}`), request("1", "tools/list", `{"unheard":[1]}`), request("1", "tools/list", `{`+metaOf(`"2025-06-18"`)+`}`),
		request("1", "tools/call", `{"name":"get_asset_info","arguments":null}`), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := connectTo(t, newServer(ops.All(), nil, testHandler(printing(printed)).toolHandler))
			p.send(line)
			if r := p.receive(); r.Error != nil {
				t.Errorf("%s: %s", line, r.short())
			}
		})
	}
}

func TestNotificationIsNeverAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		p.send(
			`{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":"1"}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"_meta":5}}`,
			`{"jsonrpc":"2.0","method":"tools/list","params":{"cursor":5}}`,
			`{"jsonrpc":"2.0","method":"unheard"}`,
			ping("1"),
		)
		p.expect("1: ok")
	})
}

// TestRefusalWithoutAnIDIsAsTheRevisionHasIt has lines whose id cannot be known.
func TestRefusalWithoutAnIDIsAsTheRevisionHasIt(t *testing.T) {
	for revision, want := range map[string]string{
		"": "", "2024-11-05": "null", "2025-03-26": "null", "2025-06-18": "null", "2025-11-25": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			p := connect(t, newWork())
			if revision != "" {
				p.send(opened(revision))
				p.expect("0: ok")
			}
			for _, line := range []string{"x", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, "\ufeff{}", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", `{"jsonrpc":"2.0","id":true,"method":"ping"}`} {
				p.send(line)
				var members map[string]json.RawMessage
				if err := json.Unmarshal([]byte(p.raw()), &members); err != nil {
					t.Fatal(err)
				}
				if got := string(members["id"]); got != want || members["error"] == nil {
					t.Errorf("%q, %q: id %s, want %s", revision, line, got, want)
				}
			}
		})
	}
}

func TestLineThatIsTooLongIsAnsweredByItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newWork())
		long := strings.Repeat("x", maxLine)
		p.send(call("7", "work", long))
		if r := p.receive(); string(r.ID) != "7" || r.Error == nil || r.Error.Code != -32600 {
			t.Errorf("answer %s", r.short())
		}
		p.send(`{"jsonrpc":"2.0","id":7,"result":"` + long + `"}`)
		if r := p.receive(); r.ID != nil || r.Error == nil {
			t.Errorf("answer %s to an answer that is too long", r.short())
		}
	})
}

// TestIDsComeBackAsTheyCame has ids that mcp-go would spell in another way.
func TestIDsComeBackAsTheyCame(t *testing.T) {
	for _, id := range []string{`"\u0061"`, `"\/"`, `-0`, `9007199254740992`, `""`} {
		synctest.Test(t, func(t *testing.T) {
			w := newWork()
			p := connect(t, w)
			p.send(ping(id))
			p.expect(id + ": ok")
			p.send(call(id, "work", ""))
			w.release <- struct{}{}
			p.expect(id + ": done")
		})
	}
}
