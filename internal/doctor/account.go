// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxAccounts is how much of the table of users is read, in bytes.
const maxAccounts = 16 << 20

// An account is a line of the table of users.
type account struct{ name, home string }

// account returns that of the user. The environment is root's behind sudo, so
// the table is read (passwd(5)); users of a directory service are not in it. Those of macOS
// all are ones of such a service, and id(1) asks it.
func (p Target) account(ctx context.Context) (account, error) {
	if p.mac() {
		return p.macAccount(ctx)
	}
	f, err := os.Open(p.at("/etc/passwd"))
	if err != nil {
		return account{}, err
	}
	defer f.Close() //nolint:errcheck // only read from
	lines := bufio.NewScanner(io.LimitReader(f, maxAccounts))
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) == 7 && fields[2] == strconv.Itoa(p.User.UID) && filepath.IsAbs(fields[5]) {
			return account{fields[0], fields[5]}, nil
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
