// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"sentinel/internal/testenv"
)

// crowded adds what a user can have without any right: processes that each started the next, all with
// as many connections as are read for one user, and terminals that each of them serves.
func crowded(m *machine, processes, sockets, terminals int) {
	id, pid := 1_000, 1_000
	parent := 1
	m.tcp(999, "192.0.2.1:9999", "")
	m.tcp(998, "192.0.2.1:9999", "198.51.100.1:999")
	for range processes {
		open := []any{998, 999} // which it got from the first
		port := 10_000 + pid
		m.tcp(id, fmt.Sprintf("192.0.2.1:%d", port), "")
		open = append(open, id)
		id++
		for n := range sockets {
			m.tcp(id, fmt.Sprintf("192.0.2.1:%d", port), fmt.Sprintf("198.51.100.%d:%d", id%250+1, 1024+n))
			open = append(open, id)
			id++
		}
		for n := range terminals {
			open = append(open, fmt.Sprintf("pts/%d", pid*100+n))
		}
		m.process(pid, parent, "server", "eve", "", open...)
		for n := range terminals {
			m.process(1_000_000+pid*100+n, pid, "sh", "eve", fmt.Sprintf("pts/%d", pid*100+n))
		}
		m.Logins = append(m.Logins, Login{ID: fmt.Sprint(pid), Leader: 500_000 + pid, User: "eve", Manager: true})
		parent = pid
		pid++
	}
}

// A user listens at one port on thousands of addresses, has as many connections at another address of that port,
// and serves hundreds of terminals.
func TestListenersOfOneUserDoNotKeepTheSessionsOfOthersFromBeingFound(t *testing.T) {
	testenv.HangGuard(t)
	m := sshd()
	open := []any{}
	for n := range 8000 {
		m.tcp(10_000+n, fmt.Sprintf("127.1.%d.%d:4444", n/250, n%250+1), "")
		m.tcp(20_000+n, "127.200.0.1:4444", fmt.Sprintf("127.0.0.1:%d", 1024+n))
		open = append(open, 10_000+n, 20_000+n)
	}
	for n := range 900 {
		open = append(open, fmt.Sprintf("pts/%d", 1000+n))
	}
	m.process(1000, 1, "server", "eve", "", open...)
	for n := range 900 {
		m.process(2000+n, 1000, "sh", "eve", fmt.Sprintf("pts/%d", 1000+n))
	}
	model, err := Find(t.Context(), m)
	if err != nil || !slices.ContainsFunc(model.Sessions, func(s *Session) bool { return s.User == "ann" && s.Terminal == "pts/0" }) {
		t.Errorf("the session of ann was not found: %v", err)
	}
}

func TestACrowdDoesNotKeepTheSessionsOfOthersFromBeingFound(t *testing.T) {
	testenv.HangGuard(t)
	m := sshd()
	crowded(m, 2000, 24, 1)
	model, err := Find(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, s := range model.Sessions {
		found = found || s.User == "ann" && s.Terminal == "pts/0"
	}
	if !found {
		t.Error("the session of ann was not found")
	}
}

// A user calls thousands of processes in a network namespace sshd, deep below one another.
func TestServersOfOneUserElsewhereAreCountedInTheirTime(t *testing.T) {
	testenv.HangGuard(t)
	m := sshd()
	const depth, servers = 300, 12_000
	m.process(1000, 1, "sh", "eve", "")
	for n := range depth - 1 {
		m.process(1001+n, 1000+n, "sh", "eve", "")
	}
	for n := range servers {
		at := 10_000 + 2*n
		m.process(at, 1000+depth-1, "sshd", "eve", "")
		m.process(at+1, at, "sshd", "eve", "")
		m.elsewhere("", at+1)
	}
	m.process(50_000, 1, "conmon", "bob", "")
	m.process(50_001, 50_000, "sh", "bob", "pts/50")
	m.elsewhere("", 50_001)
	model, err := Find(t.Context(), m)
	want := "with whom \"sh\" (PID 50001) at pts/50 of bob, \"sshd\" (PID 10001) of eve, \"sshd\" (PID 10003) of eve, 11998 other programs are connected is not seen from here, since that is in another container or network namespace"
	if err != nil || !slices.Contains(model.Unseen, want) {
		t.Errorf("%q, %v", model.Unseen, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f := newFinder(ctx, m, m.Snapshot)
	cancel()
	f.rememberServers()
	if len(f.unseen) > 0 {
		t.Errorf("%d are looked at after the end", len(f.unseen))
	}
}
