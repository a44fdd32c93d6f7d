// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"bytes"
	"path/filepath"

	"sentinel/platform/unix/hostfile"
)

// maxProfiles caps the list of profiles, in bytes: enough for about 20,000 of them.
const maxProfiles = 2 << 20

// AppArmor returns [Enabled], [Disabled] if it was turned off at boot, or [Unsupported] if this
// kernel lacks it.
func AppArmor(root string) (string, error) {
	text, err := hostfile.Text(filepath.Join(root, "sys/module/apparmor/parameters/enabled"))
	switch {
	case hostfile.Missing(err) && !mounted(root):
		return "", errNoSysFS
	case hostfile.Missing(err):
		return Unsupported, nil
	case err != nil:
		return "", err
	case text == "Y":
		return Enabled, nil
	case text == "N":
		return Disabled, nil
	default:
		return "", ErrFormat
	}
}

// Profiles counts the loaded AppArmor profiles by mode.
type Profiles struct {
	Enforcing   int // violations are denied
	Complaining int // violations are only logged
}

// AppArmorProfiles reads the loaded profiles, which the kernel shows only to root. Call it only if
// AppArmor is enabled.
func AppArmorProfiles(root string) (Profiles, error) {
	raw, err := hostfile.Read(filepath.Join(root, "sys/kernel/security/apparmor/profiles"), maxProfiles)
	if hostfile.Missing(err) {
		return Profiles{}, errNoSecurityFS
	}
	if err != nil {
		return Profiles{}, err
	}
	return parseProfiles(raw)
}

// parseProfiles reads lines like "/usr/sbin/cupsd (enforce)". A name may contain blanks and
// parentheses; the mode is the last word. kill counts as enforcing; other modes (unconfined,
// prompt) are not counted.
func parseProfiles(b []byte) (Profiles, error) {
	var p Profiles
	for line := range bytes.Lines(b) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		at := bytes.LastIndex(line, []byte(" ("))
		if at < 0 || line[len(line)-1] != ')' {
			return Profiles{}, ErrFormat
		}
		switch string(line[at+2 : len(line)-1]) {
		case "enforce", "kill":
			p.Enforcing++
		case "complain":
			p.Complaining++
		}
	}
	return p, nil
}
