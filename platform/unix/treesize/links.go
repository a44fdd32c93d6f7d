// SPDX-License-Identifier: Apache-2.0

package treesize

// maxLinks bounds how many files with several names are told apart at a time, which takes up to 80 bytes each
// while the map grows.
const maxLinks = 1_000_000

// A linked is one name of a file that has several.
type linked struct {
	identity
	names uint64
	bytes uint64
	file  []bigFile // the file, if it is to be kept
}

// links counts the names that were seen of each file that has others, by device: nearly always there is one, and
// its number in each key would take half as much memory again.
type links struct {
	byDevice map[uint64]map[uint64]uint64 // by inode
	files    int
}

// add counts one name of a file. whole is what it adds to the sum of all: its size for the first name,
// 0 for others. share is what it adds to its directory: each name has the same share, so that the size
// of a directory does not depend on which one is read first.
func (s *links) add(l linked) (whole, share uint64) {
	share = l.bytes / l.names
	names := s.byDevice[l.device]
	seen, again := names[l.inode]
	switch {
	case again && seen+1 >= l.names: // the last one
		delete(names, l.inode)
		s.files--
		return 0, share
	case again:
		names[l.inode]++
		return 0, share
	case s.files >= maxLinks:
		return share, share
	default:
		s.first(l.identity)
		return l.bytes, share
	}
}

// first counts the first name of a file.
func (s *links) first(file identity) {
	if s.byDevice == nil {
		s.byDevice = map[uint64]map[uint64]uint64{}
	}
	if s.byDevice[file.device] == nil {
		s.byDevice[file.device] = map[uint64]uint64{}
	}
	s.byDevice[file.device][file.inode] = 1
	s.files++
}
