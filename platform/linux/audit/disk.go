// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/unix/hostfile"
)

func diskChecks() []check {
	return []check{
		{About: audit.About{
			ID: "disk.encryption", Name: "Disk encryption", Severity: audit.Medium, Weight: 6,
			Reference:   "Lynis CRYP-7930",
			Description: "Whoever gets hold of the disk reads everything on it, passwords and keys included.",
			Formula:     "PASS when all that / stores goes through dm-crypt, whatever lies between. WARN when it does not. Skipped where the devices below / cannot be seen, as in containers, and for zfs and bcachefs. Disks that encrypt by themselves do not count.",
		}, Run: rootEncrypted},
		{About: audit.About{
			ID: "disk.swap", Name: "Swap encryption", Severity: audit.Low, Weight: 2,
			Reference:   "crypttab(5)",
			Description: "What was in memory, keys included, is left on the disk.",
			Formula:     "PASS when each area of /proc/swaps is zram, or goes through dm-crypt, itself or the file system it lies in. WARN otherwise. Does not apply without swap.",
		}, Run: swapEncrypted},
	}
}

const encryptDisk = "Encryption is chosen when the system is installed (LUKS). For data added later, put a LUKS volume below its file system: cryptsetup luksFormat"

func rootEncrypted(_ context.Context, m *machine) audit.Finding {
	file := mounts.New(m.Root)
	list, err := file.Local()
	if err != nil {
		return audit.Unread("list of mounts", err)
	}
	top := mountHolding(list, "/")
	if top == nil {
		return audit.Unread("root file system", mounts.ErrNoDevice)
	}
	encrypted, err := file.Encrypted(*top)
	switch {
	case err != nil:
		return audit.Unread("root file system", hostfile.Reason(err))
	case encrypted:
		return audit.Passed("/ is encrypted")
	default:
		return audit.Warned("/ is not encrypted", encryptDisk, fmt.Sprintf("/proc/self/mountinfo: / is %s on %s, without dm-crypt below", top.Type, top.Source))
	}
}

// mountHolding returns the mount of list that a path is on, nil for none.
func mountHolding(list []mounts.Mount, name string) *mounts.Mount {
	for {
		for i := range list {
			if list[i].Mountpoint == name {
				return &list[i]
			}
		}
		if name == "/" || name == "." {
			return nil
		}
		name = path.Dir(name)
	}
}

// maxSwaps bounds how many areas are looked at; the kernel has at most 32 (MAX_SWAPFILES).
const maxSwaps = 64

func swapEncrypted(_ context.Context, m *machine) audit.Finding {
	raw, err := m.read("/proc/swaps")
	if hostfile.Missing(err) {
		return audit.NotApplicable("this kernel has no swap")
	}
	if err != nil {
		return audit.Unread("/proc/swaps", err)
	}
	return parseSwaps(raw).Judge(m.judgeSwaps)
}

func (m *machine) judgeSwaps(areas []swapArea) audit.Finding {
	if len(areas) == 0 {
		return audit.NotApplicable("there is no swap")
	}
	var plain []string
	for _, a := range areas {
		encrypted, err := m.swapEncrypted(a)
		if err != nil {
			return audit.Unread("swap", hostfile.Reason(err))
		}
		if !encrypted {
			plain = append(plain, audit.At("/proc/swaps", 0, a.name))
		}
	}
	if len(plain) > 0 {
		return audit.Warned(humanize.Count(len(plain), "area", "areas")+" not encrypted", "Put it on an encrypted device with a key made anew at each boot: the option swap of crypttab(5); or use zram", plain...)
	}
	return audit.Passed(humanize.Count(len(areas), "area", "areas"))
}

// A swapArea is one line of /proc/swaps.
type swapArea struct {
	name string
	file bool // a file, not a device
}

// parseSwaps reads /proc/swaps: a heading, then the name and type of each area.
// Blanks in names are escaped.
func parseSwaps(raw []byte) audit.List[swapArea] {
	var areas []swapArea
	for line := range bytes.Lines(raw) {
		f := strings.Fields(string(line))
		if len(f) < 2 || !strings.HasPrefix(f[0], "/") {
			continue
		}
		if len(areas) == maxSwaps {
			return audit.ListOf(areas, "/proc/swaps lists more areas than the kernel has")
		}
		areas = append(areas, swapArea{strings.ReplaceAll(f[0], `\040`, " "), f[1] == "file"})
	}
	return audit.ListOf(areas, "")
}

func (m *machine) swapEncrypted(a swapArea) (bool, error) {
	file := mounts.New(m.Root)
	if a.file {
		list, err := file.Local()
		if err != nil {
			return false, err
		}
		if below := mountHolding(list, path.Clean(a.name)); below != nil {
			return file.Encrypted(*below)
		}
		return false, mounts.ErrNoDevice
	}
	name := path.Base(a.name)
	if strings.HasPrefix(name, "zram") {
		return true, nil
	}
	number, err := m.text("/sys/class/block/" + name + "/dev")
	if hostfile.Missing(err) {
		return false, mounts.ErrNoDevice
	}
	if err != nil {
		return false, err
	}
	d, err := mounts.ParseDevice(number)
	if err != nil {
		return false, err
	}
	return file.Encrypted(mounts.Mount{Source: a.name, Device: d, Type: "swap"})
}
