// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"cmp"
	"errors"
	"slices"

	"sentinel/internal/sessions"
)

// ProtectSessions protects the other ends of sessions. Where it is not known what carries a session
// that may be the caller's own, any address might, which is an error.
func ProtectSessions(m *sessions.Model) ([]ProtectedAddr, error) {
	list := make([]ProtectedAddr, 0, len(m.Addresses))
	for a, c := range m.Addresses {
		p := Protect(a, c.AsPeer())
		p.Shared = c.Among > 0
		p.OthersSession = c.Whose() == sessions.Others
		p.Sessions = c.Data()
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b ProtectedAddr) int { return cmp.Or(a.Prefix.Compare(b.Prefix), cmp.Compare(a.Why, b.Why)) })
	for _, why := range m.Unseen {
		list = append(list, ProtectedAddr{Unseen: why})
	}
	var errs []error
	for _, g := range m.Hidden() {
		errs = append(errs, errors.New(g.Why))
	}
	return list, errors.Join(errs...)
}
