// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"context"
	"slices"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/logins"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/authkeys"
	"sentinel/platform/unix/hostfile"
)

// adminGroups are those that distributions let sudo everything.
var adminGroups = []string{"sudo", "wheel", "admin"}

// maxUnread is how many accounts are named whose keys are not known.
const maxUnread = 3

// Accounts implements [logins.Source].
func (r *Reader) Accounts(ctx context.Context) (list []logins.Account, notes logins.Notes, err error) {
	raw, err := hostfile.Read(r.path("/etc/passwd"), userdb.MaxFile)
	if err != nil {
		return nil, nil, err
	}
	users, _ := userdb.Passwd(raw)
	admins := r.admins(users, &notes)
	days := r.passwordDays(&notes)
	unread := 0
	other := authkeys.Of(ctx, r.root, users, func(u userdb.User, files []authkeys.File, err error) {
		a := logins.Account{Name: u.Name, UID: u.UID, Admin: u.UID == 0 || admins[u.Name], PasswordSet: days[u.Name], KeysUnread: err != nil}
		for _, f := range files {
			for _, k := range f.Keys {
				a.Keys = append(a.Keys, logins.NewKey(u.Name, k.Type, k.Fingerprint, k.Comment, f.Name, f.Modified))
			}
		}
		if err != nil {
			if unread++; unread <= maxUnread {
				notes.Note("keys."+u.Name, answer.Reason(err))
			}
		}
		list = append(list, a)
	})
	notes.Add("keys", other)
	for _, setting := range authkeys.Elsewhere(r.root) {
		notes.Note("keys."+setting, "whom it lets in is in no file with keys; get_startup_items names what it runs or trusts")
	}
	if unread > maxUnread {
		notes.Note("keys", "those of more accounts are not known")
	}
	return list, notes, nil
}

// admins returns who may become root by their groups.
func (r *Reader) admins(users []userdb.User, notes *logins.Notes) map[string]bool {
	raw, err := hostfile.Read(r.path("/etc/group"), userdb.MaxFile)
	if err != nil {
		notes.Add("administrators", err)
		return nil
	}
	found := map[string]bool{}
	groups, _ := userdb.Groups(raw)
	for _, g := range groups {
		if !slices.Contains(adminGroups, g.Name) {
			continue
		}
		for _, name := range g.Members {
			found[name] = true
		}
		for _, u := range users {
			if u.GID == g.GID {
				found[u.Name] = true
			}
		}
	}
	return found
}

// passwordDays returns the days on which passwords were set.
func (r *Reader) passwordDays(notes *logins.Notes) map[string]time.Time {
	raw, err := hostfile.Read(r.path("/etc/shadow"), userdb.MaxFile)
	if err != nil {
		notes.Add("account_changes.passwords", err)
		return nil
	}
	days := map[string]time.Time{}
	secrets, _ := userdb.Shadow(raw)
	for _, s := range secrets {
		if s.Changed > 0 {
			days[s.Name] = time.Unix(int64(s.Changed)*24*60*60, 0)
		}
	}
	return days
}
