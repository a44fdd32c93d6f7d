// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"sentinel/internal/health"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/mount"
)

const psProgram = "/bin/ps"

// errClockUntold: timed(8) sets the clock but does not report its accuracy; sntp(1) would have to
// query a server, and systemsetup(8) only tells root whether the service is on.
var errClockUnknown = errors.New("macOS does not report whether its clock is synchronized")

var errStates = errors.New("ps printed no complete list of processes and their states")

func clockUnknown(context.Context) (health.Reading, error) { return health.Reading{}, errClockUnknown }

// zombies counts the processes whose state begins with Z (ps(1)).
func (s *source) zombies(ctx context.Context) (health.Reading, error) {
	r, err := s.Runner.Run(ctx, sysexec.Command{Path: psProgram, Args: []string{"-A", "-o", "pid,state"}, Timeout: diskLimit, WaitDelay: waitDelay})
	if err != nil {
		return health.Reading{}, err
	}
	if r.Exit != 0 {
		return health.Reading{}, failed("ps", r)
	}
	return countZombies(r.Stdout)
}

// countZombies parses rows of PID and state below a header. A malformed or truncated row means that
// the list is incomplete, and so that the number is unknown.
func countZombies(raw []byte) (health.Reading, error) {
	var r health.Reading
	header, rows, _ := strings.Cut(string(raw), "\n")
	if strings.Join(strings.Fields(header), " ") != "PID STAT" || rows == "" || !strings.HasSuffix(rows, "\n") {
		return r, errStates
	}
	for row := range strings.Lines(rows) {
		fields := strings.Fields(row)
		if len(fields) != 2 {
			return r, errStates
		}
		if _, err := strconv.Atoi(fields[0]); err != nil {
			return r, errStates
		}
		if fields[1][0] == 'Z' {
			r.Value++
		}
	}
	return r, nil
}

// readOnly checks only the data volume. Others may be read-only on purpose: disk images, NTFS and
// the sealed system volume are.
func (s *source) readOnly(ctx context.Context) (health.Reading, error) {
	mounts, err := mount.Read(ctx, s.Runner)
	if err != nil {
		return health.Reading{}, err
	}
	return readOnlyIn(mounts), nil
}

func readOnlyIn(mounts mount.Table) health.Reading {
	for p, m := range mounts {
		if p.Mountpoint == dataVolume && m.ReadOnly {
			return health.Reading{Value: 1, Names: []string{dataVolume}}
		}
	}
	return health.Reading{}
}
