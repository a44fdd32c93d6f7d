// SPDX-License-Identifier: Apache-2.0

// Package accounts maps user IDs to names from /etc/passwd (passwd(5)).
package accounts

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"

	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
)

// Names maps user IDs to the first name listed for each.
type Names map[int]string

// Read reads /etc/passwd below root. Users that only a directory service knows are not included. A
// missing file yields an empty map.
func Read(root string) (Names, error) {
	raw, err := hostfile.Head(filepath.Join(root, "etc", "passwd"), userdb.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Names{}, nil
	}
	if err != nil {
		return nil, err
	}
	return namesIn(raw), nil
}

func namesIn(passwd []byte) Names {
	users, _ := userdb.Passwd(passwd)
	names := make(Names, len(users))
	for _, u := range users {
		if _, taken := names[u.UID]; !taken {
			names[u.UID] = u.Name
		}
	}
	return names
}

// Name returns the name of uid, or the number itself if it has none.
func (n Names) Name(uid int) string {
	if name, ok := n[uid]; ok {
		return name
	}
	return strconv.Itoa(uid)
}
