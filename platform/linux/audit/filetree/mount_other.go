// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package filetree

import (
	"os"

	"golang.org/x/sys/unix"
)

const through = unix.O_RDONLY

type handle = *struct{}

func handleOf(int, string) (handle, int, error) { return nil, unknown, unix.EOPNOTSUPP }

func sameHandle(handle, handle) bool { return true }

func (d *directory) byHandle() (*os.File, error) { return nil, unix.EOPNOTSUPP }

func bare(dir *os.File) (*os.File, bool) { return dir, false }

func copies(*os.File) bool { return false }
