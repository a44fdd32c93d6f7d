// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"sentinel/internal/humanize"
)

// How many connections are looked at one by one. The kernel lists them by protocol and address family, so with
// one bound for all whoever has many of the first kind would hide those of the last.
const (
	maxOfSystem = 1 << 18
	maxOfNobody = 1 << 16 // without a process: requested there, or over; the kernel keeps no user of them
	maxOfUser   = 1 << 16
	maxOfUsers  = 1 << 17 // of all ordinary users; once it is reached, who has most gives way
)

// kept are the connections that are looked at.
type kept struct {
	system, nobody share
	users          map[int]*share
	ofUsers        int
}

// A share is what is kept of those of one user. What is within this machine gives way to what is not.
type share struct {
	uid     int
	sockets []Socket // those with other machines first
	outer   int      // how many of them are with other machines
	cut     int      // connections that were not kept
}

func (k *kept) add(s Socket) {
	switch {
	case s.UID == 0 && s.ID == 0:
		k.nobody.add(s, len(k.nobody.sockets) == maxOfNobody)
	case s.UID == 0 || s.System:
		k.system.add(s, len(k.system.sockets) == maxOfSystem)
	default:
		k.addOfUser(s)
	}
}

func (k *kept) addOfUser(s Socket) {
	mine := k.users[s.UID]
	if mine == nil {
		mine = &share{uid: s.UID}
		k.users[s.UID] = mine
	}
	before := len(mine.sockets)
	if k.ofUsers == maxOfUsers && before < maxOfUser && k.largest(s.Internal).give(before+1) {
		k.ofUsers--
	}
	mine.add(s, before == maxOfUser || k.ofUsers == maxOfUsers)
	k.ofUsers += len(mine.sockets) - before
}

// largest is the user with most connections of those who can give one way to such a one.
func (k *kept) largest(internal bool) *share {
	most := &share{}
	for _, one := range k.users {
		if internal && one.outer == len(one.sockets) {
			continue
		}
		if cmp.Or(cmp.Compare(len(one.sockets), len(most.sockets)), cmp.Compare(most.outer, one.outer), cmp.Compare(most.uid, one.uid)) > 0 {
			most = one
		}
	}
	return most
}

// give drops the last connection of who has more than so many.
func (k *share) give(more int) bool {
	last := len(k.sockets) - 1
	if last < more {
		return false
	}
	k.sockets, k.outer = k.sockets[:last], min(k.outer, last)
	k.cut++
	return true
}

func (k *share) add(s Socket, full bool) {
	switch {
	case full && (s.Internal || k.outer == len(k.sockets)):
		k.cut++
		return
	case full:
		k.cut++ // the internal one in its place
	default:
		k.sockets = append(k.sockets, s)
	}
	if s.Internal {
		return
	}
	if last := len(k.sockets) - 1; !full {
		k.sockets[last] = k.sockets[k.outer]
	}
	k.sockets[k.outer] = s
	k.outer++
}

// all are the connections that were kept.
func (k *kept) all() iter.Seq[*Socket] {
	return func(yield func(*Socket) bool) {
		for _, one := range k.shares() {
			for i := range one.sockets {
				if !yield(&one.sockets[i]) {
					return
				}
			}
		}
	}
}

func (k *kept) shares() []*share {
	list := []*share{&k.system, &k.nobody}
	for _, uid := range slices.Sorted(maps.Keys(k.users)) {
		list = append(list, k.users[uid])
	}
	return list
}

// cut is how many connections were not kept.
func (k *kept) cut() int {
	n := 0
	for _, one := range k.shares() {
		n += one.cut
	}
	return n
}

// missing says whose connections were not kept.
func (k *kept) missing() string {
	var users []int
	for uid, one := range k.users {
		if one.cut > 0 {
			users = append(users, uid)
		}
	}
	slices.SortFunc(users, func(a, b int) int { return cmp.Or(cmp.Compare(k.users[b].cut, k.users[a].cut), cmp.Compare(a, b)) })
	list := whose(k.system.cut > 0, users)
	if k.nobody.cut > 0 {
		list = append(list, "no process")
	}
	return fmt.Sprintf("%s, of %s, were not looked at: there are too many", humanize.Count(k.cut(), "connection", "connections"), strings.Join(list, ", "))
}
