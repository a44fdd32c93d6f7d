// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
)

// accounts tells which user a user ID belongs to, so that what is read of one user is bounded however
// many IDs that user has: subuid(5) gives everybody 65,536, and programs may run under each.
type accounts func() ([]ownedRange, map[int]bool)

// An ownedRange is the subordinate IDs of one user.
type ownedRange struct{ first, last, owner int }

// accountsOf reads the files of the system below root when they are first asked for. Ranges that only a
// directory service knows (nsswitch.conf(5), subid) are not included.
func accountsOf(root string) accounts {
	return sync.OnceValues(func() ([]ownedRange, map[int]bool) {
		ranges, _ := userdb.Subordinate(account(root, "subuid"))
		users, _ := userdb.Passwd(account(root, "passwd"))
		return ownedRanges(ranges, users)
	})
}

func account(root, name string) []byte {
	raw, _ := hostfile.Head(filepath.Join(root, "etc", name), userdb.MaxFile) //nolint:errcheck // without it, every ID is a user of its own
	return raw
}

// ownedRanges sorts the ranges, and returns the IDs that are users' own besides.
func ownedRanges(ranges []userdb.Range, users []userdb.User) (sorted []ownedRange, own map[int]bool) {
	own, named := make(map[int]bool, len(users)), make(map[string]int, len(users))
	for _, u := range users {
		own[u.UID] = true
		named[u.Name] = u.UID
	}
	for _, r := range ranges {
		sorted = append(sorted, ownedRange{r.First, r.First + r.Count - 1, rangeOwner(r, named)})
	}
	slices.SortStableFunc(sorted, func(a, b ownedRange) int { return cmp.Compare(a.first, b.first) })
	return sorted, own
}

// rangeOwner finds the user of a range. The first ID of a range stands for a user whom the files of the
// system do not know, and for an account of the system: what runs with IDs of a container is not the
// system's because root has started it. known gains that user.
func rangeOwner(r userdb.Range, known map[string]int) int {
	uid, ok := known[r.Owner]
	if n, err := strconv.ParseUint(r.Owner, 10, 32); !ok && err == nil {
		uid, ok = int(n), true
	}
	if !ok || SystemAccount(uid) {
		uid = r.First
		known[r.Owner] = uid
	}
	return uid
}

// UserOf returns the ID of the user that a user ID belongs to, by the files of the system: its own, or that
// of whom it is subordinate to (subuid(5)).
func (fs FS) UserOf(uid int) int { return fs.users.of(uid) }

// OrdinaryUser reports whether a user ID is a person's, or that of what a person runs: it is neither an account's
// of the system nor one that systemd lends to a service. One of [DynamicUser] is, where a file of accounts has it.
func (fs FS) OrdinaryUser(uid int) bool {
	if SystemAccount(uid) {
		return false
	}
	_, own := fs.users()
	return !DynamicUser(uid) || own[uid] || fs.UserOf(uid) != uid
}

// of returns the ID of the user that an ID belongs to, which is mostly itself.
func (a accounts) of(uid int) int {
	if SystemAccount(uid) {
		return uid
	}
	ranges, own := a()
	at, exact := slices.BinarySearchFunc(ranges, uid, func(r ownedRange, uid int) int { return cmp.Compare(r.first, uid) })
	if !exact {
		at--
	}
	if own[uid] || at < 0 || uid > ranges[at].last {
		return uid
	}
	return ranges[at].owner
}
