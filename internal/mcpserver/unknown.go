// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sentinel/internal/jsonrpc"
	"sentinel/internal/ops"
	"sentinel/internal/sanitize"
)

// explainUnknown replaces mcp-go's error about an unknown tool or prompt by a sentence
// that a model can act on. Others quote what the client sent, a method of any length.
func (t *transport) explainUnknown(m message, r *response) *response {
	if r == nil || r.Error == nil {
		return r
	}
	name, _ := jsonrpc.Text(m.Members.Get("name"))
	switch {
	case m.is(mcp.MethodToolsCall) && strings.HasSuffix(r.Error.Message, server.ErrToolNotFound.Error()):
		r.Error.Message = unknownTool(name, slices.Sorted(maps.Keys(t.server.ListTools())))
	case m.is(mcp.MethodPromptsGet) && strings.HasSuffix(r.Error.Message, server.ErrPromptNotFound.Error()):
		r.Error.Message = fmt.Sprintf("There is no prompt %q. Prompts: %s.", sanitize.Text(name, maxShown), strings.Join(slices.Sorted(maps.Keys(t.server.ListPrompts())), ", "))
	default:
		r.Error.Message = sanitize.Text(r.Error.Message, maxError)
	}
	return r
}

// maxShown is how much of an unknown name is shown, in runes.
const maxShown = 64

// maxError is the longest sentence of an error, in runes.
const maxError = 300

// unknownTool says why a tool cannot be called on a server that offers others.
func unknownTool(name string, offered []string) string {
	_, exists := ops.ByName(name)
	shown := sanitize.Text(name, maxShown)
	switch {
	case exists:
		return fmt.Sprintf("The tool %q is turned off on this server.", shown)
	case len(offered) == 0:
		return fmt.Sprintf("There is no tool %q. All tools are turned off on this server.", shown)
	default:
		return fmt.Sprintf("There is no tool %q. Tools: %s.", shown, strings.Join(offered, ", "))
	}
}
