// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
)

// ControlGroup reads from /proc/PID/cgroup the path of the control group that a
// service manager keeps a process in: that of the unified hierarchy, or that of the one named
// systemd (v1) where a process is in the root of the former or there is none (cgroups(7)). It is as
// seen from the cgroup namespace of this process.
func (fs FS) ControlGroup(pid int) (string, error) {
	return readWith(fs, parseControlGroup, strconv.Itoa(pid), "cgroup")
}

// parseControlGroup reads lines of the form "ID:CONTROLLERS:PATH". The path may
// hold colons. A hierarchy that systemd does not use has all processes in its root.
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
