// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package procfs

import (
	"errors"

	"sentinel/platform/unix/stuck"
)

// Thing is none: nothing is noted.
func (fs FS) Thing(int) (stuck.Thing, bool) { return 0, false }

func mountApart() (int, error) { return 0, errors.ErrUnsupported }

// ProcessInTime is [FS.Process]: nobody keeps a tree of files from being read.
func (fs FS) ProcessInTime(pid int) (ProcessStat, error) { return fs.Process(pid) }
