// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sentinel/internal/sanitize"
)

// maxCaller is the longest name of a client that is passed on, in runes. It is
// the longest that sentinel accepts.
const maxCaller = 200

// A session is what mcp-go keeps about the client: who it is, and the
// notifications for it.
type session struct {
	initialized   atomic.Bool
	revision      atomic.Pointer[string] // of the handshake
	info          atomic.Pointer[mcp.Implementation]
	capabilities  atomic.Pointer[mcp.ClientCapabilities]
	notifications chan mcp.JSONRPCNotification
}

var (
	_ server.SessionWithClientInfo      = (*session)(nil)
	_ server.SessionWithProtocolVersion = (*session)(nil)
)

func newSession() *session {
	return &session{notifications: make(chan mcp.JSONRPCNotification, 16)}
}

// SessionID implements [server.ClientSession]. There is one client.
func (s *session) SessionID() string { return "stdio" }

// Initialize implements [server.ClientSession].
func (s *session) Initialize() { s.initialized.Store(true) }

// Initialized implements [server.ClientSession].
func (s *session) Initialized() bool { return s.initialized.Load() }

// ProtocolVersion implements [server.SessionWithProtocolVersion].
func (s *session) ProtocolVersion() string {
	if r := s.revision.Load(); r != nil {
		return *r
	}
	return ""
}

// SetProtocolVersion is called at the handshake.
func (s *session) SetProtocolVersion(revision string) { s.revision.Store(&revision) }

// NotificationChannel implements [server.ClientSession].
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }

// GetClientInfo implements [server.SessionWithClientInfo].
func (s *session) GetClientInfo() mcp.Implementation {
	if info := s.info.Load(); info != nil {
		return *info
	}
	return mcp.Implementation{}
}

// SetClientInfo implements [server.SessionWithClientInfo].
func (s *session) SetClientInfo(info mcp.Implementation) { s.info.Store(&info) }

// GetClientCapabilities implements [server.SessionWithClientInfo].
func (s *session) GetClientCapabilities() mcp.ClientCapabilities {
	if c := s.capabilities.Load(); c != nil {
		return *c
	}
	return mcp.ClientCapabilities{}
}

// SetClientCapabilities implements [server.SessionWithClientInfo].
func (s *session) SetClientCapabilities(c mcp.ClientCapabilities) { s.capabilities.Store(&c) }

// clientName returns the name and version that the client claims. Since revision
// 2026-07-28 every request carries them; before, the handshake did.
func clientName(ctx context.Context) string {
	var info mcp.Implementation
	if request := server.RequestProtocolInfoFromContext(ctx); request != nil && request.Modern {
		if request.ClientInfo != nil {
			info = *request.ClientInfo
		}
	} else if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		info = s.GetClientInfo()
	}
	name := info.Name
	if name == "" {
		name = "unnamed client"
	}
	if info.Version != "" {
		name += "/" + info.Version
	}
	return sanitize.Text(name, maxCaller)
}
