// SPDX-License-Identifier: Apache-2.0

// Package diskusage finds what fills a volume of macOS.
package diskusage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"sentinel/internal/diskusage"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/health"
	"sentinel/platform/darwin/mount"
	"sentinel/platform/unix/treesize"
)

const (
	// maxEntries bounds how many files and directories are looked at.
	maxEntries = 20_000_000
	// dataVolume has everything but the sealed system. Directories of it show below / through
	// firmlinks, which are other file systems to a walk.
	dataVolume = "/System/Volumes/Data"
)

const (
	tmutilProgram = "/usr/bin/tmutil"
	tmutilLimit   = 2 * time.Second
	waitDelay     = 50 * time.Millisecond
)

// A Source reads the files below a root directory, "/" on a real Mac, and asks programs.
type Source struct {
	root   string
	runner sysexec.Runner
}

var _ diskusage.Source = (*Source)(nil)

// New returns the source.
func New(root string, runner sysexec.Runner) *Source { return &Source{root, runner} }

// Place finds the volume of a directory by the table of mounts alone. In place of / it takes the volume
// with the data, where there is one.
func (s *Source) Place(ctx context.Context, path string) (diskusage.Place, error) {
	table, err := mount.Read(ctx, s.runner)
	if err != nil {
		return diskusage.Place{}, err
	}
	p := diskusage.Place{Path: path}
	apart := hasMount(table, dataVolume)
	if path == "/" && apart {
		p.Path, p.Note = dataVolume, "/ is the sealed system volume; "+dataVolume+" holds the files that change, and is added up instead"
	}
	on, entry := containing(table, p.Path)
	if on.Mountpoint == "/" && apart && !isSealed(p.Path) {
		on, entry = containing(table, dataVolume)
	}
	if on.Mountpoint == "" {
		return diskusage.Place{}, errors.New("mount does not list it")
	}
	p.Remote, p.Whole = !entry.Local, on.Mountpoint == p.Path
	// The volumes of an APFS container share its space.
	p.FileSystem = diskusage.Mounted{Mountpoint: on.Mountpoint, Device: on.Device, Type: entry.Kind, SharesSpace: true}
	for key, e := range table {
		if below(p.Path, key.Mountpoint) {
			p.Below = append(p.Below, diskusage.Mount{Path: key.Mountpoint, FileSystem: e.Kind, Holds: e.Kind != "devfs" && e.Kind != "autofs"})
		}
	}
	if !p.Remote {
		p.FileSystem.Err = s.addUsage(ctx, &p.FileSystem)
	}
	return p, nil
}

// isSealed reports whether a path is on the system volume; all others lead to that with the data
// (/usr/share/firmlinks).
func isSealed(path string) bool {
	for _, directory := range []string{"/System", "/bin", "/sbin", "/usr"} {
		if path == directory || below(directory, path) {
			return path != "/usr/local" && !below("/usr/local", path)
		}
	}
	return false
}

func hasMount(table mount.Table, point string) bool {
	for key := range table {
		if key.Mountpoint == point {
			return true
		}
	}
	return false
}

// containing returns the mount that a path belongs to.
func containing(table mount.Table, path string) (on mount.Key, entry mount.Entry) {
	for key, e := range table {
		if (key.Mountpoint == path || below(key.Mountpoint, path)) && len(key.Mountpoint) > len(on.Mountpoint) {
			on, entry = key, e
		}
	}
	return on, entry
}

// below reports whether path is in a directory.
func below(directory, path string) bool {
	return path != directory && strings.HasPrefix(path, strings.TrimSuffix(directory, "/")+"/")
}

func (s *Source) addUsage(ctx context.Context, f *diskusage.Mounted) error {
	list, err := health.Volumes(ctx, s.runner)
	if err != nil {
		return err
	}
	for _, d := range list {
		if d.Mountpoint == f.Mountpoint {
			f.Size, f.Used, f.Available = d.Size, d.Used, d.Available
			return nil
		}
	}
	return errors.New("df does not list it")
}

// Walk adds up a directory.
func (s *Source) Walk(ctx context.Context, place diskusage.Place, watch []string, seen *atomic.Int64) (diskusage.Tree, error) {
	o := treesize.Options{Root: s.root, Dir: place.Path, Watch: watch, Entries: maxEntries, Seen: seen}
	for _, m := range place.Below {
		o.Skip = append(o.Skip, m.Path)
	}
	return treesize.Walk(ctx, o)
}

// errNotAsked is why deleted files that are open are not known.
var errNotAsked = errors.New("macOS tells sizes of deleted files by lsof alone, which is not asked")

// Deleted is not known.
func (s *Source) Deleted(context.Context, diskusage.Place) (diskusage.Deleted, error) {
	return diskusage.Deleted{}, errNotAsked
}

// Caches lists what macOS and its programs make again.
func (s *Source) Caches() []diskusage.Cache {
	var list []diskusage.Cache
	for _, volume := range []string{"", dataVolume} {
		list = append(list,
			diskusage.Cache{Name: "caches of applications", Path: volume + "/Library/Caches", Free: "the applications make them again; quit them before their directories are removed"},
			diskusage.Cache{Name: "logs of the system", Path: volume + "/private/var/db/diagnostics", Free: "macOS removes the oldest by itself when space is short"},
		)
	}
	return list
}

// Snapshots lists the local snapshots of Time Machine, which hold what was deleted since
// (tmutil(8)).
func (s *Source) Snapshots(ctx context.Context, place diskusage.Place) ([]string, error) {
	r, err := s.runner.Run(ctx, sysexec.Command{Path: tmutilProgram, Args: []string{"listlocalsnapshots", place.FileSystem.Mountpoint}, Timeout: tmutilLimit, WaitDelay: waitDelay})
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		return nil, fmt.Errorf("tmutil ended with status %d", r.Exit)
	}
	return parseSnapshots(r.Stdout)
}

var errNoHeading = errors.New("tmutil printed no list of snapshots")

// parseSnapshots reads the names behind the heading, which is there without any snapshot, too, and
// leaves out whatever is not called as snapshots are.
func parseSnapshots(raw []byte) (names []string, err error) {
	_, list, found := strings.Cut("\n"+string(raw), "\nSnapshots for ")
	if !found {
		return nil, errNoHeading
	}
	for line := range strings.Lines(list) {
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "com.apple.") && !strings.ContainsAny(name, " \t") {
			names = append(names, name)
		}
	}
	return names, nil
}
