// SPDX-License-Identifier: Apache-2.0

package hostfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// A Meta is the mode and the owner of a file, its size in bytes, and when its content was last changed.
type Meta struct {
	Mode     fs.FileMode
	UID, GID int
	Size     int64
	Modified time.Time
}

// String is the mode and the owner: "-rw-r--r-- of user 0".
func (f Meta) String() string { return fmt.Sprintf("%v of user %d", f.Mode, f.UID) }

// Stat looks at a file, through symbolic links.
func Stat(path string) (Meta, error) { return metaOf(os.Stat(path)) }

// Lstat looks at a file, or at the symbolic link itself.
func Lstat(path string) (Meta, error) { return metaOf(os.Lstat(path)) }

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
