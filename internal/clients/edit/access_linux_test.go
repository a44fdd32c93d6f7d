// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"sentinel/internal/posixacl"
	"sentinel/internal/testenv"
)

func accessList(t *testing.T, path string) []byte {
	t.Helper()
	list, err := posixacl.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// acl is a list as the kernel has it (linux/posix_acl_xattr.h): the owner reads
// and writes, user 1001 reads, the group may do nothing.
func acl(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	const nobody = 0xffffffff
	for _, part := range []any{
		uint32(2),                                                                                             // version
		[]uint16{0x01, 6}, uint32(nobody), []uint16{0x02, 4}, uint32(1001), []uint16{0x04, 0}, uint32(nobody), // owner, user, group
		[]uint16{0x10, 4}, uint32(nobody), []uint16{0x20, 0}, uint32(nobody), // mask, others
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestAccessListIsKept(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	path := c.File(u)
	put(t, path, "{}")
	err := syscall.Setxattr(path, posixacl.Attribute, acl(t), 0)
	testenv.Need(t, !errors.Is(err, syscall.ENOTSUP), "a file system with access control lists")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Install(t.Context(), u, c, example, false); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 || !bytes.Equal(accessList(t, path), acl(t)) {
		t.Errorf("mode %v, list %x, %v: the group can read what it could not", info.Mode(), accessList(t, path), err)
	}
	if list := accessList(t, path+backupSuffix); list != nil {
		t.Errorf("the backup has the list %x", list)
	}
}

func TestAccessListOfTheDirIsNotTakenOver(t *testing.T) {
	u, c := person(t, "linux", nil), client(t, "cursor")
	path := c.File(u)
	put(t, path, "{}")
	err := syscall.Setxattr(filepath.Dir(path), "system.posix_acl_default", acl(t), 0)
	testenv.Need(t, !errors.Is(err, syscall.ENOTSUP), "a file system with access control lists")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Install(t.Context(), u, c, example, false); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{path, path + backupSuffix} {
		if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o600 || accessList(t, made) != nil {
			t.Errorf("%s: mode %v, list %x, %v", made, info.Mode(), accessList(t, made), err)
		}
	}
}
