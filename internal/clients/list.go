// SPDX-License-Identifier: Apache-2.0

package clients

// list is the clients. A new client needs only an entry here; docs/clients.md
// has a row for each that --install takes, and a test says so.
var list = []Client{
	{
		ID: "claude-desktop", Name: "Claude Desktop", Servers: "mcpServers",
		Install: &Install{Reload: "Quit Claude Desktop and start it again; closing its window is not enough."},
		config:  place{appData, "Claude/claude_desktop_config.json"},
		traces:  []place{{appData, "Claude"}, {path: "/Applications/Claude.app"}},
	},
	{
		ID: "claude-code", Name: "Claude Code", Servers: "mcpServers",
		Install: &Install{Type: "stdio", Projects: "projects", Reload: "Start claude again, and look at /mcp there."},
		config:  place{claudeHome, ".claude.json"},
		project: ".mcp.json",
		more:    []place{{claudeDir, "settings.json"}, {home, ".mcp.json"}},
		managed: map[string][]string{"linux": {"/etc/claude-code/managed-mcp.json", "/etc/claude-code/managed-settings.json"}},
		traces:  []place{{base: claudeDir}},
	},
	{
		ID: "cursor", Name: "Cursor", Servers: "mcpServers",
		Install: &Install{Syntax: Lenient, Reload: "Cursor picks up the change by itself; see its settings, under MCP."},
		config:  place{home, ".cursor/mcp.json"},
		project: ".cursor/mcp.json",
		traces:  []place{{home, ".cursor"}},
	},
	{
		ID: "vscode", Name: "VS Code", Servers: "servers",
		Install: &Install{Syntax: Lenient, Type: "stdio", Reload: "VS Code picks up the change by itself; see its command MCP: List Servers."},
		config:  place{appData, "Code/User/mcp.json"},
		project: ".vscode/mcp.json",
		more:    []place{{appData, "Code/User/settings.json"}, {home, ".vscode/mcp.json"}},
		traces:  []place{{appData, "Code"}},
	},
	{
		ID: "gemini-cli", Name: "Gemini CLI", Servers: "mcpServers",
		Install: &Install{Syntax: Comments, Reload: "Start gemini again, and look at /mcp there."},
		config:  place{home, ".gemini/settings.json"},
		project: ".gemini/settings.json",
		traces:  []place{{home, ".gemini"}},
	},
	{
		ID: "copilot-cli", Name: "GitHub Copilot CLI", Servers: "mcpServers",
		Install: &Install{Syntax: Lenient, Type: "local", Tools: true, Reload: "Start copilot again, and look at /mcp show there."},
		config:  place{copilotDir, "mcp-config.json"},
		project: ".github/mcp.json",
		traces:  []place{{base: copilotDir}},
	},
	{ID: "windsurf", Name: "Windsurf", Servers: "mcpServers", config: place{home, ".codeium/windsurf/mcp_config.json"}},
	{ID: "zed", Name: "Zed", Servers: "context_servers", config: place{home, ".config/zed/settings.json"}},
	{ID: "lm-studio", Name: "LM Studio", Servers: "mcpServers", config: place{home, ".lmstudio/mcp.json"}},
	{ID: "continue", Name: "Continue", Servers: "mcpServers", config: place{home, ".continue/config.json"}},
	{ID: "goose", Name: "Goose", Servers: "mcpServers", config: place{home, ".config/goose/config.json"}},
	{ID: "amazon-q", Name: "Amazon Q", Servers: "mcpServers", config: place{home, ".aws/amazonq/mcp.json"}},
	{ID: "kiro", Name: "Kiro", Servers: "mcpServers", config: place{home, ".kiro/settings/mcp.json"}},
}
