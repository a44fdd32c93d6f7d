// SPDX-License-Identifier: Apache-2.0

package local

import (
	"os"
	"syscall"
	"time"

	"sentinel/internal/host"
	"sentinel/internal/host/mac"
	"sentinel/internal/identity"
	"sentinel/internal/privilege"
	"sentinel/internal/sysexec"
)

// Open assembles macOS below root, "/" on a live system. It reads nothing.
func Open(root string) (*host.Host, error) {
	own, err := os.Executable()
	if err != nil {
		own = ""
	}
	return mac.Open(mac.System{
		Root: root, Live: root == "/", Runner: sysexec.Host{}, Kill: syscall.Kill,
		EUID: privilege.EffectiveUID(), PID: os.Getpid(), Own: own, StateDir: identity.DefaultDir, Getenv: os.Getenv, Now: time.Now,
	}), nil
}
