// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"slices"

	"sentinel/internal/audit"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
)

func cronPermissions(_ context.Context, m *machine) audit.Finding {
	v := fileVerdict{okValue: "each in the right hands", fix: "Give each one that is named back to root: sudo chown root:root FILE; sudo chmod go-w FILE. Then read what it runs."}
	for _, place := range systemCron {
		if m.exists(place) {
			v.checkPaths(m, place)
		}
	}
	if v.seen == 0 && v.unread == nil && !slices.ContainsFunc(userCron, m.exists) {
		return audit.NotApplicable("cron is not here")
	}
	who, err := m.users()
	if err != nil {
		return audit.Unread("accounts", err)
	}
	for _, directory := range userCron {
		if end, _, err := m.follow(directory, m.byRoot); err == nil && end != directory && slices.Contains(userCron, end) {
			continue // Alpine has a link
		}
		v.checkCrontabs(m, who, directory)
	}
	return v.finding()
}

// systemCron are the tables and folders of what runs as root at its time, userCron the folders of crontabs; the last of
// each are those of BusyBox on Alpine.
var (
	systemCron = []string{
		"/etc/crontab", "/etc/anacrontab", "/etc/cron.d", "/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly", "/etc/cron.yearly",
		"/etc/periodic/15min", "/etc/periodic/hourly", "/etc/periodic/daily", "/etc/periodic/weekly", "/etc/periodic/monthly",
	}
	userCron = []string{"/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/var/spool/cron", "/var/spool/anacron", "/etc/crontabs"}
)

// checkCrontabs looks at a folder of crontabs, which have the names of their users. Whose number a directory
// service gave is not known.
func (v *fileVerdict) checkCrontabs(m *machine, who localUsers, directory string) {
	names, err := m.names(directory, maxNames)
	if err != nil && !hostfile.Missing(err) {
		v.noteUnread(directory, err)
	}
	for _, name := range names {
		v.check(m, directory+"/"+name, func(f hostfile.Meta) bool {
			switch {
			case f.Mode.IsDir() || m.ownsCrontab(who, name, f):
				return true
			case who.directoryService && f.Mode.Perm()&0o022 == 0 && !who.uids[uint32(f.UID)] && !who.has(name):
				v.noteUnread(directory+"/"+name, errOfDirectoryService)
				return true
			default:
				return false
			}
		})
	}
}

var errOfDirectoryService = errors.New("it belongs to a user of the directory service, which is not asked")

// ownsCrontab says whether a crontab belongs to the user whose name it has, or to
// root.
func (m *machine) ownsCrontab(who localUsers, name string, f hostfile.Meta) bool {
	if f.Mode.Perm()&0o022 != 0 {
		return false
	}
	return f.UID == m.Owner || slices.ContainsFunc(who.users, func(u userdb.User) bool { return u.Name == name && u.UID == f.UID })
}
