// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"sentinel/internal/assets"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/sysctl"
	"sentinel/platform/darwin/systemprofiler"
)

// errUnnamed says why the name of a hypervisor is unknown.
var errKinds = errors.New("sysctl tells only a part of the kinds of cores")

var errUnnamed = errors.New("a hypervisor runs this machine and does not give its name")

// maxLevels is how many kinds of cores are asked for.
const maxLevels = 3

// readValues asks the kernel for everything in one run. What every Mac has comes
// first: some versions of sysctl(8) stop at an unknown name.
func readValues(ctx context.Context, runner sysexec.Runner) (sysctl.Values, error) {
	names := []string{
		"hw.model", "hw.memsize", "hw.logicalcpu", "hw.physicalcpu", "hw.packages", "kern.boottime", "machdep.cpu.brand_string", "kern.hv_vmm_present",
	}
	for level := range maxLevels {
		names = append(names, levelName(level, "name"), levelName(level, "physicalcpu"))
	}
	return sysctl.Read(ctx, runner, names...)
}

// levelName names a value of a kind of cores. Level 0 has the fastest.
func levelName(level int, value string) string {
	return "hw.perflevel" + strconv.Itoa(level) + "." + value
}

// Machine implements [assets.Source].
func (v *Inventory) Machine(ctx context.Context) assets.Machine {
	v.begin(ctx)
	report, reportErr := v.report()
	values, err := v.values()
	memory, memoryErr := v.memory()
	h := report.Hardware
	m := assets.Machine{
		Model:          fact(model(h, values), reportErr),
		Serial:         fact(h.Serial, reportErr),
		Chip:           fact(chip(h, values), reportErr),
		Cores:          fact(number(values, "hw.logicalcpu"), err),
		CoresPhysical:  fact(number(values, "hw.physicalcpu"), err),
		Sockets:        fact(number(values, "hw.packages"), err),
		Virtualization: hypervisor(values, err),
	}
	m.CoreKinds, m.CoreKindsErr = coreKinds(h.Cores, values)
	total, totalErr := values.Number("hw.memsize")
	m.MemoryTotal = fact(total, cmp.Or(err, totalErr))
	m.MemoryAvailable.Err = memoryErr
	if memoryErr == nil {
		m.MemoryAvailable.Value = total - min(memory.Used(), total)
	}
	if m.Cores.Value == 0 && h.Cores.Performance > 0 { // on Intel the profiler counts cores, not threads
		m.Cores = fact(h.Cores.Total, m.Cores.Err)
	}
	if name := m.Virtualization; name.Err == nil && (name.Value == "" || name.Value == "apple") {
		m.Vendor = fact("Apple Inc.", nil)
	}
	return m
}

// model is the name that Apple sells the machine under, with the identifier of the
// exact model: "MacBook Pro (Mac16,1)".
func model(h systemprofiler.Hardware, values sysctl.Values) string {
	id := h.Model
	if id == "" {
		id = values["hw.model"]
	}
	switch {
	case h.Name == "" || h.Name == id:
		return id
	case id == "":
		return h.Name
	default:
		return h.Name + " (" + id + ")"
	}
}

// chip prefers the kernel's name: system_profiler shortens those of Intel's
// processors.
func chip(h systemprofiler.Hardware, values sysctl.Values) string {
	if brand := strings.Join(strings.Fields(values["machdep.cpu.brand_string"]), " "); brand != "" {
		return brand
	}
	return h.Chip
}

// number is 0 where the kernel does not have it.
func number(values sysctl.Values, name string) int {
	n, err := values.Number(name)
	if err != nil || n > 1<<16 {
		return 0
	}
	return int(n)
}

// coreKinds lists the kinds of cores, the fastest first. Their names are those of
// the kernel: "Performance" and "Efficiency", and on an M5 Pro "Super" and "Performance".
func coreKinds(c systemprofiler.Cores, values sysctl.Values) ([]assets.CoreKind, error) {
	var list []assets.CoreKind
	whole := true
	for level := range maxLevels {
		name, n := values[levelName(level, "name")], number(values, levelName(level, "physicalcpu"))
		if name != "" && n > 0 {
			list = append(list, assets.CoreKind{Name: name, Cores: n})
		} else if name != "" || n > 0 {
			whole = false
		}
	}
	switch {
	case whole && len(list) > 1:
		return list, nil
	case (len(list) == 0 || !whole) && c.Performance > 0 && c.Efficiency > 0:
		return []assets.CoreKind{{Name: "Performance", Cores: c.Performance}, {Name: "Efficiency", Cores: c.Efficiency}}, nil
	case !whole:
		return nil, errKinds
	}
	return nil, nil
}

// hypervisor names what runs a virtual machine, by its model.
func hypervisor(values sysctl.Values, err error) assets.Fact[string] {
	if err != nil {
		return assets.Fact[string]{Err: err}
	}
	present, known := values["kern.hv_vmm_present"]
	model := values["hw.model"]
	switch {
	case strings.HasPrefix(model, "VirtualMac"):
		return assets.Fact[string]{Value: "apple"}
	case strings.HasPrefix(model, "VMware"):
		return assets.Fact[string]{Value: "vmware"}
	case strings.HasPrefix(model, "Parallels"):
		return assets.Fact[string]{Value: "parallels"}
	case !known:
		return assets.Fact[string]{Err: sysctl.ErrAbsent}
	case present != "0":
		return assets.Fact[string]{Err: errUnnamed}
	default:
		return assets.Fact[string]{}
	}
}
