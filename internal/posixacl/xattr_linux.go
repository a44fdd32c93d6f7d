// SPDX-License-Identifier: Apache-2.0

package posixacl

import (
	"errors"
	"syscall"
)

// Attribute is the extended attribute with the access control list of a file (acl(5), xattr(7)).
const Attribute = "system.posix_acl_access"

// maxValue is the longest value of an attribute (XATTR_SIZE_MAX of linux/limits.h), in bytes.
const maxValue = 64 << 10

// Read returns the access control list of the file at path, through symbolic links, in the form of
// the kernel; nil when there is none.
func Read(path string) ([]byte, error) {
	for size := 1 << 10; ; size = maxValue { // few lists have more than some entries
		list := make([]byte, size)
		n, err := syscall.Getxattr(path, Attribute, list)
		switch {
		case err == nil:
			return list[:n], nil
		case none(err):
			return nil, nil
		case !errors.Is(err, syscall.ERANGE) || size == maxValue:
			return nil, err
		}
	}
}

// Write gives the file at path exactly that list, none for nil: a new file inherits the default
// list of its directory.
func Write(path string, list []byte) error {
	if list != nil {
		return syscall.Setxattr(path, Attribute, list, 0)
	}
	if err := syscall.Removexattr(path, Attribute); !none(err) {
		return err
	}
	return nil
}

// none reports whether err says that there is no list: the file has none, or its file system has none
// for any.
func none(err error) bool { return errors.Is(err, syscall.ENODATA) || errors.Is(err, syscall.ENOTSUP) }
