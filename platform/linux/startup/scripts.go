// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/startup"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/shellscript"
)

// A scriptDir is a directory whose programs are all started.
type scriptDir struct {
	kind    startup.Kind
	path    string
	when    string
	suffix  string // of those that are; "" is any
	parts   bool   // by run-parts(8), which takes only some names
	lsb     bool   // those that it takes with --lsbsysinit
	sourced bool   // read by a shell, so that they need not be executable
}

var scriptDirs = slices.Concat(
	[]scriptDir{ // run-parts(8); of Alpine
		{kind: startup.CronScript, path: "/etc/cron.hourly", when: "hourly", parts: true},
		{kind: startup.CronScript, path: "/etc/cron.daily", when: "daily", parts: true},
		{kind: startup.CronScript, path: "/etc/cron.weekly", when: "weekly", parts: true},
		{kind: startup.CronScript, path: "/etc/cron.monthly", when: "monthly", parts: true},
		{kind: startup.CronScript, path: "/etc/cron.yearly", when: "yearly", parts: true},
		{kind: startup.CronScript, path: "/etc/periodic/15min", when: "every 15 minutes", parts: true},
		{kind: startup.CronScript, path: "/etc/periodic/hourly", when: "hourly", parts: true},
		{kind: startup.CronScript, path: "/etc/periodic/daily", when: "daily", parts: true},
		{kind: startup.CronScript, path: "/etc/periodic/weekly", when: "weekly", parts: true},
		{kind: startup.CronScript, path: "/etc/periodic/monthly", when: "monthly", parts: true},
	},
	within(scriptDir{kind: startup.BootScript, path: "/etc", when: "boot", suffix: ".start"}, "local.d"),                // OpenRC's service local
	within(scriptDir{kind: startup.BootScript, path: "/etc/initramfs-tools/scripts", when: "boot"}, initramfsStages...), // initramfs-tools(7)
	within(scriptDir{kind: startup.BootScript, path: "/usr/share/initramfs-tools/scripts", when: "boot"}, initramfsStages...),
	eachRoot(scriptDir{kind: startup.Generator, path: "/systemd/system-generators", when: "boot, reload"}),                           // systemd.generator(7)
	eachRoot(scriptDir{kind: startup.Generator, path: "/systemd/user-generators", when: "login"}),                                    // systemd.generator(7)
	eachRoot(scriptDir{kind: startup.Generator, path: "/systemd/system-environment-generators", when: "boot"}),                       // systemd.environment-generator(7)
	eachRoot(scriptDir{kind: startup.Generator, path: "/systemd/user-environment-generators", when: "login"}),                        // systemd.environment-generator(7)
	within(scriptDir{kind: startup.LoginScript, path: "/etc", when: "login", parts: true, lsb: true}, "update-motd.d"),               // update-motd(5), pam_motd(8) of Debian
	within(scriptDir{kind: startup.LoginScript, path: "/etc/X11", when: "graphical login", sourced: true}, "Xsession.d", "Xreset.d"), // Xsession(5)
	within(scriptDir{kind: startup.LoginScript, path: "/etc/X11/xinit", when: "graphical login"}, "xinitrc.d"),                       // xinit(1)
	within(scriptDir{kind: startup.LoginScript, path: "/etc/gdm3", when: "graphical login"}, displayStages...),                       // documentation of GDM
	within(scriptDir{kind: startup.LoginScript, path: "/etc/gdm", when: "graphical login"}, displayStages...),
	within(scriptDir{kind: startup.NetworkScript, path: "/etc/network", when: "network", parts: true}, "if-pre-up.d", "if-up.d", "if-down.d", "if-post-down.d"), // interfaces(5)
	within(scriptDir{kind: startup.NetworkScript, path: "/etc/NetworkManager", when: "network"}, dispatcherDirs...),                                             // NetworkManager-dispatcher(8)
	within(scriptDir{kind: startup.NetworkScript, path: "/usr/lib/NetworkManager", when: "network"}, dispatcherDirs...),
	within(scriptDir{kind: startup.NetworkScript, path: "/etc/networkd-dispatcher", when: "network"}, linkStates...), // networkd-dispatcher(8)
	within(scriptDir{kind: startup.NetworkScript, path: "/usr/lib/networkd-dispatcher", when: "network"}, linkStates...),
	within(scriptDir{kind: startup.NetworkScript, path: "/etc/dhcp", when: "network", sourced: true}, "dhclient-enter-hooks.d", "dhclient-exit-hooks.d", "dhclient.d"),      // dhclient-script(8)
	within(scriptDir{kind: startup.NetworkScript, when: "network", sourced: true}, "/lib/dhcpcd/dhcpcd-hooks", "/usr/lib/dhcpcd/dhcpcd-hooks", "/usr/libexec/dhcpcd-hooks"), // dhcpcd-run-hooks(8)
	within(scriptDir{kind: startup.NetworkScript, path: "/etc/ppp", when: "network", parts: true}, "ip-pre-up.d", "ip-up.d", "ip-down.d", "ipv6-up.d", "ipv6-down.d"),       // pppd(8)
	within(scriptDir{kind: startup.NetworkScript, path: "/etc/resolvconf", when: "network", parts: true}, "update.d", "update-libc.d"),                                      // resolvconf(8)
	within(scriptDir{kind: startup.NetworkScript, path: "/etc/ifplugd", when: "network", parts: true}, "action.d"),                                                          // ifplugd(8)
	within(scriptDir{kind: startup.NetworkScript, path: "/etc/libvirt", when: "virtual machine"}, "hooks"),                                                                  // libvirt.org/hooks.html
	within(scriptDir{kind: startup.SleepScript, path: "/etc/systemd", when: "sleep"}, "system-sleep"),                                                                       // systemd-sleep(8)
	within(scriptDir{kind: startup.SleepScript, path: "/usr/lib/systemd", when: "sleep"}, "system-sleep"),
	within(scriptDir{kind: startup.SleepScript, path: "/etc/systemd", when: "shutdown"}, "system-shutdown"), // systemd-shutdown(8)
	within(scriptDir{kind: startup.SleepScript, path: "/usr/lib/systemd", when: "shutdown"}, "system-shutdown"),
	within(scriptDir{kind: startup.SleepScript, when: "sleep"}, "/etc/elogind/system-sleep", "/usr/lib/elogind/system-sleep", "/lib/elogind/system-sleep"),                                           // elogind(8)
	within(scriptDir{kind: startup.SleepScript, when: "sleep"}, "/etc/pm/sleep.d", "/etc/pm/power.d", "/usr/lib/pm-utils/sleep.d"),                                                                   // pm-action(8)
	within(scriptDir{kind: startup.PackageHook, path: "/etc/kernel", when: "kernel package", parts: true}, "preinst.d", "postinst.d", "prerm.d", "postrm.d", "header_postinst.d", "header_postrm.d"), // kernel-img.conf(5), deb-postinst of kernels
	within(scriptDir{kind: startup.PackageHook, when: "kernel package", suffix: ".install"}, "/etc/kernel/install.d", "/usr/lib/kernel/install.d"),                                                   // kernel-install(8)
	within(scriptDir{kind: startup.PackageHook, path: "/etc", when: "kernel package"}, "grub.d"),                                                                                                     // grub-mkconfig(8)
	within(scriptDir{kind: startup.PackageHook, when: "kernel package"}, "/etc/initramfs-tools/hooks", "/usr/share/initramfs-tools/hooks"),                                                           // initramfs-tools(7)
	within(scriptDir{kind: startup.PackageHook, when: "kernel package", suffix: ".conf", sourced: true}, "/etc/dracut.conf.d", "/usr/lib/dracut/dracut.conf.d"),                                      // dracut.conf(5)
	within(scriptDir{kind: startup.PackageHook, when: "package"}, "/etc/needrestart/hook.d", "/etc/needrestart/notify.d", "/etc/needrestart/restart.d"),                                              // needrestart(1)
	within(scriptDir{kind: startup.PackageHook, when: "package"}, "/etc/apk/commit_hooks.d", "/usr/lib/zypp/plugins/commit"),                                                                         // apk-commit_hooks(5), libzypp
	within(scriptDir{kind: startup.ShellStart, path: "/etc", when: "login", sourced: true}, "profile.d"),                                                                                             // profile of distributions
	within(scriptDir{kind: startup.ShellStart, when: "shell", suffix: ".fish", sourced: true}, "/etc/fish/conf.d", "/usr/share/fish/vendor_conf.d"),                                                  // fish(1)
	within(scriptDir{kind: startup.ShellStart, when: "shell", sourced: true}, "/etc/bash/bashrc.d", "/etc/bash_completion.d"),                                                                        // bashrc of Gentoo and Alpine; bash_completion
)

// The names of directories that stand side by side.
var (
	initramfsStages = []string{"init-top", "init-premount", "local-top", "local-block", "local-premount", "local-bottom", "nfs-top", "nfs-premount", "nfs-bottom", "init-bottom", "panic"}
	displayStages   = []string{"Init", "PostLogin", "PreSession", "PostSession"}
	dispatcherDirs  = []string{"dispatcher.d", "dispatcher.d/pre-up.d", "dispatcher.d/pre-down.d", "dispatcher.d/no-wait.d"}
	linkStates      = []string{"routable.d", "dormant.d", "no-carrier.d", "off.d", "carrier.d", "degraded.d", "configuring.d", "configured.d", "initialized.d"}
)

// singleScripts are files that are run, or read by a script of root, where they exist.
var singleScripts = []scriptDir{
	{kind: startup.BootScript, path: "/etc/rc.local", when: "boot"},                                  // systemd-rc-local-generator(8)
	{kind: startup.BootScript, path: "/etc/rc.d/rc.local", when: "boot"},                             // of Red Hat
	{kind: startup.BootScript, path: "/etc/boot.d/rc.local", when: "boot"},                           // of SUSE
	{kind: startup.BootScript, path: "/etc/init.d/boot.local", when: "boot"},                         // of SUSE
	{kind: startup.BootScript, path: "/etc/initscript", when: "boot"},                                // initscript(5)
	{kind: startup.LoginScript, path: "/etc/security/namespace.init", when: "login"},                 // namespace.conf(5)
	{kind: startup.NetworkScript, path: "/etc/dhclient-enter-hooks", when: "network", sourced: true}, // dhclient-script(8)
	{kind: startup.NetworkScript, path: "/etc/dhclient-exit-hooks", when: "network", sourced: true},  // dhclient-script(8)
	{kind: startup.NetworkScript, path: "/etc/dhcpcd.enter-hook", when: "network", sourced: true},    // dhcpcd-run-hooks(8)
	{kind: startup.NetworkScript, path: "/etc/dhcpcd.exit-hook", when: "network", sourced: true},     // dhcpcd-run-hooks(8)
	{kind: startup.NetworkScript, path: "/etc/ppp/ip-up", when: "network"},                           // pppd(8)
	{kind: startup.NetworkScript, path: "/etc/ppp/ip-down", when: "network"},                         // pppd(8)
	{kind: startup.PackageHook, path: "/etc/dracut.conf", when: "kernel package", sourced: true},     // dracut.conf(5)
}

// within is one entry of the table for each name in the directory of d, or for each absolute one
// where d has none.
func within(d scriptDir, names ...string) []scriptDir {
	var list []scriptDir
	for _, name := range names {
		one := d
		one.path = path.Join(d.path, name)
		list = append(list, one)
	}
	return list
}

// eachRoot is one entry of the table for each directory where systemd looks.
func eachRoot(d scriptDir) []scriptDir {
	return within(scriptDir{kind: d.kind, when: d.when}, below(d.path)...)
}

// scripts finds the programs in directories that are run whole, and the script of the boot.
func (s *survey) scripts() {
	seen := map[string]bool{}
	for _, d := range scriptDirs {
		real, names := s.once(seen, d.path)
		for _, name := range names {
			if strings.HasSuffix(name, d.suffix) && name != "README" && name != ".placeholder" {
				s.script(d, path.Join(real, name))
			}
		}
	}
	for _, d := range singleScripts {
		s.single(seen, d, d.path)
	}
}

// single adds a script that other names may lead to as well.
func (s *survey) single(seen map[string]bool, d scriptDir, name string) {
	real, err := s.resolve(name)
	if err != nil && !hostfile.Missing(err) {
		s.miss(name, err)
	}
	if err != nil || seen[real] {
		return
	}
	seen[real] = true
	s.script(d, real)
}

func (s *survey) script(d scriptDir, name string) {
	if s.isDirectory(name) {
		return
	}
	f, ok := s.open(name)
	if !ok {
		return
	}
	enabled := (d.sourced || f.meta.Mode&0o111 != 0) && (!d.parts || !s.debian() || isRunPart(path.Base(name), d.lsb))
	programs := scriptPrograms
	if d.sourced {
		programs = sourcedPrograms
	}
	s.add(f, startup.Entry{Kind: d.kind, Name: path.Base(name), When: d.when, User: userOf(d), Enabled: new(enabled)}, programs(f.raw, s.shell(f))...)
}

// userOf is as whom the scripts of a directory run: what shells read, as whoever starts one.
func userOf(d scriptDir) string {
	if d.kind == startup.ShellStart || d.when == "graphical login" || strings.Contains(d.path, "/user-") {
		return ""
	}
	return "root"
}

// scriptPrograms returns the programs of a script of a shell; nothing for any other program.
func scriptPrograms(raw []byte, sh *shellscript.Reader) []string {
	first, _, _ := bytes.Cut(raw[:min(len(raw), 200)], []byte("\n"))
	if bytes.IndexByte(first, 0) >= 0 || bytes.HasPrefix(first, []byte("#!")) && !shebang.Get().Match(first) {
		return nil
	}
	return sourcedPrograms(raw, sh)
}

// sourcedPrograms returns the programs of a file that a shell reads, to which the program that its first line
// names is a comment, and a NUL byte nothing.
func sourcedPrograms(raw []byte, sh *shellscript.Reader) []string {
	return sh.Programs(strings.ReplaceAll(string(raw), "\x00", ""))
}

var shebang = lazyregexp.New(`^#!.*\b(?:ba|da|a|k|mk|z)?sh\b|^#!.*openrc-run`)

// services finds what other managers than systemd start at boot.
func (s *survey) services() {
	s.sysv()
	s.openrc()
	s.runit()
	s.inittab()
}

var rcLink = lazyregexp.New(`^S\d\d(.+)$`)

// sysv finds scripts with a link for a runlevel in which the system runs. systemd passes over one
// with a unit of the same name (systemd-sysv-generator(8)).
func (s *survey) sysv() {
	seen := map[string]bool{}
	for _, level := range []string{"S", "2", "3", "4", "5"} {
		for _, directory := range []string{"/etc/rc" + level + ".d", "/etc/rc.d/rc" + level + ".d"} {
			for _, link := range s.names(directory) {
				if match := rcLink.Get().FindStringSubmatch(link); match != nil {
					s.initScript(seen, path.Join(directory, link), match[1])
				}
			}
		}
	}
}

func (s *survey) initScript(seen map[string]bool, link, name string) {
	real, err := s.resolve(link)
	if err != nil || seen[real] {
		return
	}
	seen[real] = true
	f, ok := s.open(real)
	if !ok {
		return
	}
	s.add(f, startup.Entry{Kind: startup.InitService, Name: name, When: "boot", User: "root", Enabled: new(!s.hasUnit(name))}, scriptPrograms(f.raw, s.shell(f))...)
}

func (s *survey) hasUnit(name string) bool {
	for _, directory := range []string{"/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"} {
		if real, err := s.resolve(directory + strings.TrimSuffix(name, ".sh") + ".service"); err == nil && real != "" {
			return true
		}
	}
	return false
}

// openrc finds the scripts in a runlevel (rc-update(8)).
func (s *survey) openrc() {
	seen := map[string]bool{}
	for _, level := range s.names("/etc/runlevels") {
		for _, name := range s.names("/etc/runlevels/" + level) {
			real, err := s.resolve("/etc/runlevels/" + level + "/" + name)
			if err != nil || seen[real] {
				continue
			}
			seen[real] = true
			if f, ok := s.open(real); ok {
				s.add(f, startup.Entry{Kind: startup.InitService, Name: name, When: "runlevel " + level, User: "root", Enabled: new(true)}, openrcPrograms(f.raw, s.shell(f))...)
			}
		}
	}
}

var openrcCommand = lazyregexp.New(`(?m)^\s*command=["']?(/[^\x00"'\s]+)`)

// openrcPrograms returns the program of a service of OpenRC, and what its functions run besides those of OpenRC.
func openrcPrograms(raw []byte, sh *shellscript.Reader) []string {
	programs := scriptPrograms(raw, sh)
	if match := openrcCommand.Get().FindSubmatch(raw); match != nil {
		programs = slices.DeleteFunc(programs, func(name string) bool { return !strings.Contains(name, "/") })
		return shellscript.Once(append([]string{string(match[1])}, programs...))
	}
	return programs
}

// runit finds services that are linked into the directory that runsvdir(8) watches.
func (s *survey) runit() {
	seen := map[string]bool{}
	for _, directory := range []string{"/etc/service", "/var/service", "/service", "/etc/runit/runsvdir/default"} {
		real, names := s.once(seen, directory)
		for _, name := range names {
			f, ok := s.open(path.Join(real, name, "run"))
			if ok {
				s.add(f, startup.Entry{Kind: startup.InitService, Name: name, When: "boot", User: "root", Enabled: new(true)}, scriptPrograms(f.raw, s.shell(f))...)
			}
		}
	}
}

// inittab finds what init starts (inittab(5)): "id:levels:action:process".
func (s *survey) inittab() {
	f, ok := s.open("/etc/inittab")
	if !ok {
		return
	}
	number := 0
	for line := range strings.Lines(s.text(f)) {
		number++
		words := strings.SplitN(strings.TrimSpace(line), ":", 4)
		if len(words) < 4 || strings.HasPrefix(words[0], "#") || words[2] == "off" || words[3] == "" {
			continue
		}
		e := startup.Entry{Kind: startup.InitService, Name: "inittab: " + words[2], Line: number, Identity: strings.TrimSpace(line), Content: line, When: words[2], User: "root", Enabled: new(true)}
		s.add(f, e, s.shell(f).Programs(strings.TrimPrefix(words[3], "+"))...)
	}
}
