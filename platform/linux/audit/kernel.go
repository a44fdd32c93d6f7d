// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"strings"

	"sentinel/internal/audit"
	"sentinel/platform/linux/posture"
	"sentinel/platform/unix/hostfile"
)

func kernelChecks() []check {
	return []check{
		{About: audit.About{
			ID: "kernel.aslr", Name: "Address space randomisation", Severity: audit.High, Weight: 8,
			Reference:   "CIS 1.5.1, Lynis KRNL-6000",
			Description: "Memory at known places makes a flaw in any program easy to use.",
			Formula:     "PASS when kernel.randomize_va_space is 2. FAIL otherwise.",
		}, Run: sysctl{[]string{"kernel/randomize_va_space"}, equalTo(2), audit.Fail, "kernel.randomize_va_space = 2"}.run},
		{About: audit.About{
			ID: "kernel.kptr_restrict", Name: "Kernel addresses hidden", Severity: audit.Low, Weight: 2,
			Reference:   "Lynis KRNL-6000",
			Description: "An exploit of the kernel needs to know addresses in it.",
			Formula:     "PASS when kernel.kptr_restrict is 1 or 2. WARN when it is 0.",
		}, Run: sysctl{[]string{"kernel/kptr_restrict"}, atLeast(1), audit.Warn, "kernel.kptr_restrict = 1"}.run},
		{About: audit.About{
			ID: "kernel.dmesg_restrict", Name: "Kernel log for root alone", Severity: audit.Low, Weight: 2,
			Reference:   "Lynis KRNL-6000",
			Description: "The kernel's log tells every user about hardware, addresses and crashes.",
			Formula:     "PASS when kernel.dmesg_restrict is 1. WARN when it is 0.",
		}, Run: sysctl{[]string{"kernel/dmesg_restrict"}, atLeast(1), audit.Warn, "kernel.dmesg_restrict = 1"}.run},
		{About: audit.About{
			ID: "kernel.ptrace_scope", Name: "Tracing of processes restricted", Severity: audit.Medium, Weight: 3,
			Reference:   "CIS 1.5.2",
			Description: "A program that was taken over can read the passwords in all other programs of its user.",
			Formula:     "PASS when kernel.yama.ptrace_scope is 1, 2 or 3. WARN when it is 0. Does not apply to a kernel without Yama.",
		}, Run: sysctl{[]string{"kernel/yama/ptrace_scope"}, atLeast(1), audit.Warn, "kernel.yama.ptrace_scope = 1"}.run},
		{About: audit.About{
			ID: "kernel.suid_dumpable", Name: "No core dumps of privileged programs", Severity: audit.Medium, Weight: 3,
			Reference:   "CIS 1.5.3, Lynis KRNL-6000",
			Description: "The memory of a program with more rights than its user may hold what the user must not see.",
			Formula:     "PASS when fs.suid_dumpable is 0, or 2 with a core_pattern that is a pipe or an absolute path. FAIL when it is 1, WARN for 2 with a relative pattern.",
		}, Run: suidDumpable},
		{About: audit.About{
			ID: "kernel.core_pattern", Name: "Core dumps kept safe", Severity: audit.Low, Weight: 1,
			Reference:   "CIS 1.5.3, Lynis KRNL-5820",
			Description: "A core dump in the folder of the program holds its secrets, and nobody clears it away.",
			Formula:     "PASS when kernel.core_pattern is a pipe to a program that nobody but root can write or put there, an absolute path, or empty. WARN for a relative pattern. FAIL for a program that users other than root can write, or that is missing where they can put it: the kernel runs it as root.",
		}, Run: corePattern},
		{About: audit.About{
			ID: "kernel.protected_links", Name: "Links in shared folders guarded", Severity: audit.Medium, Weight: 4,
			Reference:   "Lynis KRNL-6000",
			Description: "A link in /tmp makes a program of root write where an attacker wants.",
			Formula:     "PASS when fs.protected_symlinks and fs.protected_hardlinks are 1. FAIL when one is 0.",
		}, Run: sysctl{[]string{"fs/protected_symlinks", "fs/protected_hardlinks"}, atLeast(1), audit.Fail, "fs.protected_symlinks = 1 and fs.protected_hardlinks = 1"}.run},
		{About: audit.About{
			ID: "kernel.protected_files", Name: "Files and pipes in shared folders guarded", Severity: audit.Low, Weight: 2,
			Reference:   "Lynis KRNL-6000",
			Description: "A file or a pipe that somebody put into /tmp before takes what a program of root writes.",
			Formula:     "PASS when fs.protected_fifos and fs.protected_regular are 1 or 2. WARN when one is 0.",
		}, Run: sysctl{[]string{"fs/protected_fifos", "fs/protected_regular"}, atLeast(1), audit.Warn, "fs.protected_fifos = 1 and fs.protected_regular = 2"}.run},
		{About: audit.About{
			ID: "kernel.sysrq", Name: "Magic SysRq key restricted", Severity: audit.Low, Weight: 1,
			Reference:   "Lynis KRNL-6000",
			Description: "Whoever reaches the keyboard can read the memory of the kernel out to the console or end every process.",
			Formula:     "PASS when kernel.sysrq allows neither all (1) nor debugging dumps (8) nor signals to processes (64). WARN otherwise. Debian's 438 holds none of 8 and 64.",
		}, Run: sysctl{[]string{"kernel/sysrq"}, sysrqSafe, audit.Warn, "kernel.sysrq = 176"}.run},
		{About: audit.About{
			ID: "kernel.kexec", Name: "Loading another kernel disabled", Severity: audit.Low, Weight: 1,
			Reference:   "Lynis KRNL-6000",
			Description: "Root, or whoever became root, can start another kernel without the checks of the boot.",
			Formula:     "PASS when kernel.kexec_load_disabled is 1, or lockdown is in force, which checks what is loaded. WARN otherwise.",
		}, Run: kexec},
		{About: audit.About{
			ID: "kernel.modules", Name: "Loading of kernel modules", Severity: audit.Low, Weight: 1,
			Reference:   "Lynis KRNL-6000",
			Description: "Whoever became root can load a module that hides everything from you.",
			Formula:     "PASS when kernel.modules_disabled is 1, when the kernel takes only signed modules (module.sig_enforce), or when lockdown is in force. WARN otherwise.",
		}, Run: modules},
		{About: audit.About{
			ID: "kernel.unprivileged_bpf", Name: "BPF for root alone", Severity: audit.Medium, Weight: 3,
			Reference:   "Lynis KRNL-6000",
			Description: "Programs that users load into the kernel have often been the way to become root.",
			Formula:     "PASS when kernel.unprivileged_bpf_disabled is 1 or 2. WARN when it is 0.",
		}, Run: sysctl{[]string{"kernel/unprivileged_bpf_disabled"}, atLeast(1), audit.Warn, "kernel.unprivileged_bpf_disabled = 1"}.run},
		{About: audit.About{
			ID: "kernel.user_namespaces", Name: "User namespaces restricted", Severity: audit.Low, Weight: 1,
			Reference:   "user_namespaces(7)",
			Description: "A user namespace shows every user parts of the kernel that were written for root; browsers and rootless containers need it all the same.",
			Formula:     "PASS when kernel.unprivileged_userns_clone is 0, user.max_user_namespaces is 0, or AppArmor restricts them (kernel.apparmor_restrict_unprivileged_userns is 1). WARN otherwise.",
		}, Run: userNamespaces},
	}
}

func suidDumpable(_ context.Context, m *machine) audit.Finding {
	settings, err := m.settings("fs/suid_dumpable")
	if err != nil {
		return audit.Unread("/proc/sys", err)
	}
	if len(settings) == 0 {
		return audit.NotApplicable("this kernel has no such setting")
	}
	const fix = "fs.suid_dumpable = 0"
	switch v := settings[0]; v.value {
	case 0:
		return audit.Passed(v.String())
	case 2:
		pattern, err := m.corePattern()
		if err != nil {
			return audit.Unread("kernel.core_pattern", err)
		}
		if strings.HasPrefix(pattern, "|") || strings.HasPrefix(pattern, "/") {
			return audit.Passed(v.String() + ", dumps go to a safe place")
		}
		return audit.Warned(v.String()+" with a core_pattern that is relative", m.sysctlFix(fix), "sysctl: kernel.core_pattern = "+pattern)
	default:
		return audit.Failed(v.String(), m.sysctlFix(fix), "sysctl: "+v.String())
	}
}

// corePattern returns the setting; "" means that dumps go to a file named core.
func (m *machine) corePattern() (string, error) {
	raw, err := m.read("/proc/sys/kernel/core_pattern")
	return strings.TrimSpace(string(raw)), err
}

func corePattern(_ context.Context, m *machine) audit.Finding {
	pattern, err := m.corePattern()
	if hostfile.Missing(err) {
		return audit.NotApplicable("this kernel writes no core dumps")
	}
	if err != nil {
		return audit.Unread("kernel.core_pattern", err)
	}
	evidence := "sysctl: kernel.core_pattern = " + pattern
	program, piped := strings.CutPrefix(pattern, "|")
	switch {
	case piped:
		return m.coreProgram(program, evidence)
	case pattern == "" || strings.HasPrefix(pattern, "/"):
		return audit.Passed(evidence)
	default:
		return audit.Warned("Dumps are written to the folder of the program", m.sysctlFix("kernel.core_pattern = |/bin/false"), evidence)
	}
}

// coreProgram judges the program that the kernel runs as root for each dump
// (core(5)).
func (m *machine) coreProgram(command, evidence string) audit.Finding {
	words := strings.Fields(command)
	if len(words) == 0 || !strings.HasPrefix(words[0], "/") || strings.Contains(words[0], "%") { // what crashes chooses what stands for %
		return audit.Failed("The program that dumps go to is not named by its whole path", m.sysctlFix("kernel.core_pattern = |/bin/false"), evidence)
	}
	_, open, err := m.follow(words[0], m.byRoot)
	switch {
	case hostfile.Missing(err):
		return audit.Passed("Dumps go to a program that is not here, so they are lost")
	case err != nil:
		return audit.Unread("the program that dumps go to", err)
	case open != "":
		return audit.Failed("Users other than root can write, or put there, the program that the kernel runs for dumps", "Make the file and the folders above it root's alone: chown root, chmod go-w", evidence, open)
	default:
		return audit.Passed("Dumps go to a program")
	}
}

// lockedDown says whether the kernel protects itself from root.
func (m *machine) lockedDown() bool {
	level, err := posture.Lockdown(m.Root)
	return err == nil && (level == "integrity" || level == "confidentiality")
}

func kexec(ctx context.Context, m *machine) audit.Finding {
	if m.lockedDown() {
		return audit.Passed("Lockdown is in force: only signed kernels are loaded")
	}
	return sysctl{[]string{"kernel/kexec_load_disabled"}, atLeast(1), audit.Warn, "kernel.kexec_load_disabled = 1"}.run(ctx, m)
}

func modules(ctx context.Context, m *machine) audit.Finding {
	if m.lockedDown() {
		return audit.Passed("Lockdown is in force: only signed modules are loaded")
	}
	if text, err := m.text("/sys/module/module/parameters/sig_enforce"); err == nil && text == "Y" {
		return audit.Passed("Only signed modules are loaded")
	}
	f := sysctl{[]string{"kernel/modules_disabled"}, atLeast(1), audit.Warn, ""}.run(ctx, m)
	if f.Fix != "" { // in sysctl.d it would keep out modules that the boot needs
		f.Fix = "Boot with module.sig_enforce=1, or switch Secure Boot on; where no module is ever added: sudo sysctl kernel.modules_disabled=1 once the machine is up"
	}
	return f
}

// userNamespaces looks for a setting that keeps users from making one.
func userNamespaces(_ context.Context, m *machine) audit.Finding {
	clone, err := m.settings("kernel/unprivileged_userns_clone", "user/max_user_namespaces", "kernel/apparmor_restrict_unprivileged_userns")
	if err != nil {
		return audit.Unread("/proc/sys", err)
	}
	if len(clone) == 0 {
		return audit.NotApplicable("this kernel has no user namespaces")
	}
	var lines []string
	for _, s := range clone {
		restricts := s.value == 0
		if strings.HasPrefix(s.key, "kernel/apparmor") {
			restricts = s.value == 1
		}
		if restricts {
			return audit.Passed(s.String())
		}
		lines = append(lines, s.String())
	}
	return audit.Warned("Every user can make them", m.sysctlFix("user.max_user_namespaces = 0")+". Browsers and rootless containers stop working.", sysctlEvidence(lines)...)
}
