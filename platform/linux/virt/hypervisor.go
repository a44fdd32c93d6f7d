// SPDX-License-Identifier: Apache-2.0

package virt

import (
	"errors"
	"path/filepath"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// ErrUnnamed reports a virtual machine whose hypervisor leaves no name.
var ErrUnnamed = errors.New("runs under a hypervisor that does not name itself")

// Hints is what the firmware and the processor say about the machine.
type Hints struct {
	Vendor, Product, Board, BIOS, Chassis string // DMI

	Tree    string // compatible of the device tree's hypervisor node
	Boards  string // compatible of the device tree's root
	Virtual bool   // the processor's hypervisor flag
}

// Hypervisor returns what this system runs under: "kvm", "vmware", "hyperv",
// "xen" and so on; "" on hardware. Firmware names the product; where there is none, as in
// microVMs, the clock that the hypervisor offers does.
func Hypervisor(root string, m Hints) (string, error) {
	at := func(name string) string { return filepath.Join(root, name) }
	if name, ok := xen(at); ok {
		return name, nil
	}
	if isFirecracker(at) {
		return "firecracker", nil
	}
	if name := fromTree(m); name != "" {
		return name, nil
	}
	if name := fromFirmware(m); name != "" {
		return name, nil
	}
	clocks, _ := hostfile.Text(at("sys/devices/system/clocksource/clocksource0/available_clocksource")) //nolint:errcheck // absent is empty
	if name := fromClock(clocks); name != "" {
		return name, nil
	}
	if m.Virtual {
		return "", ErrUnnamed
	}
	return "", nil
}

// xen answers for guests. The domain that runs the others is on hardware as
// far as people are concerned.
func xen(at func(string) string) (string, bool) {
	kind, err := hostfile.Text(at("sys/hypervisor/type"))
	if err != nil || kind != "xen" {
		return "", false
	}
	capabilities, err := hostfile.Text(at("proc/xen/capabilities"))
	if err == nil && strings.Contains(capabilities, "control_d") {
		return "", true
	}
	return "xen", true
}

// isFirecracker looks for the name in the ACPI tables, the only place that has
// it. They are for root alone.
func isFirecracker(at func(string) string) bool {
	table, err := hostfile.Head(at("sys/firmware/acpi/tables/DSDT"), 16)
	return err == nil && strings.HasPrefix(oemID(table), "FIRECK")
}

// oemID returns the maker's field of the header of an ACPI table: six bytes
// after signature, length, revision and checksum.
func oemID(table []byte) string {
	if len(table) < 16 {
		return ""
	}
	return string(table[10:16])
}

func fromTree(m Hints) string {
	switch {
	case strings.Contains(m.Tree, "linux,kvm"):
		return "kvm"
	case strings.Contains(m.Tree, "xen,xen"):
		return "xen"
	case strings.Contains(m.Tree, "vmware"):
		return "vmware"
	case strings.Contains(m.Boards, "linux,dummy-virt"):
		return "qemu"
	default:
		return ""
	}
}

// fromFirmware goes by the names that hypervisors put into DMI. Those that are
// also makers of hardware count only with the product.
func fromFirmware(m Hints) string {
	if strings.HasSuffix(m.Product, ".metal") { // Amazon EC2 without a hypervisor
		return ""
	}
	if m.Vendor == "Microsoft Corporation" && m.Product == "Virtual Machine" {
		return "hyperv"
	}
	for _, text := range [...]string{m.Product, m.Vendor, m.Board, m.BIOS, m.Chassis} {
		for _, mark := range [...]struct{ prefix, name string }{
			{"KVM", "kvm"}, {"OpenStack", "kvm"}, {"KubeVirt", "kvm"}, {"Amazon EC2", "kvm"},
			{"Google Compute Engine", "kvm"}, {"DigitalOcean", "kvm"}, {"Hetzner vServer", "kvm"}, {"Droplet", "kvm"},
			{"Firecracker", "firecracker"}, {"QEMU", "qemu"}, {"VMware", "vmware"}, {"VMW", "vmware"},
			{"innotek GmbH", "virtualbox"}, {"VirtualBox", "virtualbox"}, {"Xen", "xen"}, {"Bochs", "bochs"},
			{"Parallels", "parallels"}, {"BHYVE", "bhyve"}, {"Apple Virtualization", "apple"}, {"Cloud Hypervisor", "cloud-hypervisor"},
		} {
			if strings.HasPrefix(text, mark.prefix) {
				return mark.name
			}
		}
	}
	return ""
}

// fromClock goes by the clocks on offer: each hypervisor has one of its own, which
// the kernel lists only as a guest.
func fromClock(available string) string {
	switch {
	case strings.Contains(available, "kvm-clock"):
		return "kvm"
	case strings.Contains(available, "hyperv_clocksource"):
		return "hyperv"
	case strings.Contains(" "+available+" ", " xen "):
		return "xen"
	default:
		return ""
	}
}
