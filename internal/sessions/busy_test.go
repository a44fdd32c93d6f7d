// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"sentinel/internal/testenv"
)

// A bastion is a machine with many of everything. Who holds its sockets is found at once, as on a real one.
type bastion struct {
	*machine
	holders map[SocketID][]int
	asked   map[string]int // how often, by the method
}

func (b *bastion) Holders(_ context.Context, list []Socket) (map[SocketID][]int, error) {
	b.asked["holders"]++
	found := map[SocketID][]int{}
	for _, k := range list {
		if of := b.holders[k.ID]; len(of) > 0 {
			found[k.ID] = of
		}
	}
	return found, nil
}

func (b *bastion) Traffic(ctx context.Context) (map[SocketID]Traffic, error) {
	b.asked["traffic"]++
	return b.machine.Traffic(ctx)
}

func (b *bastion) index() {
	b.holders = map[SocketID][]int{}
	for _, p := range b.Processes {
		for _, id := range b.files[p.PID].Sockets {
			b.holders[id] = append(b.holders[id], p.PID)
		}
	}
}

// newBastion has so many SSH sessions through one proxy, which has so many connections of strangers as well.
func newBastion(sessions, strangers int, account string) *bastion {
	m := sshd()
	const proxy, client, onward, server = 5, 100_000, 200_000, 300_000
	m.tcp(3, "0.0.0.0:443", "")
	held := []any{3}
	counts := map[SocketID]Traffic{}
	for n := range sessions {
		far, near := fmt.Sprintf("203.%d.%d.9:4000", 1+n/250, n%250), fmt.Sprintf("127.0.0.1:%d", 20_000+n)
		m.tcp(client+n, "192.0.2.1:443", far)
		m.tcp(onward+n, near, "127.0.0.1:22")
		m.login(1000+4*n, fmt.Sprintf("u%d", n), fmt.Sprintf("pts/%d", 100+n), server+n, "127.0.0.1:22", near)
		held = append(held, client+n, onward+n)
		counts[SocketID(client+n)] = Traffic{9000 + uint64(n), 4000}
		counts[SocketID(onward+n)] = Traffic{4000, 9000 + uint64(n)}
	}
	for n := range strangers {
		m.tcp(400_000+n, "192.0.2.1:443", fmt.Sprintf("198.%d.%d.7:%d", 18+n/60_000, n/250%250, 1024+n))
		held = append(held, 400_000+n)
		counts[SocketID(400_000+n)] = Traffic{2000, 2000 + uint64(n)}
	}
	m.process(proxy, 1, "haproxy", account, "", held...)
	m.traffic = []map[SocketID]Traffic{counts}
	b := &bastion{machine: m, asked: map[string]int{}}
	b.index()
	return b
}

// watched starts this run: within the session of ann, within that of the first behind the proxy, or from nowhere.
func (b *bastion) watched(from int) {
	b.process(60, from, "sentinel", "root", map[int]string{13: "pts/0", 1002: "pts/100"}[from])
	b.Self = 60
	b.index()
}

// Anybody opens as many connections to a proxy as they like. What is found out about all of them is asked for and
// listed once, not for each session: a list of the connections takes 160 KB.
func TestSessionsBehindAProxyGoOverItsConnectionsOnce(t *testing.T) {
	testenv.HangGuard(t)
	const sessions, strangers = 500, 19_000
	for name, c := range map[string]struct {
		account      string
		from         int
		alike        bool // whose bytes tell nobody from others
		addresses    int
		whose        Ownership // of the first session behind the proxy
		mostReadings int
	}{
		"sessions of others":                     {"_proxy", 13, false, 1 + sessions, Others, 1},
		"sessions of others that are not told":   {"_proxy", 13, true, 1, Others, 1},
		"behind a user's proxy":                  {"eve", 13, false, 1 + sessions, Others, 1},
		"each may be the caller's":               {"_proxy", 1, false, 1 + sessions, PossiblyOwn, maxReadings},
		"each may be the caller's, none is told": {"_proxy", 1, true, 1, PossiblyOwn, maxReadings},
		"the caller's own":                       {"_proxy", 1002, false, 1 + sessions, Own, maxReadings},
	} {
		b := newBastion(sessions, strangers, c.account)
		b.watched(c.from)
		if c.alike {
			b.traffic = []map[SocketID]Traffic{{}, {}, {}}
		}
		model, allocated := found(t, b)
		if b.asked["traffic"] > c.mostReadings || allocated > 60<<20 {
			t.Errorf("%s: the traffic was read %d times, at most %d are needed; %d MB were taken", name, b.asked["traffic"], c.mostReadings, allocated>>20)
		}
		first := slices.IndexFunc(model.Sessions, func(s *Session) bool { return s.User == "u0" && s.Whose == c.whose })
		if len(model.Sessions) != 1+sessions || len(model.Addresses) != c.addresses || first < 0 {
			t.Errorf("%s: %d sessions, %d addresses, that of u0 is %d", name, len(model.Sessions), len(model.Addresses), first)
		}
	}
}

// found returns the model, and how many bytes finding it has taken from memory.
func found(t *testing.T, b *bastion) (model *Model, allocated uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	model, err := Find(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return model, after.TotalAlloc - before.TotalAlloc
}

// A user's server for terminals has 100,000 connections, and a process for each of 10,000 terminals: all are one
// session, and what follows from its connections is found out once.
func TestTerminalsOfOneServerGoOverItsConnectionsOnce(t *testing.T) {
	testenv.HangGuard(t)
	const connections, terminals = 100_000, 10_000
	m := sshd()
	m.tcp(5000, "0.0.0.0:7681", "")
	open := []any{}
	for n := range connections {
		m.tcp(400_000+n, "192.0.2.1:7681", fmt.Sprintf("198.%d.%d.7:%d", 18+n/60_000, n/250%250, 1024+n%60_000))
		open = append(open, 400_000+n)
	}
	m.process(4999, 1, "listener", "root", "", 5000)
	m.process(5000, 1, "server", "eve", "", open...)
	for n := range terminals {
		at := fmt.Sprintf("pts/%d", 1000+n)
		m.started(Process{PID: 100_000 + n, Parent: 5000, Name: "helper"}, Files{Masters: []string{at}})
		m.started(Process{PID: 200_000 + n, Parent: 100_000 + n, Name: "sh", Terminal: at, Pseudo: true}, Files{})
	}
	b := &bastion{machine: m, asked: map[string]int{}}
	b.index()
	model, _ := found(t, b)
	if len(model.Sessions) != 2 || len(model.Processes[100_000+terminals-1].Sessions) != 1 {
		t.Errorf("%d sessions, the last terminal is of %v", len(model.Sessions), model.Processes[100_000+terminals-1])
	}
}

// started adds a process of eve, the first of its session.
func (m *machine) started(p Process, open Files) {
	p.Leader = p.PID
	m.Processes = append(m.Processes, p)
	m.files[p.PID], m.described[p.PID] = open, Description{UID: uidOf("eve"), User: "eve"}
}

func BenchmarkSessionsBehindAProxy(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		m := newBastion(500, 19_000, "_proxy")
		m.watched(13)
		b.StartTimer()
		if _, err := Find(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
}
