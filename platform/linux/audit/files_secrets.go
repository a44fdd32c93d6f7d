// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/posixacl"
	"sentinel/platform/unix/hostfile"
)

// secretFiles hold keys or passwords; a "*" stands for every name in a directory.
var secretFiles = []string{
	"/etc/ssl/private/*", "/etc/pki/tls/private/*", "/etc/wireguard/*", "/etc/krb5.keytab", "/etc/ppp/chap-secrets", "/etc/ppp/pap-secrets",
	"/etc/redis/redis.conf", "/etc/redis.conf", "/etc/mysql/debian.cnf", "/root/.my.cnf", "/root/.pgpass", "/etc/postgresql/*/main/pg_hba.conf", "/var/lib/pgsql/data/pg_hba.conf",
	"/etc/snmp/snmpd.conf", "/etc/cups/ssl/server.key",
}

// notSecret are endings of other files in the same directories.
var notSecret = []string{".pub", ".crt", ".pem.pub", "README", ".sh", "update-resolv-conf"}

func secretPermissions(_ context.Context, m *machine) audit.Finding {
	v := fileVerdict{okValue: "none that everyone can read", fix: "Take the rights of others from each one that is named: sudo chmod o-rwx FILE. Change the key or the password if somebody may have read it."}
	for _, pattern := range secretFiles {
		for _, file := range m.matching(&v, pattern) {
			v.check(m, file, func(f hostfile.Meta) bool {
				return f.Mode.IsDir() || withoutServices(f).Others()&0o006 == 0 || m.closedAbove(file)
			})
		}
	}
	return v.finding()
}

// closedAbove says whether others cannot get through a folder above the file. Where links lead is not looked at.
func (m *machine) closedAbove(name string) bool {
	for ; name != "/"; name = path.Dir(name) {
		f, err := m.lstat(name)
		if err != nil || f.Mode.Type() == fs.ModeSymlink {
			return false
		}
		f, err = m.stat(name)
		if err == nil && f.Mode.IsDir() && f.UID == m.Owner && withoutServices(f).Others()&0o001 == 0 {
			return true
		}
	}
	return false
}

// withoutServices leaves out of an access control list the users and groups of services, which have
// numbers below 1000 (systemd's UIDS-GIDS.md): they are let in there as they are through the group.
func withoutServices(f hostfile.Meta) hostfile.Meta {
	f.Named = slices.DeleteFunc(slices.Clone(f.Named), func(n posixacl.Named) bool { return n.ID < 1000 })
	return f
}

// matching expands a name that may have one "*".
func (m *machine) matching(v *fileVerdict, pattern string) []string {
	before, after, wild := strings.Cut(pattern, "*")
	if !wild {
		return []string{pattern}
	}
	directory := path.Clean(before)
	names, err := m.names(directory, maxNames)
	if err != nil && !hostfile.Missing(err) {
		v.noteUnread(directory, err)
	}
	var files []string
	for _, name := range names {
		if !endsAny(name, notSecret) {
			files = append(files, before+name+after)
		}
	}
	return files
}

func endsAny(name string, endings []string) bool {
	for _, e := range endings {
		if strings.HasSuffix(name, e) {
			return true
		}
	}
	return false
}
