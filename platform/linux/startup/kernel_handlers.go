// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"path"
	"slices"
	"strings"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/startup"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/shellscript"
)

// kernelFiles hold programs that the kernel runs as root.
var kernelFiles = []struct {
	path, setting, when string
	builtIn             []string // what kernels have where nobody set anything
}{
	{"/proc/sys/kernel/core_pattern", "kernel.core_pattern", "crash", nil},                                                 // core(5)
	{"/proc/sys/kernel/modprobe", "kernel.modprobe", "module", []string{"/sbin/modprobe", "/usr/sbin/modprobe"}},           // proc_sys_kernel(5)
	{"/proc/sys/kernel/poweroff_cmd", "kernel.poweroff_cmd", "shutdown", []string{"/sbin/poweroff", "/usr/sbin/poweroff"}}, // sysctl/kernel.rst of the kernel
	{"/proc/sys/kernel/hotplug", "kernel.hotplug", "device", []string{"/sbin/hotplug"}},                                    // proc_sys_kernel(5); /sys/kernel/uevent_helper is the same
}

const (
	maxHandler  = 4096 // bytes of a file of the kernel
	binfmtPoint = "/proc/sys/fs/binfmt_misc"
)

// handlers finds what the running kernel would run by itself.
func (s *survey) handlers() {
	for _, k := range kernelFiles {
		value, ok := s.kernelText(k.path)
		if !ok || slices.Contains(k.builtIn, value) {
			continue
		}
		sh := shellscript.NewReader(len(value))
		if programs := handlerPrograms(k.setting, value, sh); len(programs) > 0 {
			e := startup.Entry{Kind: startup.KernelHandler, Name: path.Base(k.path), Content: value, When: k.when, User: "root", Enabled: new(true)}
			s.handler(k.path, e, isPlain(value), programs)
		}
		s.overlook(k.path, sh.Err())
	}
	s.binfmt()
}

// kernelText returns a setting of the kernel; nothing where there is none.
func (s *survey) kernelText(name string) (string, bool) {
	raw, err := hostfile.Head(s.path(name), maxHandler)
	if err != nil {
		if !hostfile.Missing(err) {
			s.miss(name, err)
		}
		return "", false
	}
	return strings.TrimSpace(string(raw)), true
}

// plainWord is an argument that says nothing of what is run: an option, what the kernel puts in
// place of "%p", or both. A bare letter may be a file: handlers run in "/".
var plainWord = lazyregexp.New(`^(?:--?[A-Za-z]?)?(?:%[A-Za-z%])?$`)

// isPlain reports whether a command says with its first word alone what is run.
func isPlain(command string) bool {
	words := strings.Fields(command)
	return len(words) > 0 && !slices.ContainsFunc(words[1:], func(w string) bool { return !plainWord.Get().MatchString(w) })
}

// handler adds an entry of a file that the kernel makes up, which no package owns. Where the program
// alone says what is run, the entry is of the package that the program is of.
func (s *survey) handler(file string, e startup.Entry, plain bool, programs []string) {
	e.File = file
	added := &entry{Entry: e, place: file}
	for _, name := range programs {
		added.Programs = append(added.Programs, startup.Program{Path: name})
	}
	if real, err := s.resolve(programs[0]); plain && len(programs) == 1 && path.IsAbs(programs[0]) && err == nil {
		added.source = real
	}
	s.take(added)
}

// binfmt finds the interpreters of formats of programs that the running kernel knows
// (admin-guide/binfmt-misc.rst of the kernel). Where the file system is not mounted, looking into the
// directory would mount it.
func (s *survey) binfmt() {
	table, err := mounts.New(s.Root).Table()
	if err != nil && !hostfile.Missing(err) {
		s.miss(binfmtPoint, err)
	}
	if on, _ := mounts.At(table, binfmtPoint); on == nil || on.FSType != "binfmt_misc" {
		return
	}
	for _, name := range s.names(binfmtPoint) {
		file := binfmtPoint + "/" + name
		text, ok := "", false
		if name != "register" && name != "status" {
			text, ok = s.kernelText(file)
		}
		if !ok {
			continue
		}
		state, rest, _ := strings.Cut(text, "\n")
		e := startup.Entry{Kind: startup.KernelHandler, Name: name, Content: text, When: "program of a format", Enabled: new(state == "enabled")}
		for line := range strings.Lines(rest) {
			if interpreter, ok := strings.CutPrefix(strings.TrimSpace(line), "interpreter "); ok {
				s.handler(file, e, true, []string{interpreter})
			}
		}
	}
}
