// SPDX-License-Identifier: Apache-2.0

package firewall

// Bounds of a walk. The kernel itself follows 16 jumps (nf_tables) or the length of the chain
// (x_tables); the steps bound chains that all jump to the next two.
const (
	maxDepth = 64
	maxSteps = 20_000
)

// The senders of the packets that are still on their way through a chain. Each is
// a set of hosts of which at least one is there; unclear is one of which that is not known.
type senders uint8

const (
	ordinary   senders = 1 << iota // a host that no rule is about
	particular                     // hosts that one rule has chosen
	unclear
)

// split divides the senders of packets that come to a rule into those whose packets it matches
// and the rest. Whoever was chosen twice is unclear: there may be nobody left.
func (s senders) split(m Match) (taken, rest senders) {
	switch m {
	case Never:
		return 0, s
	case Always:
		return s, 0
	case Particular:
		return s.become(particular), s.become(ordinary)
	case PerhapsSome:
		return s.become(unclear), s.become(ordinary)
	case AllButSome:
		return s.become(ordinary), s.become(particular)
	case PerhapsAllBut:
		return s.become(ordinary), s.become(unclear)
	default:
		return s.become(unclear), s.become(unclear)
	}
}

// become is what is left of s when ordinary hosts become o.
func (s senders) become(o senders) senders {
	var left senders
	if s&ordinary != 0 {
		left = o
	}
	if s&^ordinary != 0 {
		left |= unclear
	}
	return left
}

// An outcome says whose packets can be accepted and whose dropped.
type outcome struct {
	accepted, dropped senders
	last              Action // what becomes of the packets that were left at the end
	packet            Packet // with what rules may have done to it
}

// A walk takes one packet through the chains of one table.
type walk struct {
	chains map[string]*Chain
	steps  int
	sent   []SentOn
	outcome
}

// through takes the packet through a base chain.
func (t *ruleTable) through(base *Chain, p Packet) outcome { return t.walk(base, p).outcome }

func (t *ruleTable) walk(base *Chain, p Packet) walk {
	if base.Hook == Aside {
		p.Interface, p.Index = "", 0 // it may be another than the one that the others see
	}
	w := walk{chains: t.chains, outcome: outcome{packet: p}}
	if left := w.follow(base, ordinary, 0); left != 0 {
		w.end(base.policy(), left)
	}
	return w
}

// follow returns whose packets come out at the end of a chain.
func (w *walk) follow(c *Chain, here senders, depth int) (back senders) {
	if c == nil || depth > maxDepth {
		w.giveUp()
		return 0
	}
	for _, r := range c.Rules {
		if here == 0 {
			break
		}
		if w.steps++; w.steps > maxSteps {
			w.giveUp()
			w.sent = append(w.sent, SentOn{Family: c.Family, Table: c.Table, Chain: c.Name})
			return 0
		}
		if r.Action == GoOn && !r.Marks && !r.Untracks {
			continue
		}
		taken, rest := here.split(r.match(w.packet))
		if taken == 0 {
			continue
		}
		w.packet.Marked, w.packet.Untracked = w.packet.Marked || r.Marks, w.packet.Untracked || r.Untracks
		if r.Action == GoOn {
			continue
		}
		here = rest
		switch r.Action {
		case Accept, Drop:
			w.end(r.Action, taken)
		case Divert:
			w.giveUp()
			w.sent = append(w.sent, SentOn{c.Family, c.Table, c.Name, r.Target})
		case Return:
			back |= taken
		case Jump:
			here |= w.follow(w.chains[r.Chain], taken, depth+1)
		case Goto:
			back |= w.follow(w.chains[r.Chain], taken, depth+1)
		}
	}
	return back | here
}

// end accepts or drops packets.
func (w *walk) end(a Action, taken senders) {
	if w.last = a; a == Accept {
		w.accepted |= taken
	} else {
		w.dropped |= taken
	}
}

// giveUp notes that anything may become of the packet.
func (w *walk) giveUp() {
	w.accepted |= unclear
	w.dropped |= unclear
	w.last = Divert
}
