// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"path/filepath"
	"slices"
)

// Guard is the name of the program that stands between a client and a server.
const Guard = "sentinel-guard"

// IsGuard reports whether a command is the guard, wherever it is installed.
func IsGuard(command string) bool { return filepath.Base(command) == Guard }

// Behind returns the command that a guard with these arguments starts, nil where there is none.
func Behind(command string, args []string) []string {
	at := slices.Index(args, "--")
	if !IsGuard(command) || at < 0 || at+1 == len(args) || at > 0 && args[0] != "run" {
		return nil
	}
	return args[at+1:]
}
