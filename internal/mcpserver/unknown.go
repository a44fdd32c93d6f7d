// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sentinel/internal/ops"
	"sentinel/internal/sanitize"
)

// explainUnknown replaces mcp-go's error about an unknown tool by a sentence
// that a model can act on.
func (t *transport) explainUnknown(m message, answer mcp.JSONRPCMessage) mcp.JSONRPCMessage {
	e, ok := answer.(mcp.JSONRPCError)
	if !ok || m.method != string(mcp.MethodToolsCall) || !strings.HasSuffix(e.Error.Message, server.ErrToolNotFound.Error()) {
		return answer
	}
	var call struct {
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if json.Unmarshal(m.raw, &call) != nil {
		return answer
	}
	e.Error.Message = unknownTool(call.Params.Name, slices.Sorted(maps.Keys(t.server.ListTools())))
	return e
}

// unknownTool says why a tool cannot be called on a server that offers others.
func unknownTool(name string, offered []string) string {
	const most = 64
	_, exists := ops.ByName(name)
	shown := sanitize.Text(name, most)
	switch {
	case exists:
		return fmt.Sprintf("The tool %q is turned off on this server.", shown)
	case len(offered) == 0:
		return fmt.Sprintf("There is no tool %q. All tools are turned off on this server.", shown)
	default:
		return fmt.Sprintf("There is no tool %q. Tools: %s.", shown, strings.Join(offered, ", "))
	}
}
