// SPDX-License-Identifier: Apache-2.0

package treesize

import "sentinel/internal/diskusage"

// maxLinks bounds how many files with several names are told apart at a time, which takes up to 80 bytes each
// while the map grows.
const maxLinks = 1_000_000

// A linked is one name of a file that has several.
type linked struct {
	inode uint64
	names uint64
	bytes uint64
	file  []diskusage.FoundFile // the file, if it is to be kept
}

// links counts the names that were seen of each file that has others.
type links map[uint64]uint64

// add counts one name of a file. whole is what it adds to the sum of all: its size for the first name,
// 0 for others. share is what it adds to its directory: each name has the same share, so that the size
// of a directory does not depend on which one is read first.
func (s links) add(l linked) (whole, share uint64) {
	share = l.bytes / l.names
	seen, again := s[l.inode]
	switch {
	case again && seen+1 >= l.names: // the last one
		delete(s, l.inode)
		return 0, share
	case again:
		s[l.inode]++
		return 0, share
	case len(s) >= maxLinks:
		return share, share
	default:
		s[l.inode] = 1
		return l.bytes, share
	}
}
