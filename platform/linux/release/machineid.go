// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/hex"
	"errors"

	"sentinel/platform/unix/hostfile"
)

// ErrNoMachineID reports that this installation has no ID yet: a container image, or a system
// before its first boot.
var ErrNoMachineID = errors.New("this installation has no machine id")

// A MachineID identifies an installation, machine-id(5). It is confidential:
// show only what is derived from it.
type MachineID [16]byte

// MachineID reads /etc/machine-id, or /var/lib/dbus/machine-id on systems where only D-Bus created
// one.
func (fs FS) MachineID() (MachineID, error) {
	text, err := hostfile.Text(fs.path("etc/machine-id"))
	if hostfile.Missing(err) {
		text, err = hostfile.Text(fs.path("var/lib/dbus/machine-id"))
	}
	if hostfile.Missing(err) || errors.Is(err, hostfile.ErrEmpty) {
		return MachineID{}, ErrNoMachineID
	}
	if err != nil {
		return MachineID{}, err
	}
	return parseMachineID(text)
}

// parseMachineID takes 32 hexadecimal digits. All zeros, and the word that image builders leave for
// the first boot, are not an ID.
func parseMachineID(s string) (MachineID, error) {
	if s == "uninitialized" {
		return MachineID{}, ErrNoMachineID
	}
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(MachineID{}) {
		return MachineID{}, ErrFormat
	}
	id := MachineID(raw)
	if id == (MachineID{}) {
		return MachineID{}, ErrNoMachineID
	}
	return id, nil
}
