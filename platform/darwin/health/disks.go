// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/health"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/mount"
)

const (
	dfProgram = "/bin/df"
	// diskLimit is less than half of the deadline of the fact: there are two runs.
	diskLimit = 1400 * time.Millisecond
	waitDelay = 50 * time.Millisecond
)

// disks lists the local volumes that can fill up. It leaves out read-only ones (the sealed system
// volume, disk images) and the volumes that macOS keeps for itself. All volumes of an APFS
// container share its free space, so each shows the same available bytes; a separate data volume
// stands for the system volume too.
func (s *source) disks(ctx context.Context) ([]health.DiskFacts, error) {
	mounts, err := mount.Read(ctx, s.Runner)
	if err != nil {
		return nil, err
	}
	list, err := Volumes(ctx, s.Runner)
	if err != nil {
		return nil, err
	}
	var facts []health.DiskFacts
	for _, d := range list {
		m, known := mounts[mount.Key{Device: d.Device, Mountpoint: d.Mountpoint}]
		if !known || m.ReadOnly || isSystemVolume(d.Mountpoint) {
			continue
		}
		d.FileSystem = m.Kind
		facts = append(facts, d)
	}
	return withoutSnapshot(facts), nil
}

// Volumes lists the sizes of the local volumes, as df(1) has them.
func Volumes(ctx context.Context, runner sysexec.Runner) ([]health.DiskFacts, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: dfProgram, Args: []string{"-kl"}, Timeout: diskLimit, WaitDelay: waitDelay})
	if err != nil {
		return nil, err
	}
	// df ends with 1 when one of the file systems did not answer; it prints the rest.
	if r.Exit > 1 || r.Exit == 1 && len(r.Stdout) == 0 {
		return nil, failed(dfProgram, r)
	}
	return parseDF(r.Stdout)
}

const dataVolume = "/System/Volumes/Data"

// isSystemVolume reports whether macOS keeps a volume for itself: swap, preboot, updates, simulators and
// recovery.
func isSystemVolume(mountpoint string) bool {
	if mountpoint == dataVolume {
		return false
	}
	for _, dir := range []string{"/System/Volumes/", "/private/var/vm", "/private/var/folders/", "/Library/Developer/CoreSimulator/"} {
		if strings.HasPrefix(mountpoint, dir) {
			return true
		}
	}
	return mountpoint == "/Volumes/Recovery"
}

// withoutSnapshot leaves out "/" if there is a separate data volume: the system volume mounted
// there is small, sealed and in the same container.
func withoutSnapshot(list []health.DiskFacts) []health.DiskFacts {
	var kept []health.DiskFacts
	apart := false
	for _, d := range list {
		apart = apart || d.Mountpoint == dataVolume
	}
	for _, d := range list {
		if !apart || d.Mountpoint != "/" {
			kept = append(kept, d)
		}
	}
	return kept
}

var (
	errDF    = errors.New("df printed no table in blocks")
	errNoRow = errors.New("df printed no disk")
)

// parseDF parses the rows of disks and skips entries without a device of their own (devfs,
// automounts, snapshots, wrappers of applications). The header gives the block size, 512 or 1024
// bytes. Free space is the space available to ordinary users. File counts are ignored, as APFS has
// no fixed number of inodes.
func parseDF(raw []byte) ([]health.DiskFacts, error) {
	header, rows, _ := strings.Cut(string(raw), "\n")
	names := strings.Fields(header)
	if len(names) < 9 || names[0] != "Filesystem" {
		return nil, errDF
	}
	block := map[string]uint64{"512-blocks": 512, "1024-blocks": 1024}[names[1]]
	if block == 0 {
		return nil, errDF
	}
	var list []health.DiskFacts
	for line := range strings.Lines(rows) {
		if d, ok := newDisk(strings.TrimRight(line, "\r\n"), block); ok {
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		return nil, errNoRow
	}
	return list, nil
}

// newDisk parses a row: device, blocks, used, available, capacity, three columns of files, and the
// mount point, which may contain blanks.
func newDisk(line string, block uint64) (health.DiskFacts, bool) {
	d := health.DiskFacts{}
	if !strings.HasPrefix(line, "/dev/disk") {
		return d, false
	}
	var columns [8]string
	rest := line
	for i := range columns {
		columns[i], rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	}
	d.Device, d.Mountpoint = columns[0], strings.TrimLeft(rest, " ")
	for i, to := range []*uint64{&d.Size, &d.Used, &d.Available} {
		blocks, err := strconv.ParseUint(columns[1+i], 10, 50)
		if err != nil {
			return d, false
		}
		*to = blocks * block
	}
	return d, strings.HasSuffix(columns[4], "%") && strings.HasPrefix(d.Mountpoint, "/")
}
