// SPDX-License-Identifier: Apache-2.0

package diskusage

import (
	"context"
	"errors"
	"sync/atomic"

	"sentinel/internal/answer"
)

// A Place is where a directory is.
type Place struct {
	Path       string  // of the directory that is walked
	FileSystem Mounted // the one that it is on
	// Remote says that the file system may stop answering: a server of the network or a process
	// provides it.
	Remote bool
	MadeUp bool // the kernel makes its files up, which take no space
	Whole  bool // everything of the file system is below the directory
	// Note says why Path is not the directory that was asked for; "" where it is.
	Note string
	// Below are the mounts below the directory, which are not entered.
	Below []Mount
}

// A Mount is a mounted file system.
type Mount struct {
	Path       string // where it is mounted
	FileSystem string // its type
	Holds      bool   // it holds files that somebody may miss in the answer
}

// A Mounted is a file system with its usage.
type Mounted struct {
	Mountpoint, Device, Type string
	Size, Used, Available    uint64 // bytes
	Inodes, InodesUsed       uint64 // 0 where their number is not fixed
	Err                      error  // why the figures are unknown
	DeviceMajor, DeviceMinor uint32 // 0, 0 where that is unknown
	SharesSpace              bool   // others use the same space, so that what is counted need not make up Used
	// ListSnapshots is what lists the snapshots that may hold its space, for people; "" where it has none, or
	// Source.Snapshots lists them.
	ListSnapshots string
}

// Deleted are files that were deleted and that processes still have open, run or have mapped.
type Deleted struct {
	Files []DeletedFile
	Gaps  answer.Gaps // processes that could not be looked at
}

// A DeletedFile is one of them.
type DeletedFile struct {
	PID     int
	Process string // its name
	Unit    string // of the service manager; "" where it is in none
	Path    string // that the file had
	Bytes   uint64 // allocated
	Holders int    // processes that have it
}

// A Cache is a directory with what programs can make again, or may do without.
type Cache struct {
	Name, Path string
	Free       string // what frees it, in words
}

// ErrLink says that a symbolic link is on the way to a directory, and where it leads if that
// is known.
type ErrLink struct{ Link, Target string }

// Error returns what is wrong.
func (e ErrLink) Error() string { return e.Link + " is a symbolic link" }

// ErrNotDirectory says that something else is at a path.
var ErrNotDirectory = errors.New("not a directory")

// A Source is what the platform provides. A call with the same arguments changes nothing.
type Source interface {
	// Place finds the file system of a directory without touching it: that may never answer.
	Place(ctx context.Context, path string) (Place, error)
	// Walk adds up a directory, with the sizes of those in watch, counts what it has seen in seen,
	// and returns what it has when ctx ends. The error may be an [ErrLink] or [ErrNotDirectory].
	Walk(ctx context.Context, place Place, watch []string, seen *atomic.Int64) (Tree, error)
	// Deleted finds files of the file system that were deleted and that processes still have.
	Deleted(ctx context.Context, place Place) (Deleted, error)
	// Caches lists where programs keep what can be freed.
	Caches() []Cache
	// Snapshots lists the snapshots that hold space of the file system.
	Snapshots(ctx context.Context, place Place) ([]string, error)
}
