// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"cmp"
	"net/netip"
	"slices"

	"sentinel/internal/sshserver"
)

// A Connection is a TCP connection of this machine. It takes both ends to name
// one: anyone can connect to the port that somebody else's session comes from.
type Connection struct{ Local, Remote netip.AddrPort }

// An SSHProcess is a process of an SSH server that holds a connection open. The
// zero value, which stands for a process that could not be described, counts as root's and
// as logged in.
type SSHProcess struct {
	Name        string
	CommandLine []string // sshd rewrites it
	UID         int
}

// A Session is an SSH connection over which somebody is logged in.
type Session struct{ Local, Remote netip.Addr }

// Sessions returns those of the connections that are sessions, given the
// processes of SSH servers that hold each open. The holders decide: neither the port nor
// SSH_CONNECTION does, because systemd and launchd hand connections over and sudo drops the
// environment.
//
// A client that has not logged in has no session. Otherwise nobody who tries passwords
// could be blocked, being connected almost all the time.
func Sessions(held map[Connection][]SSHProcess) []Session {
	var list []Session
	for c, holders := range held {
		if loggedIn(holders) {
			list = append(list, Session{c.Local.Addr().Unmap().WithZone(""), c.Remote.Addr().Unmap().WithZone("")})
		}
	}
	slices.SortFunc(list, func(a, b Session) int { return cmp.Or(a.Remote.Compare(b.Remote), a.Local.Compare(b.Local)) })
	return slices.Compact(list)
}

// loggedIn says whether the connection that the processes share is logged in.
// Any process can take the name of a server, so one of them must be root's. A process that
// does not show that it is waiting for a login counts as a session.
func loggedIn(holders []SSHProcess) bool {
	byRoot := slices.ContainsFunc(holders, func(p SSHProcess) bool { return p.UID == 0 })
	waiting := slices.ContainsFunc(holders, func(p SSHProcess) bool { return sshserver.AwaitsLogin(p.Name, p.CommandLine) })
	return byRoot && !waiting
}

// ProtectSessions protects the other ends of sessions.
func ProtectSessions(sessions []Session) []ProtectedAddr {
	list := make([]ProtectedAddr, len(sessions))
	for i, s := range sessions {
		list[i] = Protect(s.Remote, "the other end of a live SSH session")
	}
	return list
}
