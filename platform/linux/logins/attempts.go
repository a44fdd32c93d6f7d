// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"time"

	"sentinel/internal/userdb"
	"sentinel/platform/linux/utmp"
	"sentinel/platform/unix/hostfile"
)

// loginGrace is how long sshd gives a client at its default (LoginGraceTime of sshd_config(5)). What the same process
// ID recorded longer ago may be of another process.
const loginGrace = 2 * time.Minute

// maxSwitch bounds nsswitch.conf(5), in bytes.
const maxSwitch = 64 << 10

// A client is one of sshd, which serves each by a process of its own; a client cannot change its user.
type client struct {
	pid                  int
	terminal, user, host string
	from                 netip.Addr
}

// attempts leaves out what is no attempt of its own: sshd records a name that no account has when it is told, and again
// for each password (getpwnamallow and auth_log). The first record of such a name counts where it is the only one.
// Where the accounts are not all known, all count.
func (r *Reader) attempts(records []utmp.Record) []utmp.Record {
	raw, err := hostfile.Read(r.path("/etc/passwd"), userdb.MaxFile)
	if err != nil || r.asksDirectory() {
		return records
	}
	accounts := map[string]bool{}
	users, _ := userdb.Passwd(raw)
	for _, u := range users {
		accounts[u.Name[:min(len(u.Name), utmp.UserSize)]] = true
	}
	first, told := map[client]int{}, make([]bool, len(records))
	for i, rec := range records {
		if rec.PID == 0 || rec.Service() != "ssh" || accounts[rec.User] {
			continue
		}
		c := client{rec.PID, rec.Terminal, rec.User, rec.Host, rec.From}
		if at, ok := first[c]; ok && rec.At.Sub(records[at].At).Abs() <= loginGrace {
			told[at] = true
		} else {
			first[c] = i
		}
	}
	var list []utmp.Record
	for i, rec := range records {
		if !told[i] {
			list = append(list, rec)
		}
	}
	return list
}

// asksDirectory reports whether accounts may come from a directory service. Some distributions name that of sssd on
// every machine; it answers only where this socket is.
func (r *Reader) asksDirectory() bool {
	raw, err := hostfile.Read(r.path("/etc/nsswitch.conf"), maxSwitch)
	if err != nil {
		return !hostfile.Missing(err) // there is none without glibc
	}
	sources := userdb.Directories(raw, "passwd")
	if _, err := os.Lstat(r.path("/var/lib/sss/pipes/nss")); errors.Is(err, fs.ErrNotExist) {
		sources = slices.DeleteFunc(sources, func(source string) bool { return source == "sss" })
	}
	return len(sources) > 0
}
