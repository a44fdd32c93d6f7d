// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"bytes"
	"path"
	"strings"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/startup"
	"sentinel/platform/unix/shellscript"
)

// A scriptDir is a directory whose programs are all started.
type scriptDir struct {
	kind    startup.Kind
	path    string
	when    string
	suffix  string // of those that are; "" is any
	parts   bool   // by run-parts(8), which takes only some names
	sourced bool   // read by a shell, so that they need not be executable
}

var scriptDirs = []scriptDir{
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
	{kind: startup.BootScript, path: "/etc/local.d", when: "boot", suffix: ".start"},
	{kind: startup.Generator, path: "/etc/systemd/system-generators", when: "boot, reload"},
	{kind: startup.Generator, path: "/run/systemd/system-generators", when: "boot, reload"},
	{kind: startup.Generator, path: "/usr/local/lib/systemd/system-generators", when: "boot, reload"},
	{kind: startup.Generator, path: "/usr/lib/systemd/system-generators", when: "boot, reload"},
	{kind: startup.Generator, path: "/lib/systemd/system-generators", when: "boot, reload"},
	{kind: startup.Generator, path: "/etc/systemd/user-generators", when: "login"},
	{kind: startup.Generator, path: "/usr/local/lib/systemd/user-generators", when: "login"},
	{kind: startup.Generator, path: "/usr/lib/systemd/user-generators", when: "login"},
	{kind: startup.Generator, path: "/etc/systemd/system-environment-generators", when: "boot"},
	{kind: startup.Generator, path: "/usr/lib/systemd/system-environment-generators", when: "boot"},
	{kind: startup.Generator, path: "/etc/systemd/user-environment-generators", when: "login"},
	{kind: startup.Generator, path: "/usr/lib/systemd/user-environment-generators", when: "login"},
	{kind: startup.LoginScript, path: "/etc/update-motd.d", when: "login", parts: true},
	{kind: startup.LoginScript, path: "/etc/X11/Xsession.d", when: "graphical login", sourced: true},
	{kind: startup.LoginScript, path: "/etc/X11/xinit/xinitrc.d", when: "graphical login"},
	{kind: startup.NetworkScript, path: "/etc/network/if-pre-up.d", when: "network", parts: true},
	{kind: startup.NetworkScript, path: "/etc/network/if-up.d", when: "network", parts: true},
	{kind: startup.NetworkScript, path: "/etc/network/if-down.d", when: "network", parts: true},
	{kind: startup.NetworkScript, path: "/etc/network/if-post-down.d", when: "network", parts: true},
	{kind: startup.NetworkScript, path: "/etc/NetworkManager/dispatcher.d", when: "network"},
	{kind: startup.NetworkScript, path: "/usr/lib/NetworkManager/dispatcher.d", when: "network"},
	{kind: startup.NetworkScript, path: "/etc/networkd-dispatcher/routable.d", when: "network"},
	{kind: startup.NetworkScript, path: "/etc/dhcp/dhclient-enter-hooks.d", when: "network", sourced: true},
	{kind: startup.NetworkScript, path: "/etc/dhcp/dhclient-exit-hooks.d", when: "network", sourced: true},
	{kind: startup.NetworkScript, path: "/etc/ppp/ip-up.d", when: "network", parts: true},
	{kind: startup.SleepScript, path: "/etc/systemd/system-sleep", when: "sleep"},
	{kind: startup.SleepScript, path: "/usr/lib/systemd/system-sleep", when: "sleep"},
	{kind: startup.SleepScript, path: "/etc/systemd/system-shutdown", when: "shutdown"},
	{kind: startup.SleepScript, path: "/usr/lib/systemd/system-shutdown", when: "shutdown"},
	{kind: startup.SleepScript, path: "/etc/pm/sleep.d", when: "sleep"},
	{kind: startup.ShellStart, path: "/etc/profile.d", when: "login", sourced: true},
	{kind: startup.ShellStart, path: "/etc/fish/conf.d", when: "shell", suffix: ".fish", sourced: true},
	{kind: startup.ShellStart, path: "/etc/bash/bashrc.d", when: "shell", sourced: true}, // of Gentoo and Alpine
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
	for _, name := range []string{"/etc/rc.local", "/etc/rc.d/rc.local", "/etc/boot.d/rc.local", "/etc/init.d/boot.local"} {
		if real, names := path.Dir(name), s.names(path.Dir(name)); len(names) > 0 {
			s.single(seen, scriptDir{kind: startup.BootScript, when: "boot"}, path.Join(real, path.Base(name)))
		}
	}
}

// single adds a script that other names may lead to as well.
func (s *survey) single(seen map[string]bool, d scriptDir, name string) {
	real, err := s.resolve(name)
	if err != nil || seen[real] {
		return
	}
	seen[real] = true
	s.script(d, real)
}

func (s *survey) script(d scriptDir, name string) {
	f, ok := s.open(name)
	if !ok {
		return
	}
	enabled := (d.sourced || f.meta.Mode&0o111 != 0) && (!d.parts || !s.debian() || runParts.Get().MatchString(path.Base(name)))
	s.add(f, startup.Entry{Kind: d.kind, Name: path.Base(name), When: d.when, User: userOf(d), Enabled: new(enabled)}, scriptPrograms(f.raw)...)
}

// userOf is as whom the scripts of a directory run: what shells read, as whoever starts one.
func userOf(d scriptDir) string {
	if d.kind == startup.ShellStart || d.when == "graphical login" || strings.Contains(d.path, "/user-") {
		return ""
	}
	return "root"
}

// scriptPrograms returns the programs of a script of a shell; nothing for any other program.
func scriptPrograms(raw []byte) []string {
	first, _, _ := bytes.Cut(raw[:min(len(raw), 200)], []byte("\n"))
	if bytes.IndexByte(raw, 0) >= 0 || bytes.HasPrefix(first, []byte("#!")) && !shebang.Get().Match(first) {
		return nil
	}
	return shellscript.Programs(string(raw))
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
	s.add(f, startup.Entry{Kind: startup.InitService, Name: name, When: "boot", User: "root", Enabled: new(!s.hasUnit(name))}, scriptPrograms(f.raw)...)
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
				s.add(f, startup.Entry{Kind: startup.InitService, Name: name, When: "runlevel " + level, User: "root", Enabled: new(true)}, openrcPrograms(f.raw)...)
			}
		}
	}
}

var openrcCommand = lazyregexp.New(`(?m)^\s*command=["']?(/[^"'\s]+)`)

// openrcPrograms returns the program of a service of OpenRC; its functions run little else.
func openrcPrograms(raw []byte) []string {
	if match := openrcCommand.Get().FindSubmatch(raw); match != nil {
		return []string{string(match[1])}
	}
	return scriptPrograms(raw)
}

// runit finds services that are linked into the directory that runsvdir(8) watches.
func (s *survey) runit() {
	seen := map[string]bool{}
	for _, directory := range []string{"/etc/service", "/var/service", "/service", "/etc/runit/runsvdir/default"} {
		real, names := s.once(seen, directory)
		for _, name := range names {
			f, ok := s.open(path.Join(real, name, "run"))
			if ok {
				s.add(f, startup.Entry{Kind: startup.InitService, Name: name, When: "boot", User: "root", Enabled: new(true)}, scriptPrograms(f.raw)...)
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
		s.add(f, e, shellscript.Programs(strings.TrimPrefix(words[3], "+"))...)
	}
}
