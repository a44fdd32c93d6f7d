// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"sentinel/internal/sanitize"
	"sentinel/internal/timespec"
)

// oftenFailed is how many failures make a success suspicious: more than a person needs who has
// forgotten which password it was.
const oftenFailed = 5

// Guessing is how many failures an hour are no longer people who mistype.
const Guessing = 20

// maxRanked is how many addresses, and how many users, an answer has at most: anybody who can reach this
// machine adds to them.
const maxRanked = 1000

// maxTried is how many users, and how many services, a row names.
const maxTried = 5

// A connection of a client, while it is the same.
type connection struct {
	from netip.Addr
	port uint16
	pid  int
}

// settle makes one failure of each connection that left nothing but traces: servers that take only
// keys do not log the attempts themselves.
func settle(events []Event) []Event {
	told := map[connection]bool{}
	for _, e := range events {
		if e.kind == failed || e.kind == succeeded {
			told[connectionOf(e)] = true
		}
	}
	list := make([]Event, 0, len(events))
	for _, e := range events {
		if e.kind == opened {
			if e.Unclear || told[connectionOf(e)] {
				continue
			}
			told[connectionOf(e)] = true
			e.kind, e.Count = failed, 1
		}
		list = append(list, e)
	}
	return list
}

func connectionOf(e Event) connection { return connection{e.From, e.Port, e.PID} }

// A tally adds up failures.
type tally struct {
	failures    int
	first, last time.Time
	order       []string // users, or accounts that tried, in the order in which they came
	seen        map[string]bool
	services    []string
	addresses   map[netip.Addr]bool // of a user
}

func (t *tally) add(e Event, name string) {
	if t.failures == 0 {
		t.first = e.At
	}
	t.failures += e.Count
	t.last = e.At
	if name != "" && !t.seen[name] {
		if t.seen == nil {
			t.seen = map[string]bool{}
		}
		t.seen[name] = true
		t.order = append(t.order, name)
	}
	if e.Service != "" && !slices.Contains(t.services, e.Service) && len(t.services) < maxTried {
		t.services = append(t.services, sanitize.Text(e.Service, 32))
	}
}

// from notes an address from which a user was tried.
func (t *tally) from(a netip.Addr) {
	if !a.IsValid() {
		return
	}
	if t.addresses == nil {
		t.addresses = map[netip.Addr]bool{}
	}
	t.addresses[a] = true
}

func (t *tally) attempts() Attempts {
	return Attempts{
		Failures: t.failures, Users: named(t.order), UsersTotal: len(t.order), Services: append([]string{}, t.services...),
		First: timespec.Format(t.first), Last: timespec.Format(t.last),
	}
}

// judge adds up failures by address and by user, and finds who got in after many. Where exists is
// nil, local accounts are not known.
func (r *Report) judge(events []Event, exists map[string]bool, now time.Time, known bool) {
	addresses, users := map[netip.Addr]*tally{}, map[string]*tally{}
	suspects := map[netip.Addr]bool{}
	total, hour := 0, 0
	for _, e := range settle(events) {
		switch {
		case e.kind == succeeded && e.From.IsValid():
			if t := addresses[e.From]; t != nil && t.failures >= oftenFailed && !suspects[e.From] {
				suspects[e.From] = true
				r.Intrusions = append(r.Intrusions, Intrusion{
					Address: addressText(e.From), User: userText(e.User), Method: sanitize.Text(e.Method, 32), At: timespec.Format(e.At), Attempts: t.attempts(),
				})
			}
		case e.kind == failed:
			total += e.Count
			if now.Sub(e.At) <= time.Hour {
				hour += e.Count
			}
			if e.Unclear {
				r.Unattributed += e.Count
				continue
			}
			if e.From.IsValid() {
				tallyOf(addresses, e.From).add(e, e.User)
			}
			t := tallyOf(users, e.User)
			t.add(e, e.By)
			t.from(e.From)
		}
	}
	slices.SortStableFunc(r.Intrusions, func(a, b Intrusion) int { return cmp.Compare(b.Failures, a.Failures) })
	if known {
		r.Failures, r.FailuresLastHour = &total, &hour
		r.rank(addresses, users, exists)
	}
}

func tallyOf[K comparable](m map[K]*tally, key K) *tally {
	if m[key] == nil {
		m[key] = &tally{}
	}
	return m[key]
}

func (r *Report) rank(addresses map[netip.Addr]*tally, users map[string]*tally, exists map[string]bool) {
	r.ByAddress, r.ByUser = []Address{}, []User{}
	r.AddressesTotal, r.UsersTotal = new(len(addresses)), new(len(users))
	byAddress := slices.SortedFunc(maps.Keys(addresses), func(a, b netip.Addr) int {
		return cmp.Or(cmp.Compare(addresses[b].failures, addresses[a].failures), a.Compare(b))
	})
	for _, a := range cut(r, byAddress, maxRanked) {
		r.ByAddress = append(r.ByAddress, Address{Address: addressText(a), Attempts: addresses[a].attempts()})
	}
	byUser := slices.SortedFunc(maps.Keys(users), func(a, b string) int {
		return cmp.Or(cmp.Compare(users[b].failures, users[a].failures), cmp.Compare(a, b))
	})
	for _, name := range cut(r, byUser, maxRanked) {
		t := users[name]
		u := User{
			User: userText(name), Failures: t.failures, Addresses: len(t.addresses), By: named(t.order), Services: append([]string{}, t.services...),
			First: timespec.Format(t.first), Last: timespec.Format(t.last),
		}
		if exists != nil {
			u.Exists = new(exists[name])
		}
		r.ByUser = append(r.ByUser, u)
	}
}

// Standings are those of the rows, by address, to be filled in.
func (r *Report) Standings() map[string][]*Standing {
	rows := map[string][]*Standing{}
	for i := range r.Intrusions {
		rows[r.Intrusions[i].Address] = append(rows[r.Intrusions[i].Address], &r.Intrusions[i].Standing)
	}
	for i := range r.ByAddress {
		rows[r.ByAddress[i].Address] = append(rows[r.ByAddress[i].Address], &r.ByAddress[i].Standing)
	}
	return rows
}

// named are the first names of a list, as they may be shown.
func named(list []string) []string {
	shown := []string{}
	for _, name := range list[:min(maxTried, len(list))] {
		shown = append(shown, userText(name))
	}
	return shown
}

// userText is a name as it may be shown: clients choose it.
func userText(name string) string { return sanitize.Reason(name, 48) }

// addressText is an address as block_ip_address takes it: without a zone.
func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.Unmap().WithZone("").String()
}

// Failures returns the failures that lines, oldest first, tell of.
func Failures(lines []Line) []Event {
	var events []Event
	for _, l := range lines {
		if e, ok := Parse(l); ok {
			events = append(events, e)
		}
	}
	return slices.DeleteFunc(settle(events), func(e Event) bool { return e.kind != failed })
}
