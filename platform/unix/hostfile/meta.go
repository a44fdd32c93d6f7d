// SPDX-License-Identifier: Apache-2.0

package hostfile

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"sentinel/internal/posixacl"
)

// A Meta is the mode and the owner of a file, its size in bytes, and when its content was last changed.
type Meta struct {
	Mode     fs.FileMode
	UID, GID int
	Size     int64
	Modified time.Time
	// Named is whom the access control list grants something, as far as [StatWithList] has read it.
	Named posixacl.List
}

// String is the mode, the owner, and whom an access control list names: "-rw-r--r-- of user 0".
func (f Meta) String() string {
	text := fmt.Sprintf("%v of user %d", f.Mode, f.UID)
	if len(f.Named) > 0 {
		text += ", " + f.Named.String()
	}
	return text
}

// Others is what users may do who are neither root nor the owner nor in the group of the file: by its
// mode, or because the access control list names them or a group of theirs. 4 is read, 2 write, 1
// execute.
func (f Meta) Others() fs.FileMode {
	rights := f.Mode.Perm() & 7
	for _, n := range f.NamedOthers() {
		rights |= n.Rights
	}
	return rights
}

// NamedOthers are those of [Meta.Others] whom the access control list names.
func (f Meta) NamedOthers() posixacl.List {
	var list posixacl.List
	for _, n := range f.Named {
		if n.Group && n.ID != f.GID || !n.Group && n.ID != 0 && n.ID != f.UID {
			list = append(list, n)
		}
	}
	return list
}

// Stat looks at a file, through symbolic links.
func Stat(path string) (Meta, error) { return metaOf(look(path, true)) }

// Lstat looks at a file, or at the symbolic link itself.
func Lstat(path string) (Meta, error) { return metaOf(look(path, false)) }

func metaOf(info fs.FileInfo, err error) (Meta, error) {
	if err != nil {
		return Meta{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Meta{}, errors.New("has no owner that can be read")
	}
	return Meta{Mode: info.Mode(), UID: int(st.Uid), GID: int(st.Gid), Size: info.Size(), Modified: info.ModTime()}, nil
}
