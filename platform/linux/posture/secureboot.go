// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"path/filepath"

	"sentinel/platform/unix/hostfile"
)

// globalVariable is the vendor GUID of the variables that the UEFI specification defines.
const globalVariable = "-8be4df61-93ca-11d2-aa0d-00e098032b8c"

// SetupMode is the state in which the firmware lets anyone enroll keys and verifies nothing.
const SetupMode = "setup mode"

// SecureBoot returns whether the firmware verified what it booted: [Enabled], [Disabled],
// [SetupMode], or [Unsupported] on a machine without UEFI or whose firmware lacks it.
func SecureBoot(root string) (string, error) {
	firmware, err := hostfile.Names(filepath.Join(root, "sys/firmware"), 64)
	if len(firmware) == 0 && (err == nil || hostfile.Missing(err)) {
		return "", ErrHidden // every kernel has entries here; container runtimes hide them
	}
	if !hostfile.Exists(filepath.Join(root, "sys/firmware/efi")) {
		return Unsupported, nil
	}
	dir := filepath.Join(root, "sys/firmware/efi/efivars")
	on, err := efiFlag(dir, "SecureBoot")
	if hostfile.Missing(err) {
		return withoutVariable(dir)
	}
	if err != nil {
		return "", err
	}
	if setup, err := efiFlag(dir, "SetupMode"); err == nil && setup && !on {
		return SetupMode, nil
	}
	if on {
		return Enabled, nil
	}
	return Disabled, nil
}

// withoutVariable distinguishes firmware that lacks the variable from hidden variables: efivarfs is
// not mounted, or this is a container.
func withoutVariable(dir string) (string, error) {
	names, err := hostfile.Names(dir, 1)
	if len(names) > 0 {
		return Unsupported, nil
	}
	if err == nil || hostfile.Missing(err) {
		return "", ErrHidden
	}
	return "", err
}

func efiFlag(dir, name string) (bool, error) {
	raw, err := hostfile.Read(dir+"/"+name+globalVariable, 64)
	if err != nil {
		return false, err
	}
	return parseEFIFlag(raw)
}

// parseEFIFlag parses a variable of one byte: efivarfs puts four bytes of attributes before it.
func parseEFIFlag(b []byte) (bool, error) {
	if len(b) != 5 || b[4] > 1 {
		return false, ErrFormat
	}
	return b[4] == 1, nil
}
