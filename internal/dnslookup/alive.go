// SPDX-License-Identifier: Apache-2.0

package dnslookup

import (
	"context"
	"net/netip"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// aliveLimit bounds the question whether name servers answer, with all tries.
const aliveLimit = 4 * time.Second

// servFail is what a name server says that reaches no other.
const servFail = "SERVFAIL"

// A Liveness is what came of the question whether the name servers of this machine answer.
type Liveness struct {
	Server  netip.AddrPort // that was asked first
	Took    time.Duration  // until one answered
	Problem string         // why none did; "" if one did
}

// Alive asks the name servers of this machine, in their order, for the servers of the root zone: each that
// resolves names knows them, and the question says nothing of who asks. An error says that there is no name
// server to ask.
func (s Sources) Alive(ctx context.Context) (Liveness, error) {
	ctx, cancel := context.WithTimeout(ctx, aliveLimit)
	defer cancel()
	servers, err := s.Servers(ctx, "")
	if err != nil {
		return Liveness{}, err
	}
	began := time.Now()
	r := ask(ctx, s.Exchanger, servers, Question{"", "NS"})
	l := Liveness{Took: time.Since(began)}
	if len(servers) > 0 {
		l.Server = servers[0]
	}
	switch {
	case len(servers) == 0 || r.err != nil && len(r.failures) == 0:
		return l, errNoAnswer
	case r.err != nil:
		l.Problem = sanitize.Text(answer.Reason(r.failures[0].err), 80)
	case r.reply.Code == servFail:
		l.Problem = "answered " + servFail
	}
	return l, nil
}
