// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"strings"

	"sentinel/internal/startup"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/authkeys"
)

// key adds a key that lets a user in. Its identity is its fingerprint: a key that gets other options
// has changed.
func (s *survey) key(u userdb.User, f file, k authkeys.Key) {
	command, options := k.Command()
	e := startup.Entry{
		Kind: startup.AuthorizedKey, Name: strings.TrimSpace(k.Type + " " + k.Comment), Identity: u.Name + " " + k.Fingerprint, Content: k.Options + " ", When: "ssh", User: u.Name,
		Detail: strings.Join(append([]string{k.Fingerprint}, options...), ", "), Enabled: new(true),
	}
	if command != "" {
		e.Warnings = []startup.Warning{startup.ForcedCommand}
	}
	s.addUser(u, f, e, s.shell(f).Programs(command)...)
}
