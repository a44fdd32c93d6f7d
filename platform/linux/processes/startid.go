// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

// StartID returns the identity of the process that has pid now: together with the PID it identifies
// one process among all that ever had it. The error matches fs.ErrNotExist if there is no such
// process.
func (s *Source) StartID(pid int) (string, error) {
	stat, err := s.proc.Process(pid)
	if err != nil {
		return "", err
	}
	return s.start(stat), nil
}
