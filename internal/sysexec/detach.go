// SPDX-License-Identifier: Apache-2.0

package sysexec

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Detach starts a program that goes on after this one has ended, in a session
// of its own (setsid(2)): neither the end of a terminal nor that of sudo reaches it. It reads
// nothing, and what it prints is lost.
func Detach(path string, args ...string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("run %q: the path is not absolute", path)
	}
	cmd := exec.Command(path, args...) //nolint:gosec,noctx // running what the caller names is the purpose, and nothing here ends it
	cmd.Env, cmd.Dir = fixed(), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := launched(cmd); err != nil {
		return err
	}
	go cmd.Wait() //nolint:errcheck // only so that it is reaped where this process lives longer
	return nil
}
