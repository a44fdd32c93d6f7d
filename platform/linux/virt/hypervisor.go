// SPDX-License-Identifier: Apache-2.0

package virt

import (
	"errors"
	"path/filepath"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// ErrUnnamed reports a virtual machine whose hypervisor does not identify itself.
var ErrUnnamed = errors.New("runs under a hypervisor that does not name itself")

// Hints holds what the firmware and the processor report about the machine.
type Hints struct {
	Vendor, Product, Board, BIOS, Chassis string // DMI

	HypervisorNode string // compatible of the device tree's hypervisor node
	Compatible     string // compatible of the device tree's root
	Virtual        bool   // the processor's hypervisor flag
}

// Hypervisor returns the hypervisor that this system runs under: "kvm", "vmware", "hyperv", "xen"
// and so on; "" on hardware. Firmware names the product; without firmware, as in microVMs, the
// clock that the hypervisor offers identifies it.
func Hypervisor(root string, h Hints) (string, error) {
	at := func(name string) string { return filepath.Join(root, name) }
	if name, ok := xen(at); ok {
		return name, nil
	}
	if isFirecracker(at) {
		return "firecracker", nil
	}
	if name := fromDeviceTree(h); name != "" {
		return name, nil
	}
	if name := fromFirmware(h); name != "" {
		return name, nil
	}
	clocks, _ := hostfile.Text(at("sys/devices/system/clocksource/clocksource0/available_clocksource")) //nolint:errcheck // absent is empty
	if name := fromClock(clocks); name != "" {
		return name, nil
	}
	if h.Virtual {
		return "", ErrUnnamed
	}
	return "", nil
}

// xen recognizes Xen guests. The control domain (dom0) counts as hardware.
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

// isFirecracker looks for the name in the ACPI tables, the only place that has it. Only root can
// read them.
func isFirecracker(at func(string) string) bool {
	table, err := hostfile.Head(at("sys/firmware/acpi/tables/DSDT"), 16)
	return err == nil && strings.HasPrefix(oemID(table), "FIRECK")
}

// oemID returns the OEMID field of an ACPI table header: six bytes after signature, length,
// revision and checksum.
func oemID(table []byte) string {
	if len(table) < 16 {
		return ""
	}
	return string(table[10:16])
}

func fromDeviceTree(h Hints) string {
	switch {
	case strings.Contains(h.HypervisorNode, "linux,kvm"):
		return "kvm"
	case strings.Contains(h.HypervisorNode, "xen,xen"):
		return "xen"
	case strings.Contains(h.HypervisorNode, "vmware"):
		return "vmware"
	case strings.Contains(h.Compatible, "linux,dummy-virt"):
		return "qemu"
	default:
		return ""
	}
}

// fromFirmware recognizes the names that hypervisors put into DMI. Vendors that also make hardware
// count only together with the product.
func fromFirmware(h Hints) string {
	if strings.HasSuffix(h.Product, ".metal") { // Amazon EC2 without a hypervisor
		return ""
	}
	if h.Vendor == "Microsoft Corporation" && h.Product == "Virtual Machine" {
		return "hyperv"
	}
	for _, text := range [...]string{h.Product, h.Vendor, h.Board, h.BIOS, h.Chassis} {
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

// fromClock recognizes a hypervisor by its own clock source, which the kernel lists only when it
// runs as a guest.
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
