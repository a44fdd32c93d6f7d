// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sentinel/internal/ops"
)

// prompts returns those that the operations on offer can answer. mcp-go
// advertises prompts where there is one, and not otherwise.
func prompts(operations []ops.Operation) []server.ServerPrompt {
	var list []server.ServerPrompt
	for _, p := range ops.Prompts() {
		text := p.Text(namesOf(operations))
		if text == "" {
			continue
		}
		said := mcp.NewGetPromptResult(p.Description, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))})
		list = append(list, server.ServerPrompt{
			Prompt: mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description},
			Handler: func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				answer := *said // mcp-go writes into what it is given
				return &answer, nil
			},
		})
	}
	return list
}
