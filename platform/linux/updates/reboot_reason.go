// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"path/filepath"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// maxRequesters bounds how many of the packages that request a reboot are named.
const maxRequesters = 8

// rebootReason describes which of the signs of [RebootRequired] was found.
func rebootReason(root, running string) string {
	if exists(root, "run/reboot-required") || exists(root, "var/run/reboot-required") {
		if who := requesters(root); who != "" {
			return "Updated packages ask for it: " + who + "."
		}
		return "An updated package asks for it."
	}
	latest := running
	for _, k := range kernels(root) {
		if sameFlavour(k, running) && newer(k, latest) {
			latest = k
		}
	}
	return "Kernel " + latest + " is installed, " + running + " is running."
}

// requesters names the packages that wrote Debian's flag file.
func requesters(root string) string {
	raw, err := hostfile.Head(filepath.Join(root, "run/reboot-required.pkgs"), 4096)
	if err != nil {
		return ""
	}
	seen := map[string]bool{}
	var names []string
	for name := range strings.FieldsSeq(string(raw)) {
		if !seen[name] && len(names) < maxRequesters {
			names = append(names, name)
		}
		seen[name] = true
	}
	if len(seen) > len(names) {
		names = append(names, "and others")
	}
	return strings.Join(names, ", ")
}
