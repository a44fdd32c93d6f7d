// SPDX-License-Identifier: Apache-2.0

// Package mcpconf gathers the MCP servers that many users have configured.
package mcpconf

import (
	"io/fs"

	"sentinel/internal/clients"
	"sentinel/platform/unix/hostfile"
)

// maxConfigured bounds the servers of all users.
const maxConfigured = 500

// A Configured is a server, with the file that configures it and the user who
// starts it.
type Configured[U any] struct {
	clients.Server
	File string // "/home/mira/.claude.json"
	User U
}

// A Survey is the servers that the files of many users configure.
type Survey[U any] struct {
	Servers []Configured[U]
	Unread  error // the first reason why there may be more
}

// Take reads the servers in a file of a user.
func (s *Survey[U]) Take(file string, raw []byte, user U) {
	servers, err := clients.Parse(raw)
	if err != nil {
		s.Miss(file, err)
	}
	for _, one := range servers {
		if len(s.Servers) == maxConfigured {
			s.Miss(file, hostfile.ErrTooLarge)
			return
		}
		s.Servers = append(s.Servers, Configured[U]{one, file, user})
	}
}

// Miss notes why a file was not read, or not to its end. Unread is an
// [fs.PathError] with the first.
func (s *Survey[U]) Miss(file string, err error) {
	if s.Unread == nil {
		s.Unread = &fs.PathError{Op: "read", Path: file, Err: hostfile.Reason(err)}
	}
}
