// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"context"
	"errors"

	"sentinel/internal/health"
)

var errHidden = errors.New("processes of other users are hidden here")

// zombies counts the processes in state Z. Every PID namespace has a process 1; if it is not
// visible, hidepid (proc(5)) hides the processes of other users.
func (s source) zombies(ctx context.Context) (health.Reading, error) {
	table, err := s.proc.Processes(ctx)
	if err != nil {
		return health.Reading{}, err
	}
	var r health.Reading
	initSeen := false
	for _, p := range table {
		initSeen = initSeen || p.PID == 1
		if p.State == 'Z' {
			r.Value++
		}
	}
	if !initSeen {
		return r, errHidden
	}
	return r, nil
}
