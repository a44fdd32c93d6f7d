// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
)

// ControlGroup reads from /proc/PID/cgroup the path of the control group in which the service
// manager keeps a process (cgroups(7)): its path in the unified hierarchy or, if that is missing or
// the process is in its root, the path in the v1 hierarchy named systemd. Paths are as seen from
// this process's cgroup namespace.
func (fs FS) ControlGroup(pid int) (string, error) {
	return readWith(fs, parseControlGroup, strconv.Itoa(pid), "cgroup")
}

// parseControlGroup reads lines of the form "ID:CONTROLLERS:PATH". The path may contain colons. In
// a hierarchy that systemd does not use, all processes are in the root.
func parseControlGroup(b []byte) (string, error) {
	var unified, named string
	for line := range lines(b) {
		parts := bytes.SplitN(line, []byte(":"), 3)
		if len(parts) != 3 || len(parts[2]) == 0 || parts[2][0] != '/' {
			return "", fmt.Errorf("control group: %w", ErrFormat)
		}
		switch {
		case string(parts[1]) == "name=systemd":
			named = string(parts[2])
		case string(parts[0]) == "0" && len(parts[1]) == 0:
			unified = string(parts[2])
		}
	}
	if len(unified) <= len("/") {
		unified = cmp.Or(named, unified)
	}
	if unified == "" {
		return "", fmt.Errorf("control group: %w", ErrFormat)
	}
	return unified, nil
}
