// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"sentinel/internal/userdb"
)

// An account is the name and the home directory of a user.
type account struct{ name, home string }

// account looks up the user. Behind sudo the environment is root's, so
// /etc/passwd is read; users of a directory service are not in it. On macOS all users come from
// such a service, and id(1) asks it.
func (p Target) account(ctx context.Context) (account, error) {
	if p.mac() {
		return p.macAccount(ctx)
	}
	f, err := os.Open(p.at("/etc/passwd"))
	if err != nil {
		return account{}, err
	}
	defer f.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(f, userdb.MaxFile))
	if err != nil {
		return account{}, err
	}
	users, _ := userdb.Passwd(raw)
	for _, u := range users {
		if u.UID == p.User.UID && filepath.IsAbs(u.Home) {
			return account{u.Name, u.Home}, nil
		}
	}
	return account{}, fmt.Errorf("/etc/passwd has no user %d", p.User.UID)
}

// withName returns p with a name of its user.
func (p Target) withName(ctx context.Context) Target {
	if p.User.Name != "" {
		return p
	}
	p.User.Name = "user " + strconv.Itoa(p.User.UID)
	if a, err := p.account(ctx); err == nil {
		p.User.Name = a.name
	}
	return p
}
