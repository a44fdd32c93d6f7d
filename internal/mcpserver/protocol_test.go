// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"sentinel/internal/ops"
)

func TestHandshakeAnswersEachRevisionWithItself(t *testing.T) {
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"1999-01-01": "2025-11-25", "2030-01-01": "2025-11-25",
	} {
		synctest.Test(t, func(t *testing.T) {
			p := connectTo(t, newServer(ops.All(), nil, testHandler(printing(printed)).toolHandler))
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, asked))
			var answer struct {
				Result struct {
					ProtocolVersion, Instructions string
					Capabilities                  map[string]json.RawMessage
					ServerInfo                    struct{ Name, Version string }
				}
			}
			if err := json.Unmarshal([]byte(p.raw()), &answer); err != nil {
				t.Fatal(err)
			}
			r := answer.Result
			if r.ProtocolVersion != want || r.ServerInfo.Name != "sentinel-mcp" || r.Instructions == "" {
				t.Errorf("%s: answered with %s by %s, instructions %q", asked, r.ProtocolVersion, r.ServerInfo.Name, r.Instructions)
			}
			_, tools := r.Capabilities["tools"]
			_, prompts := r.Capabilities["prompts"]
			if !tools || !prompts || len(r.Capabilities) != 2 {
				t.Errorf("%s: capabilities %v, want tools and prompts alone", asked, r.Capabilities)
			}
			p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, call("1", "get_asset_info", ""))
			if r := p.receive(); string(r.ID) != "1" || r.Error != nil {
				t.Errorf("%s: call after the handshake: %s", asked, r.short())
			}
		})
	}
}

func TestRevisionWithoutHandshakeIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connectTo(t, newServer(ops.All(), nil, testHandler(printing(printed)).toolHandler))
		p.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modern + `}}`)
		if line := p.raw(); !strings.Contains(line, `"2026-07-28"`) || !strings.Contains(line, "sentinel-mcp") {
			t.Errorf("server/discover: %s", line)
		}
		p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + modern + `}}`)
		if line := p.raw(); !strings.Contains(line, `"get_top_processes"`) {
			t.Errorf("tools/list: %s", line)
		}
		p.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_top_processes","arguments":{"count":1},` + modern + `}}`)
		line := p.raw()
		if !strings.Contains(line, `"big":12345678901234567890`) || !strings.Contains(line, `"resultType":"complete"`) {
			t.Errorf("tools/call: %s", line)
		}
		p.send(strings.Replace(`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{`+modern+`}}`, "2026-07-28", "2099-01-01", 1))
		if r := p.receive(); r.Error == nil || r.Error.Code != -32022 {
			t.Errorf("unknown later revision: %s, want -32022", r.short())
		}
	})
}
