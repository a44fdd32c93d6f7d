// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"fmt"
	"strings"

	"sentinel/internal/startup"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/authkeys"
)

// key adds a key that lets a user in. Its identity is its fingerprint: a key that gets other options
// has changed.
func (s *survey) key(u userdb.User, f file, k authkeys.Key) {
	s.admit(u, f, strings.TrimSpace(k.Type+" "+k.Comment), k.Fingerprint, k)
}

// principal adds a name by which a user is let in: of a certificate, of Kerberos, of a user of another machine.
func (s *survey) principal(u userdb.User, f file, p authkeys.Principal) {
	s.admit(u, f, "principal "+p.Name, p.Name, authkeys.Key{Options: p.Options})
}

func (s *survey) admit(u userdb.User, f file, name, identity string, k authkeys.Key) {
	command, options := k.Command()
	e := startup.Entry{
		Kind: startup.AuthorizedKey, Name: name, Identity: u.Name + " " + identity, Content: k.Options + " ", When: "ssh", User: u.Name,
		Detail: strings.Join(append([]string{identity}, options...), ", "), Enabled: new(true),
	}
	if command != "" {
		e.Warnings = []startup.Warning{startup.ForcedCommand}
	}
	s.addUser(u, f, e, s.shell(f).Programs(command)...)
}

// nameFiles have a line for each name that lets a user in, or makes others the user (k5login(5), ksu(1),
// hosts.equiv(5), sshd(8)).
var nameFiles = []string{".k5login", ".k5users", ".rhosts", ".shosts"}

// homeNames adds the names that let a user in.
func (s *survey) homeNames(h *home) {
	for _, name := range nameFiles {
		if f, ok := h.files[name]; ok && !s.late(f) {
			s.principalsOf(h, f, linePrincipals)
		}
	}
	for _, pattern := range s.principals {
		if f, ok := s.openOf(h, authkeys.Path(pattern, h.user)); ok && !s.late(f) {
			s.principalsOf(h, f, authkeys.ParsePrincipals)
		}
	}
}

func (s *survey) principalsOf(h *home, f file, parse func(raw []byte) ([]authkeys.Principal, error)) {
	list, err := parse([]byte(s.text(f)))
	if err != nil {
		s.miss(f.name, err)
	}
	for _, p := range list {
		s.principal(h.user, f, p)
	}
}

// maxPrincipals bounds the lines of a file that are entries.
const maxPrincipals = 200

// linePrincipals takes each line for a name.
func linePrincipals(raw []byte) (list []authkeys.Principal, err error) {
	more := 0
	for line := range strings.Lines(string(raw)) {
		switch name := strings.TrimSpace(line); {
		case name == "", name[0] == '#':
		case len(list) == maxPrincipals:
			more++
		default:
			list = append(list, authkeys.Principal{Name: name})
		}
	}
	if more > 0 {
		err = fmt.Errorf("lines beyond the first %d: %d", maxPrincipals, more)
	}
	return list, err
}

// openOf opens a file that lets a user in, of the home as it was read, with the rights of the user.
func (s *survey) openOf(h *home, name string) (file, bool) {
	below, inHome := strings.CutPrefix(name, h.place+"/")
	if !inHome {
		return s.open(name)
	}
	f, ok := h.files[below]
	return f, ok
}
