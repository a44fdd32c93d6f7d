// SPDX-License-Identifier: Apache-2.0

// Package mac assembles macOS. It builds and runs on every system, because all
// it knows of a Mac it learns through a System: the files below a root and the
// programs of a runner, both of which a test can stand in for.
package mac

import (
	"syscall"
	"time"

	"sentinel/internal/host"
	"sentinel/internal/sysexec"
)

// A System is the Mac that is looked at.
type System struct {
	Root   string         // below which files are read; "/" on a real Mac
	Live   bool           // whether it is the running system and can be changed
	Runner sysexec.Runner // runs its programs
	// Kill sends a signal to a process (kill(2)); signal 0 only checks.
	Kill func(pid int, signal syscall.Signal) error
	EUID int // effective user of this run
	PID  int // of this run
	// Own is the absolute path of this program, which runs itself again for
	// what may crash; empty when it is not known.
	Own string
	Now func() time.Time
}

// Open assembles the Mac. Nothing is read yet.
func Open(s System) *host.Host {
	return &host.Host{
		Live:   s.Live,
		Detach: func() error { return nil }, // macOS has no control groups to leave
	}
}
