// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

// A Sequence returns one of Results for each run, whatever is run, and records
// the commands. It is not safe for concurrent use.
type Sequence struct {
	Results []sysexec.Result
	Err     error           // returned with each result, and after the last one
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
	return c.Passed(r), s.Err
}
