// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"fmt"
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
