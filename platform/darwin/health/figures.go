// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"sentinel/internal/health"
	"sentinel/internal/sysexec"
)

const psProgram = "/bin/ps"

// errClockUntold: timed(8) keeps the clock and tells nobody how well; sntp(1)
// would have to ask a server, and systemsetup(8) tells root whether the service is on.
var errClockUntold = errors.New("macOS does not tell whether its clock is in step")

var errStates = errors.New("ps printed no whole list of processes and their states")

func clockUntold(context.Context) (health.Reading, error) { return health.Reading{}, errClockUntold }

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

// countZombies reads rows of PID and state below their header. One that is none, or
// that has no end, means that the list is not whole, and so that the number is not known.
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

// readOnly looks at the volume with everybody's data alone. Of any other nobody
// knows what was meant: disk images are read-only, as is NTFS, and so is the sealed system.
func (s *source) readOnly(ctx context.Context) (health.Reading, error) {
	table, err := s.print(ctx, mountProgram)
	if err != nil {
		return health.Reading{}, err
	}
	mounts := parseMount(table)
	if len(mounts) == 0 {
		return health.Reading{}, errMount
	}
	return readOnlyIn(mounts), nil
}

func readOnlyIn(mounts map[place]mounted) health.Reading {
	for p, m := range mounts {
		if p.mountpoint == dataVolume && m.readOnly {
			return health.Reading{Value: 1, Names: []string{dataVolume}}
		}
	}
	return health.Reading{}
}
