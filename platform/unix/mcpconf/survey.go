// SPDX-License-Identifier: Apache-2.0

// Package mcpconf gathers the MCP servers that many users have configured.
package mcpconf

import (
	"cmp"

	"sentinel/internal/answer"
	"sentinel/internal/audit"
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
	servers []Configured[U]
	rest    string // the first reason why there may be more
}

// List is the servers.
func (s *Survey[U]) List() audit.List[Configured[U]] { return audit.ListOf(s.servers, s.rest) }

// Take reads the servers in a file of a user.
func (s *Survey[U]) Take(file string, raw []byte, user U) {
	servers, err := clients.Parse(raw)
	if err != nil {
		s.Miss(file, err)
	}
	for _, one := range servers {
		s.add(Configured[U]{one, file, user})
	}
}

// Join adds what was found apart.
func (s *Survey[U]) Join(part Survey[U]) {
	for _, one := range part.servers {
		s.add(one)
	}
	s.rest = cmp.Or(s.rest, part.rest)
}

func (s *Survey[U]) add(one Configured[U]) {
	if len(s.servers) == maxConfigured {
		s.Miss(one.File, hostfile.ErrTooLarge)
		return
	}
	s.servers = append(s.servers, one)
}

// Miss notes why a file was not read, or not to its end. The list then is not whole.
func (s *Survey[U]) Miss(file string, err error) {
	if s.rest == "" {
		s.rest = file + ": " + answer.Reason(hostfile.Reason(err))
	}
}
