// SPDX-License-Identifier: Apache-2.0

// Package diskusage finds what fills a file system: the largest directories and files, deleted files
// that are still open, caches, and what grew. Names of files are chosen by whoever may write them, and
// are untrusted text.
package diskusage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/deadline"
	"sentinel/internal/fault"
	"sentinel/internal/progress"
)

const (
	walkLimit    = 25 * time.Second
	walkGrace    = 2 * time.Second // for a walk that ends with its context
	deletedLimit = 8 * time.Second
	factLimit    = 3 * time.Second
)

// A Usage answers get_disk_usage.
type Usage struct {
	Path             string      `json:"path"`                         // of the directory that was added up, without links
	FileSystem       FileSystem  `json:"filesystem"`                   // the one that it is on
	Bytes            uint64      `json:"bytes"`                        // allocated to everything below path on this file system; a file with several names counts once
	Entries          int64       `json:"entries"`                      // files and directories, each an inode but for further names of a file
	Complete         bool        `json:"complete"`                     // everything was looked at; otherwise bytes and entries are at least this, and unavailable says why
	OtherBytes       *int64      `json:"other_bytes,omitempty"`        // used on the file system beside bytes and deleted_open_bytes: below mount points, metadata, snapshots, deleted files that no process has; absent where path is not all of it or not all was seen
	Directories      []Folder    `json:"directories"`                  // with the most bytes, where these are: one with nearly all of them in one directory of its own is left out in favour of that
	DirectoriesTotal int64       `json:"directories_total"`            // that were read
	Files            []File      `json:"files"`                        // with the most bytes
	ByEntries        []Folder    `json:"by_entries" schema:"brief"`    // directories with the most files and directories, by the same rule: what uses up inodes
	DeletedOpen      []Open      `json:"deleted_open"`                 // files that were deleted and are still open, run or mapped; their space is freed when the process ends or closes them
	DeletedOpenTotal *int        `json:"deleted_open_total,omitempty"` // absent where unknown
	DeletedOpenBytes *uint64     `json:"deleted_open_bytes,omitempty"` // of all of them
	Caches           []Cached    `json:"caches" schema:"brief"`        // journals and caches below path, and what frees them
	Snapshots        []string    `json:"snapshots,omitempty"`          // of the file system, which hold what was deleted since
	Grown            []Growth    `json:"grown,omitzero"`               // directories that grew since the last run that is kept; absent where there is none to compare with
	GrownSince       string      `json:"grown_since,omitempty"`        // when that was; RFC 3339, UTC. It is kept for an hour at least
	NotEntered       []Skipped   `json:"not_entered" schema:"brief"`   // other file systems below path, which are not counted
	NotEnteredTotal  int         `json:"not_entered_total"`            // before the list was cut
	Truncated        bool        `json:"truncated"`                    // a list does not show all
	TimeMS           int64       `json:"time_ms"`                      // how long it took, in milliseconds
	Unavailable      answer.Gaps `json:"unavailable"`                  // what was not looked at or could not be read, and why
}

// A FileSystem is the one that a directory is on. Figures that are unknown are absent.
type FileSystem struct {
	Mountpoint        string   `json:"mountpoint"`                    // where it is mounted
	Device            string   `json:"device"`                        // that is mounted
	Type              string   `json:"type"`                          // "ext4"
	SizeBytes         *uint64  `json:"size_bytes,omitempty"`          // all of it
	UsedBytes         *uint64  `json:"used_bytes,omitempty"`          // by files and the file system itself
	AvailableBytes    *uint64  `json:"available_bytes,omitempty"`     // to ordinary users
	InodesUsedPercent *float64 `json:"inodes_used_percent,omitempty"` // absent where the number of files is not fixed
}

// A Folder is a directory with everything below it.
type Folder struct {
	Path    string `json:"path"`               // of the directory
	Bytes   uint64 `json:"bytes"`              // allocated
	Entries int64  `json:"entries"`            // files and directories below it
	AtLeast bool   `json:"at_least,omitempty"` // not everything below it was looked at
}

// A File is a large file.
type File struct {
	Path      string `json:"path"`                 // of the file
	Bytes     uint64 `json:"bytes"`                // allocated
	SizeBytes uint64 `json:"size_bytes,omitempty"` // apparent size, where it is much larger: the file has holes
	Modified  string `json:"modified,omitempty"`   // RFC 3339, UTC; absent if that is no date
}

// An Open is a deleted file that a process still has open, runs or has mapped.
type Open struct {
	PID     int    `json:"pid"`               // the lowest of the processes that have it
	Process string `json:"process"`           // its name
	Unit    string `json:"unit,omitempty"`    // of the service manager, for restart_service
	Path    string `json:"path"`              // that the file had
	Bytes   uint64 `json:"bytes"`             // allocated
	Holders int    `json:"holders,omitempty"` // processes that have it, where these are several
}

// A Cached is a journal or a cache.
type Cached struct {
	Name    string `json:"name"`               // what it is of
	Path    string `json:"path"`               // where it is
	Bytes   uint64 `json:"bytes"`              // allocated
	AtLeast bool   `json:"at_least,omitempty"` // not everything in it was looked at
	Free    string `json:"free"`               // what frees it
}

// A Growth is a directory that grew.
type Growth struct {
	Path    string `json:"path"`               // of the directory
	Grown   uint64 `json:"grown_bytes"`        // since the last run
	Bytes   uint64 `json:"bytes"`              // now
	AtLeast bool   `json:"at_least,omitempty"` // it was too small to be kept then, and may have grown by more
}

// A Skipped is a file system that was not entered.
type Skipped struct {
	Path string `json:"path"`           // where it begins
	Type string `json:"type,omitempty"` // of the file system; absent for a subvolume
}

// Options are how much is shown and what is kept.
type Options struct {
	Rows  int    // of each list; 0 is all that is known, less than 0 the defaults
	State string // file in which sizes are kept for the next run; "" keeps none
	Now   time.Time
}

// Measure finds what fills the file system that a directory is on.
func Measure(ctx context.Context, s Source, dir string, o Options) (Usage, error) {
	start := time.Now()
	place, err := s.Place(ctx, dir)
	if err != nil {
		return Usage{}, placeFault(ctx, dir, err)
	}
	if place.Remote {
		return Usage{}, remoteFault(place)
	}
	if place.MadeUp {
		return Usage{}, madeUpFault(place)
	}
	var m measurement
	deleted := m.findDeleted(ctx, s, place)
	if m.tree, err = walk(ctx, s, place); err != nil {
		return Usage{}, walkFault(ctx, place.Path, err)
	}
	progress.Say(ctx, 90, "looking for deleted files that are still open")
	<-deleted
	if ctx.Err() != nil {
		return Usage{}, ctx.Err()
	}
	m.place, m.caches = place, s.Caches()
	m.snapshots, m.snapshotsErr = deadline.Call(ctx, factLimit, func(ctx context.Context) ([]string, error) { return s.Snapshots(ctx, place) })
	u := m.usage(o)
	u.TimeMS = time.Since(start).Milliseconds()
	return u, nil
}

// A measurement is what was read.
type measurement struct {
	place        Place
	tree         Tree
	caches       []Cache
	deleted      Deleted
	deletedErr   error
	snapshots    []string
	snapshotsErr error
}

// findDeleted looks for deleted files while the tree is walked.
func (m *measurement) findDeleted(ctx context.Context, s Source, place Place) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.deleted, m.deletedErr = deadline.Call(ctx, deletedLimit, func(ctx context.Context) (Deleted, error) { return s.Deleted(ctx, place) })
	}()
	return ended
}

// walk adds up the directory within its time. A walk that does not even end then is abandoned.
func walk(ctx context.Context, s Source, place Place) (Tree, error) {
	var watch []string
	for _, c := range s.Caches() {
		watch = append(watch, c.Path)
	}
	var seen atomic.Int64
	defer report(ctx, place, &seen)()
	return deadline.Call(ctx, walkLimit+walkGrace, func(ctx context.Context) (Tree, error) {
		limited, cancel := context.WithTimeout(ctx, walkLimit)
		defer cancel()
		return s.Walk(limited, place, watch, &seen)
	})
}

// report says how far the walk is until the function that it returns is called.
func report(ctx context.Context, place Place, seen *atomic.Int64) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for began := time.Now(); ; {
			select {
			case <-ended:
				return
			case <-every.C:
				n := seen.Load()
				progress.Say(ctx, percentOf(place, n, time.Since(began)), fmt.Sprintf("files and directories looked at: %d", n))
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// percentOf estimates how much of the walk is done, by its files where their number is known.
func percentOf(place Place, seen int64, took time.Duration) int {
	const whole = 89
	if place.Whole && place.FileSystem.InodesUsed > 0 {
		return min(whole, int(whole*float64(seen)/float64(place.FileSystem.InodesUsed)))
	}
	return min(whole, int(whole*took/walkLimit))
}

// Parse checks a path. It must be absolute; what . and .. stand for is taken out.
func Parse(dir string) (string, error) {
	switch {
	case !strings.HasPrefix(dir, "/"):
		return "", fault.New(fault.InvalidArgument, "path must be absolute: it begins with /.").WithFix("Send the whole path of a directory, such as /var/log.")
	case strings.ContainsRune(dir, 0):
		return "", fault.New(fault.InvalidArgument, "path holds a character that no path has.").WithFix("Send the whole path of a directory, such as /var/log.")
	default:
		return path.Clean(dir), nil
	}
}

func placeFault(ctx context.Context, dir string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fault.Wrap(fault.Unavailable, "The file system of "+quoted(dir)+" cannot be found", err)
}

// madeUpFault refuses what takes no space. Its links tell what processes of others have open.
func madeUpFault(p Place) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf("%s is on %s (%s), whose files the kernel makes up: they take no space.",
		quoted(p.Path), quoted(p.FileSystem.Mountpoint), quoted(p.FileSystem.Type))).
		WithFix("Send the whole path of a directory, such as /var/log.")
}

// remoteFault refuses what may never answer.
func remoteFault(p Place) error {
	return fault.New(fault.Unavailable, fmt.Sprintf("%s is on %s (%s), which another machine or a process provides; it is not looked at, because it may stop answering.",
		quoted(p.Path), quoted(p.FileSystem.Mountpoint), quoted(p.FileSystem.Type))).
		WithFix("Send a directory of a local file system, or look on the machine that keeps these files.")
}

func walkFault(ctx context.Context, dir string, err error) error {
	var link ErrLink
	const send = "Send the whole path of a directory, such as /var/log."
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &link) && link.Target != "":
		return fault.New(fault.InvalidArgument, fmt.Sprintf("%s is a symbolic link to %s; links are not followed.", quoted(link.Link), quoted(link.Target))).
			WithFix("Send the path of the directory that it leads to.")
	case errors.As(err, &link):
		return fault.New(fault.InvalidArgument, quoted(link.Link)+" is a symbolic link; links are not followed.").WithFix("Send the path of the directory that it leads to.")
	case errors.Is(err, ErrNotDirectory):
		return fault.New(fault.InvalidArgument, quoted(dir)+" is not a directory.").WithFix(send)
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.InvalidArgument, "There is no directory "+quoted(dir)+".").WithFix(send)
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.PermissionDenied, "This user may not list "+quoted(dir)+".")
	default:
		return fault.Wrap(fault.Unavailable, quoted(dir)+" cannot be read", err)
	}
}
