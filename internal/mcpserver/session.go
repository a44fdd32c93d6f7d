// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sentinel/internal/sanitize"
)

// maxCaller is the longest name of a client that is passed on, in runes. It is
// the longest that sentinel accepts.
const maxCaller = 200

// A session is what is known about the client since its handshake, and the notifications for it.
//
// It is no [server.SessionWithClientInfo]: through that mcp-go also enters what each request of
// revision 2026-07-28 says of its client, which holds for that request alone. On a connection with
// both, users would be asked who cannot be, or not asked who can.
type session struct {
	initialized   atomic.Bool
	revision      atomic.Pointer[string] // of the handshake
	client        atomic.Pointer[client]
	notifications chan mcp.JSONRPCNotification
}

// A client is what a program says of itself in its handshake.
type client struct {
	Info         mcp.Implementation     `json:"clientInfo"`
	Capabilities mcp.ClientCapabilities `json:"capabilities"`
}

var _ server.SessionWithProtocolVersion = (*session)(nil)

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

// meet keeps what the params of a handshake say of the client.
func (s *session) meet(params []byte) error {
	var c client
	if err := json.Unmarshal(params, &c); err != nil {
		return err
	}
	s.client.Store(&c)
	return nil
}

// peer returns what the client has said of itself; nothing before the handshake.
func (s *session) peer() client {
	if c := s.client.Load(); c != nil {
		return *c
	}
	return client{}
}

// clientName returns the name and version that the client claims. Since revision
// 2026-07-28 every request carries them; before, the handshake did.
func clientName(ctx context.Context) string {
	var info mcp.Implementation
	if request := server.RequestProtocolInfoFromContext(ctx); request != nil && request.Modern {
		if request.ClientInfo != nil {
			info = *request.ClientInfo
		}
	} else if s, ok := server.ClientSessionFromContext(ctx).(*session); ok {
		info = s.peer().Info
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
