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
func (t Target) account(ctx context.Context) (account, error) {
	if t.mac() {
		return t.macAccount(ctx)
	}
	f, err := os.Open(t.at("/etc/passwd"))
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
		if u.UID == t.User.UID && filepath.IsAbs(u.Home) {
			return account{u.Name, u.Home}, nil
		}
	}
	return account{}, fmt.Errorf("/etc/passwd has no user %d", t.User.UID)
}

// withName returns t with a name of its user.
func (t Target) withName(ctx context.Context) Target {
	if t.User.Name != "" {
		return t
	}
	t.User.Name = "user " + strconv.Itoa(t.User.UID)
	if a, err := t.account(ctx); err == nil {
		t.User.Name = a.name
	}
	return t
}
