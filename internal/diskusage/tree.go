// SPDX-License-Identifier: Apache-2.0

package diskusage

import "time"

// A Tree is what a walk found below a directory. Paths are absolute and as the kernel has them.
type Tree struct {
	Bytes       uint64 // allocated; a file with several names counts once
	Entries     int64  // files and directories, this one included
	Directories int64
	BySize      []Branch // the directories with the most bytes below them, this one left out, the largest first
	ByEntries   []Branch // those with the most entries
	Files       []FoundFile
	Watched     map[string]Branch // the directories that were asked for, as far as there are any
	Elsewhere   []string          // directories that were not entered because another file system or subvolume begins there, and files on which others are mounted
	Elsewheres  int               // how many of these there are
	Unreadable  int64             // directories that this user may not list
	Failed      int64             // directories and files that could not be read for another reason
	FailedAt    string            // the first of these directories, or what one of these files is in
	Moved       int64             // directories that were not where they were found when they were to be read: moved, replaced or removed
	MovedFrom   string            // where the first of these was found
	Stuck       int64             // directories that did not answer
	StuckAt     string            // one of them
	Unread      int64             // directories that were known of when a bound was reached
	Bound       string            // the bound that was reached, in words; "" is none
	ManyLinks   bool              // more files have several names than were told apart
}

// Complete reports whether everything was looked at.
func (t Tree) Complete() bool {
	return t.Unreadable == 0 && t.Failed == 0 && t.Moved == 0 && t.Stuck == 0 && t.Unread == 0 && t.Bound == ""
}

// A Branch is a directory with everything below it.
type Branch struct {
	Path    string
	Bytes   uint64 // allocated; of a file with several names a share for each of them
	Entries int64  // the directory itself included
	AtLeast bool   // not everything below it was looked at
	// LargestBytes and LargestEntries are those of the one directory in it that has the most.
	LargestBytes   uint64
	LargestEntries int64
}

// A FoundFile is a large file.
type FoundFile struct {
	Path     string
	Bytes    uint64 // allocated
	Size     uint64 // apparent size
	Modified time.Time
}
