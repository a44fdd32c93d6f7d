// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"
	"strings"

	"sentinel/internal/assets"
	"sentinel/platform/linux/cpuinfo"
	"sentinel/platform/linux/sysfs"
	"sentinel/platform/linux/virt"
)

// Machine implements [assets.Source].
func (v *Inventory) Machine(context.Context) assets.Machine {
	dmi, dmiErr := sysfs.ReadDMI(v.root)
	tree, treeErr := sysfs.ReadDeviceTree(v.root)
	cpu, cpuErr := cpuinfo.Read(v.root)
	m := assets.Machine{Container: virt.Container(v.root)}
	identityErr := dmiErr
	if dmiErr == nil || treeErr == nil {
		identityErr = sysfs.ErrPlaceholder // there is a description, but it does not say
	}
	vendor, model := identity(dmi, tree, cpu)
	m.Vendor, m.Model = fact(vendor, identityErr), fact(model, identityErr)
	serial, err := sysfs.ReadSerial(v.root)
	m.Serial = fact(serial, err)
	m.Chip = fact(chip(cpu, tree), cpuErr)
	m.Virtualization = v.virtualization(dmi, tree, cpu)
	v.countCores(&m)
	return m
}

func identity(dmi sysfs.DMI, tree sysfs.DeviceTree, cpu cpuinfo.Info) (vendor, model string) {
	vendor, model = dmi.Model()
	if model == "" {
		model = tree.Model
	}
	if model == "" {
		model = cpu.Board
	}
	if vendor == "" {
		vendor = tree.Vendor()
	}
	return vendor, model
}

// chip names the processor; on ARM boards the system on chip with the kinds of its
// cores.
func chip(cpu cpuinfo.Info, tree sysfs.DeviceTree) string {
	if cpu.Model != "" {
		return cpu.Model
	}
	soc := tree.Chip()
	if soc == "" {
		soc = cpu.Hardware
	}
	cores := cpu.Chip()
	switch {
	case soc == "":
		return cores
	case cores == "":
		return soc
	default:
		return soc + " (" + cores + ")"
	}
}

func (v *Inventory) virtualization(dmi sysfs.DMI, tree sysfs.DeviceTree, cpu cpuinfo.Info) assets.Fact[string] {
	name, err := virt.Hypervisor(v.root, virt.Hints{
		Vendor: dmi.SystemVendor, Product: dmi.ProductName, Board: dmi.BoardVendor, BIOS: dmi.BIOSVendor, Chassis: dmi.ChassisVendor,
		HypervisorNode: tree.Hypervisor, Compatible: strings.Join(tree.Compatible, " "), Virtual: cpu.Hypervisor,
	})
	return assets.Fact[string]{Value: name, Err: err}
}

func (v *Inventory) countCores(m *assets.Machine) {
	t, err := sysfs.ReadTopology(v.root)
	if err != nil {
		t.Logical, _ = cpuinfo.Count(v.root) //nolint:errcheck // the reason is that of sysfs
	}
	m.Cores, m.CoresPhysical, m.Sockets = fact(t.Logical, err), fact(t.Physical, err), fact(t.Sockets, err)
	memory, err := v.proc.Memory()
	m.MemoryTotal, m.MemoryAvailable = fact(memory.Total, err), fact(memory.Available, err)
}
