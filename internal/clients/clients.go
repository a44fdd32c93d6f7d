// SPDX-License-Identifier: Apache-2.0

// Package clients knows the MCP clients that people use, and where each has its
// configuration.
package clients

import (
	"os"
	"path/filepath"
	"strings"
)

// A User is the person whose clients are configured.
type User struct {
	OS   string              // as runtime.GOOS has it
	Home string              // absolute
	Env  func(string) string // the environment, as os.Getenv reads it
	UID  int                 // effective; what is changed must belong to it
}

// A Client is one MCP client.
type Client struct {
	ID     string // what --install takes
	Name   string // for people
	Syntax Syntax
	Then   string // what makes it read a changed configuration, a sentence

	Servers string // the member of the configuration that holds the servers
	Kind    string // value of "type" in a server; "" has none
	Tools   bool   // a server names the tools that may be used

	file  func(User) string
	signs func(User) []string // any of them shows that the client is there
}

// A Syntax is what a client takes for JSON.
type Syntax int

// The syntaxes, each with all of the one before.
const (
	// Strict is JSON as in RFC 8259.
	Strict Syntax = iota
	// Comments is JSON with comments in the way of JavaScript.
	Comments
	// Lenient allows a comma after the last member besides, as in VS Code's files.
	Lenient
)

// All lists the clients.
func All() []Client {
	return []Client{
		{
			ID: "claude-desktop", Name: "Claude Desktop", Servers: "mcpServers",
			Then: "Quit Claude Desktop and start it again; closing its window is not enough.",
			file: func(u User) string { return filepath.Join(u.applications("Claude"), "claude_desktop_config.json") },
			signs: func(u User) []string {
				return []string{u.applications("Claude"), "/Applications/Claude.app"}
			},
		},
		{
			ID: "claude-code", Name: "Claude Code", Servers: "mcpServers", Kind: "stdio",
			Then: "Start claude again, and look at /mcp there.",
			file: func(u User) string { return filepath.Join(u.directory("CLAUDE_CONFIG_DIR", u.Home), ".claude.json") },
			signs: func(u User) []string {
				return []string{u.directory("CLAUDE_CONFIG_DIR", filepath.Join(u.Home, ".claude"))}
			},
		},
		{
			ID: "cursor", Name: "Cursor", Syntax: Lenient, Servers: "mcpServers",
			Then:  "Cursor takes it up by itself; see its settings, under MCP.",
			file:  func(u User) string { return filepath.Join(u.Home, ".cursor", "mcp.json") },
			signs: func(u User) []string { return []string{filepath.Join(u.Home, ".cursor")} },
		},
		{
			ID: "vscode", Name: "VS Code", Syntax: Lenient, Servers: "servers", Kind: "stdio",
			Then:  "VS Code takes it up by itself; see its command MCP: List Servers.",
			file:  func(u User) string { return filepath.Join(u.applications("Code"), "User", "mcp.json") },
			signs: func(u User) []string { return []string{u.applications("Code")} },
		},
		{
			ID: "gemini-cli", Name: "Gemini CLI", Syntax: Comments, Servers: "mcpServers",
			Then:  "Start gemini again, and look at /mcp there.",
			file:  func(u User) string { return filepath.Join(u.Home, ".gemini", "settings.json") },
			signs: func(u User) []string { return []string{filepath.Join(u.Home, ".gemini")} },
		},
		{
			ID: "copilot-cli", Name: "GitHub Copilot CLI", Syntax: Lenient, Servers: "mcpServers", Kind: "local", Tools: true,
			Then:  "Start copilot again, and look at /mcp show there.",
			file:  func(u User) string { return filepath.Join(u.copilot(), "mcp-config.json") },
			signs: func(u User) []string { return []string{u.copilot()} },
		},
	}
}

// IDs lists what --install takes.
func IDs() []string {
	var ids []string
	for _, c := range All() {
		ids = append(ids, c.ID)
	}
	return ids
}

// ByID returns the client with the given ID.
func ByID(id string) (Client, bool) {
	for _, c := range All() {
		if c.ID == id {
			return c, true
		}
	}
	return Client{}, false
}

// File returns the path of the configuration that c reads for u.
func (c Client) File(u User) string { return c.file(u) }

// Found says whether anything shows that u has the client: its own directory, made
// at its first start.
func (c Client) Found(u User) bool {
	for _, path := range append(c.signs(u), c.file(u)) {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// applications is the directory of a program built on Electron, which both
// desktop clients are (Electron, app.getPath, appData).
func (u User) applications(name string) string {
	if u.OS == "darwin" {
		return filepath.Join(u.Home, "Library", "Application Support", name)
	}
	return filepath.Join(u.directory("XDG_CONFIG_HOME", filepath.Join(u.Home, ".config")), name)
}

func (u User) copilot() string { return u.directory("COPILOT_HOME", filepath.Join(u.Home, ".copilot")) }

// directory returns what the variable names, or usual. A relative path means
// nothing to a client that is started elsewhere.
func (u User) directory(variable, usual string) string {
	if dir := u.Env(variable); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return usual
}

// Program is the name of our server's binary.
const Program = "sentinel-mcp"

// IsOurs says whether a command is our server, wherever it lies.
func IsOurs(command string) bool {
	return strings.TrimSuffix(filepath.Base(command), ".exe") == Program
}
