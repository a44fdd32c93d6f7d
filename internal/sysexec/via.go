// SPDX-License-Identifier: Apache-2.0

package sysexec

import (
	"os/exec"
	"sync/atomic"
	"syscall"
)

// A Starter starts a program by calling start once, from the goroutine that called it. Until then it may
// change attr, which start uses. Without that call it returns an error.
type Starter func(attr *syscall.SysProcAttr, start func() error) error

// starter is one of the whole process, as is what it takes care of: nothing may be started past it.
var starter atomic.Pointer[Starter]

// StartVia has every program of this process started through s from now on.
func StartVia(s Starter) { starter.Store(&s) }

// launched starts cmd, which has a SysProcAttr.
func launched(cmd *exec.Cmd) error {
	if via := starter.Load(); via != nil {
		return (*via)(cmd.SysProcAttr, cmd.Start)
	}
	return cmd.Start()
}
