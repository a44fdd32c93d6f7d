// SPDX-License-Identifier: Apache-2.0

// Package clients knows the MCP clients that people use and enters sentinel-mcp
// into their configuration.
//
// A configuration belongs to its user and holds other servers, their keys and comments.
// It is edited as text: what is not ours keeps every byte. A text that the client itself could not
// read is refused untouched, a backup lies beside it before it changes, and the new one replaces it
// whole or not at all.
package clients

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sentinel/internal/fault"
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

	servers string // the member of the configuration that holds the servers
	kind    string // value of "type" in a server; "" has none
	tools   bool   // a server names the tools that may be used
	file    func(User) string
	signs   func(User) []string // any of them shows that the client is there
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
			ID: "claude-desktop", Name: "Claude Desktop", servers: "mcpServers",
			Then: "Quit Claude Desktop and start it again; closing its window is not enough.",
			file: func(u User) string { return filepath.Join(u.applications("Claude"), "claude_desktop_config.json") },
			signs: func(u User) []string {
				return []string{u.applications("Claude"), "/Applications/Claude.app"}
			},
		},
		{
			ID: "claude-code", Name: "Claude Code", servers: "mcpServers", kind: "stdio",
			Then: "Start claude again, and look at /mcp there.",
			file: func(u User) string { return filepath.Join(u.folder("CLAUDE_CONFIG_DIR", u.Home), ".claude.json") },
			signs: func(u User) []string {
				return []string{u.folder("CLAUDE_CONFIG_DIR", filepath.Join(u.Home, ".claude"))}
			},
		},
		{
			ID: "cursor", Name: "Cursor", Syntax: Lenient, servers: "mcpServers",
			Then:  "Cursor takes it up by itself; see its settings, under MCP.",
			file:  func(u User) string { return filepath.Join(u.Home, ".cursor", "mcp.json") },
			signs: func(u User) []string { return []string{filepath.Join(u.Home, ".cursor")} },
		},
		{
			ID: "vscode", Name: "VS Code", Syntax: Lenient, servers: "servers", kind: "stdio",
			Then:  "VS Code takes it up by itself; see its command MCP: List Servers.",
			file:  func(u User) string { return filepath.Join(u.applications("Code"), "User", "mcp.json") },
			signs: func(u User) []string { return []string{u.applications("Code")} },
		},
		{
			ID: "gemini-cli", Name: "Gemini CLI", Syntax: Comments, servers: "mcpServers",
			Then:  "Start gemini again, and look at /mcp there.",
			file:  func(u User) string { return filepath.Join(u.Home, ".gemini", "settings.json") },
			signs: func(u User) []string { return []string{filepath.Join(u.Home, ".gemini")} },
		},
		{
			ID: "copilot-cli", Name: "GitHub Copilot CLI", Syntax: Lenient, servers: "mcpServers", kind: "local", tools: true,
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

// Found says whether anything shows that u has the client: its own folder, made
// at its first start.
func (c Client) Found(u User) bool {
	for _, path := range append(c.signs(u), c.file(u)) {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// applications is the folder of a program built on Electron, which both
// desktop clients are (Electron, app.getPath, appData).
func (u User) applications(name string) string {
	if u.OS == "darwin" {
		return filepath.Join(u.Home, "Library", "Application Support", name)
	}
	return filepath.Join(u.folder("XDG_CONFIG_HOME", filepath.Join(u.Home, ".config")), name)
}

func (u User) copilot() string { return u.folder("COPILOT_HOME", filepath.Join(u.Home, ".copilot")) }

// folder returns what the variable names, or usual. A relative path means
// nothing to a client that is started elsewhere.
func (u User) folder(variable, usual string) string {
	if dir := u.Env(variable); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return usual
}

// Check refuses a user whose clients cannot be meant: root in the place of
// somebody else, or one without a home.
func (u User) Check() error {
	if u.OS != "linux" && u.OS != "darwin" {
		return fault.New(fault.Unsupported, "Where clients keep their configuration is not known on "+u.OS+".")
	}
	if u.UID == 0 && u.Env("SUDO_UID") != "" && u.Env("SUDO_UID") != "0" {
		return fault.New(fault.PermissionDenied, "The configuration of a client belongs to the person who uses it, and this run is root's.").
			WithFix("Run the same command as yourself, without sudo.")
	}
	if !filepath.IsAbs(u.Home) {
		return fault.New(fault.Unavailable, "There is no home folder: HOME is not set to an absolute path.").
			WithFix("Run it in a session of the person who uses the client, or set HOME.")
	}
	info, err := os.Stat(u.Home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Unavailable, "The home folder "+u.Home+" is not there.").WithFix("Set HOME to the folder of the person who uses the client.")
	case err != nil:
		return fault.Wrap(fault.Unavailable, "The home folder cannot be read", err)
	}
	return u.owns(u.Home, info)
}

// isOurs says whether a command is sentinel-mcp, wherever it lies.
func isOurs(command string) bool {
	return strings.TrimSuffix(filepath.Base(command), ".exe") == program
}
