// SPDX-License-Identifier: Apache-2.0

// Package posixacl reads and writes the access control lists of files (acl(5)). Where a file has one,
// the group bits of its mode are the mask: the most that the list grants to whom it names.
package posixacl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// A Named is an entry of a list for a user or a group that the mode says nothing of.
type Named struct {
	Group  bool        // ID is of a group
	ID     int         // of the user or group
	Rights fs.FileMode // 4 read, 2 write, 1 execute; within the mask
}

// String is such as "user 1001 r-x".
func (n Named) String() string {
	kind := "user"
	if n.Group {
		kind = "group"
	}
	return fmt.Sprintf("%s %d %s", kind, n.ID, (n.Rights & 7).String()[7:])
}

// A List is whom an access control list names, and what it grants them.
type List []Named

// maxTold bounds the entries in the text of a list.
const maxTold = 3

// Grants begins the text of a list.
const Grants = "the access list grants "

// String names the first of them: "the access list grants user 1001 r--, group 50 rw-".
func (l List) String() string {
	var told []string
	for _, n := range l[:min(len(l), maxTold)] {
		told = append(told, n.String())
	}
	text := Grants + strings.Join(told, ", ")
	if rest := len(l) - maxTold; rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// ErrForm reports a list that does not have the form of the kernel.
var ErrForm = errors.New("the access list has an unknown form")

// The form of the kernel (linux/posix_acl_xattr.h): a version, then a tag, rights and an id each.
const (
	version    = 2
	headerSize = 4
	entrySize  = 8

	tagUser  = 0x02
	tagGroup = 0x08
	tagMask  = 0x10
)

// Parse returns whom a list in the form of the kernel grants something; nobody for an empty one.
func Parse(raw []byte) (List, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if len(raw)%entrySize != headerSize || binary.LittleEndian.Uint32(raw) != version {
		return nil, ErrForm
	}
	var named List
	mask := fs.FileMode(7)
	for at := headerSize; at < len(raw); at += entrySize {
		tag, rights := binary.LittleEndian.Uint16(raw[at:]), fs.FileMode(binary.LittleEndian.Uint16(raw[at+2:])&7)
		switch tag {
		case tagMask:
			mask = rights
		case tagUser, tagGroup:
			named = append(named, Named{tag == tagGroup, int(binary.LittleEndian.Uint32(raw[at+4:])), rights})
		}
	}
	var granted List
	for _, n := range named {
		if n.Rights &= mask; n.Rights != 0 {
			granted = append(granted, n)
		}
	}
	return granted, nil
}

// Of returns whom the list of the file at path grants something, through symbolic links.
func Of(path string) (List, error) {
	raw, err := Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(raw)
}
