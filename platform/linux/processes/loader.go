// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"path/filepath"
	"strings"

	"sentinel/internal/processes"
	"sentinel/platform/linux/procfs"
)

// loaded puts what a dynamic loader runs in its place in a claim, where that is such as nobody installs: everything
// else stays the loader's. The error says that it is not known; the claim is as it was then.
func (s *Source) loaded(c processes.Claim) (processes.Claim, error) {
	if c.Unmapped || s.root != "/" || !c.System || c.Removed || !daemons.Load(c.Program) { // anybody can call a program like a loader
		return c, nil
	}
	file, err := s.proc.Loaded(c.PID, processes.LoadedGone)
	if file == "" && err == nil { // which may be beside the other, to be found first
		file, err = s.proc.Loaded(c.PID, processes.LoadedTemporary)
	}
	if file == "" {
		return c, err
	}
	c.Loader, c.System, c.Clone, c.Same, c.Placed, c.Owner = c.Program, false, false, false, false, -1
	c.Program, c.Removed = strings.CutSuffix(file, " (deleted)")
	c.Mounts, c.Login = s.mountsOf(c), s.loggedIn(c)
	_, gone := procfs.StatNamed(filepath.Join(s.root, c.Program))
	c.Replaced = c.Removed && gone == nil && c.Mounts == processes.MountsHere
	c.Deployed = c.Replaced && s.deployed(c)
	return c, nil
}
