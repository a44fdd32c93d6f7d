// SPDX-License-Identifier: Apache-2.0

// Package clients lists the known MCP clients, the paths of their configurations, and the servers
// that a configuration names.
//
// The list in list.go serves --install, the doctor and the security audit.
package clients

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Client is one MCP client.
type Client struct {
	ID      string // what --install takes
	Name    string // for people
	Servers string // the member of the configuration that holds the servers

	// Install describes how to add a server; nil for a client whose configuration is only read.
	Install *Install

	// Folder is that of the project to which the configuration belongs; "" for the user's own.
	Folder string

	config  place               // where the servers are
	project string              // where those of a project are, below its folder; "" for none
	more    []place             // other files in a home that may name servers
	managed map[string][]string // absolute paths of files for all users, by OS
	traces  []place             // any of them shows that the client is installed
}

// Install describes how to edit the configuration of a client.
type Install struct {
	Syntax Syntax
	Type   string // value of "type" in a server; "" for none
	Tools  bool   // a server lists the tools that may be used

	Projects string // the member that has further servers by folder; "" for none
	Reload   string // how the client picks up a changed configuration, a sentence
}

// A Syntax is the dialect of JSON that a client accepts.
type Syntax int

// The syntaxes, each with all of the one before.
const (
	// Strict is JSON as in RFC 8259.
	Strict Syntax = iota
	// Comments is JSON with the comments of JavaScript.
	Comments
	// Lenient also allows a comma after the last member, as in VS Code's files.
	Lenient
)

// All lists the clients.
func All() []Client { return list }

// Installable lists the clients whose configuration --install edits.
func Installable() []Client {
	return slices.DeleteFunc(slices.Clone(list), func(c Client) bool { return c.Install == nil })
}

// IDs lists the arguments that --install accepts.
func IDs() []string {
	var ids []string
	for _, c := range Installable() {
		ids = append(ids, c.ID)
	}
	return ids
}

// ByID returns the installable client with an ID.
func ByID(id string) (Client, bool) {
	for _, c := range Installable() {
		if c.ID == id {
			return c, true
		}
	}
	return Client{}, false
}

// File returns the path of the configuration that c reads for u.
func (c Client) File(u User) string { return c.config.of(u) }

// Found reports whether u has the client: it creates its own directory at its first start.
func (c Client) Found(u User) bool {
	for _, p := range append([]place{c.config}, c.traces...) {
		if _, err := os.Lstat(p.of(u)); err == nil {
			return true
		}
	}
	return false
}

// Program is the name of our server's binary.
const Program = "sentinel-mcp"

// IsOurs reports whether a command is our server, wherever it is installed.
func IsOurs(command string) bool {
	return strings.TrimSuffix(filepath.Base(command), ".exe") == Program
}
