// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

// A Sequence answers one run after the other with Results, whatever is run, and
// notes what was. It is not safe for concurrent use.
type Sequence struct {
	Results []sysexec.Result
	Err     error           // goes with each result; alone once there are no more
	Ran     []string        // path and arguments, joined by blanks
	Limits  []time.Duration // the time limit of each run
}

// Run implements [sysexec.Runner].
func (s *Sequence) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	s.Ran = append(s.Ran, c.Path+" "+strings.Join(c.Args, " "))
	s.Limits = append(s.Limits, c.Timeout)
	if len(s.Results) == 0 {
		return sysexec.Result{}, s.Err
	}
	r := s.Results[0]
	s.Results = s.Results[1:]
	return r, s.Err
}
