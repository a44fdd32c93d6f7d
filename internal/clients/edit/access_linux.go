// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"errors"
	"syscall"
)

// aclName is the attribute with the access control list of a file (acl(5),
// xattr(7)). Where there is one, the group bits of the mode are its mask, the most that it grants.
const aclName = "system.posix_acl_access"

// maxACL is the largest list that is kept, in bytes, some 4,000 entries.
const maxACL = 32 << 10

// accessList returns the access control list of the file at path in the form of
// the kernel, nil when there is none.
func accessList(path string) []byte {
	list := make([]byte, maxACL)
	n, err := syscall.Getxattr(path, aclName, list)
	if err != nil {
		return nil
	}
	return list[:n]
}

// setAccessList gives the file at path exactly that list: a new file inherits the
// default list of its directory.
func setAccessList(path string, list []byte) error {
	if list != nil {
		return syscall.Setxattr(path, aclName, list, 0)
	}
	err := syscall.Removexattr(path, aclName)
	if errors.Is(err, syscall.ENODATA) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
