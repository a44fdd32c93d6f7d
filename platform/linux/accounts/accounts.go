// SPDX-License-Identifier: Apache-2.0

// Package accounts names users by their ids from /etc/passwd (passwd(5)).
package accounts

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// maxEntries bounds how many accounts are read.
const maxEntries = 100_000

// maxFile bounds how much of the file is read, in bytes: more than maxEntries
// accounts take.
const maxFile = 16 << 20

// Names maps user ids to the first name that has them.
type Names map[int]string

// Read reads /etc/passwd below root. Users that a directory service knows are
// not in it. A missing file is an empty map.
func Read(root string) (Names, error) {
	raw, err := hostfile.Head(filepath.Join(root, "etc", "passwd"), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Names{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parse(bytes.NewReader(raw))
}

func parse(r io.Reader) (Names, error) {
	names := Names{}
	scan := bufio.NewScanner(r)
	for scan.Scan() && len(names) < maxEntries {
		fields := strings.SplitN(scan.Text(), ":", 4)
		if len(fields) < 4 || fields[0] == "" {
			continue
		}
		uid, err := strconv.ParseUint(fields[2], 10, 32)
		if err != nil {
			continue
		}
		if _, taken := names[int(uid)]; !taken {
			names[int(uid)] = fields[0]
		}
	}
	return names, scan.Err()
}

// Name returns the name of uid, or the number itself where it has none.
func (n Names) Name(uid int) string {
	if name, ok := n[uid]; ok {
		return name
	}
	return strconv.Itoa(uid)
}
