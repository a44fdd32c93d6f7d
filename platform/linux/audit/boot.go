// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sentinel/internal/audit"
	"sentinel/platform/linux/posture"
	"sentinel/platform/unix/hostfile"
)

func bootChecks() []check {
	return []check{
		{About: audit.About{
			ID: "boot.secure_boot", Name: "Secure Boot", Severity: audit.Medium, Weight: 4,
			Reference:   "Lynis BOOT-5116",
			Description: "Whoever can write the disk can start another kernel, or one that was changed.",
			Formula:     "PASS when the firmware verified what it booted. WARN when it is off, FAIL in setup mode, in which anyone enrols keys. Does not apply without UEFI. Skipped where the firmware is hidden, as in containers.",
		}, Run: secureBoot},
		{About: audit.About{
			ID: "boot.lockdown", Name: "Kernel lockdown", Severity: audit.Low, Weight: 2,
			Reference:   "kernel_lockdown(7)",
			Description: "Root, or whoever became root, can change the running kernel.",
			Formula:     "PASS when it is integrity or confidentiality. WARN when it is none. Does not apply to a kernel without it.",
		}, Run: lockdown},
		{About: audit.About{
			ID: "boot.taint", Name: "Kernel is unchanged", Severity: audit.Low, Weight: 2, Unusual: true,
			Reference:   "Kernel documentation: admin-guide/tainted-kernels",
			Description: "Modules that nobody signed, or that were forced in, run with all rights.",
			Formula:     "PASS when /proc/sys/kernel/tainted has none of these bits: proprietary (1), out of tree (4096), unsigned (8192), overridden ACPI table (256). WARN for one of them, FAIL for a module that was forced in (2).",
		}, Run: taint},
		{About: audit.About{
			ID: "boot.cpu_mitigations", Name: "CPU flaws are mitigated", Severity: audit.Medium, Weight: 4,
			Reference:   "Kernel documentation: admin-guide/hw-vuln",
			Description: "Programs read what others and the kernel hold in memory.",
			Formula:     "PASS when no file of /sys/devices/system/cpu/vulnerabilities begins with Vulnerable. WARN otherwise.",
		}, Run: cpuMitigations},
	}
}

func secureBoot(_ context.Context, m *machine) audit.Finding {
	state, err := posture.SecureBoot(m.Root)
	const fix = "Switch it on in the setup of the firmware"
	switch {
	case err != nil:
		return audit.Unread("firmware", hostfile.Reason(err))
	case state == posture.Unsupported:
		return audit.NotApplicable("this machine does not boot through UEFI with Secure Boot")
	case state == posture.Enabled:
		return audit.Passed("Enabled")
	case state == posture.SetupMode:
		return audit.Failed("Setup mode", "Enrol the keys in the setup of the firmware, then switch Secure Boot on", "the variable SetupMode of the firmware is 1")
	default:
		return audit.Warned("Disabled", fix, "the variable SecureBoot of the firmware is 0")
	}
}

func lockdown(_ context.Context, m *machine) audit.Finding {
	level, err := posture.Lockdown(m.Root)
	switch {
	case err != nil:
		return audit.Unread("lockdown", hostfile.Reason(err))
	case level == posture.Unsupported:
		return audit.NotApplicable("this kernel has no lockdown")
	case level == "none":
		return audit.Warned("none", "Switch Secure Boot on, with which most kernels lock themselves down, or boot with lockdown=integrity", "/sys/kernel/security/lockdown: none")
	default:
		return audit.Passed(level)
	}
}

// A taintBit is a bit of /proc/sys/kernel/tainted that says what may have changed
// the kernel (Documentation/admin-guide/tainted-kernels.rst).
type taintBit struct {
	bit  int
	name string
}

const forcedModule = 2

func taint(_ context.Context, m *machine) audit.Finding {
	settings, err := m.settings("kernel/tainted")
	if err != nil {
		return audit.Unread("/proc/sys/kernel/tainted", err)
	}
	if len(settings) == 0 {
		return audit.NotApplicable("this kernel has no such setting")
	}
	var found []string
	for _, b := range []taintBit{{1, "a proprietary module"}, {forcedModule, "a module that was forced in"}, {256, "an overridden ACPI table"}, {4096, "a module from outside of the kernel's tree"}, {8192, "an unsigned module"}} {
		if settings[0].value&b.bit != 0 {
			found = append(found, b.name)
		}
	}
	const fix = "See which modules are marked in /proc/modules (P, O, E or F in parentheses), and remove what is not needed"
	value := "The kernel has loaded " + strings.Join(found, ", ")
	switch {
	case len(found) == 0:
		return audit.Passed(settings[0].String())
	case settings[0].value&forcedModule != 0:
		return audit.Failed(value, fix, "sysctl: "+settings[0].String())
	default:
		return audit.Warned(value, fix, "sysctl: "+settings[0].String())
	}
}

const vulnerabilities = "/sys/devices/system/cpu/vulnerabilities"

func cpuMitigations(_ context.Context, m *machine) audit.Finding {
	names, err := m.names(vulnerabilities, 256)
	if hostfile.Missing(err) {
		return audit.NotApplicable("this kernel does not say")
	}
	if err != nil {
		return audit.Unread(vulnerabilities, err)
	}
	var open []string
	for _, name := range names {
		text, err := m.text(vulnerabilities + "/" + name)
		if errors.Is(err, hostfile.ErrEmpty) {
			continue
		}
		if err != nil {
			return audit.Unread(vulnerabilities, err)
		}
		if strings.HasPrefix(text, "Vulnerable") {
			open = append(open, audit.At(vulnerabilities+"/"+name, 0, text))
		}
	}
	switch {
	case len(names) == 0:
		return audit.NotApplicable("this kernel knows of none")
	case len(open) > 0:
		return audit.Warned(fmt.Sprintf("%d of %d are open", len(open), len(names)), "Install the microcode of the CPU's maker and the newest kernel; look for mitigations=off in /proc/cmdline", open...)
	default:
		return audit.Passed(fmt.Sprintf("none of %d is open", len(names)))
	}
}
