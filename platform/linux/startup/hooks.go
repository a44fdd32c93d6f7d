// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"sentinel/internal/startup"
	"sentinel/platform/unix/shellscript"
)

// A hookFile is where settings name programs for somebody else to run.
type hookFile struct {
	kind   startup.Kind
	when   string
	user   string   // as whom they run; "" if that is not said
	paths  []string // files, and directories with a slash at the end
	suffix string   // of the files in the directories that are read; "" is any
	read   func(text string, sh *shellscript.Reader) []hook
}

// A hook is a setting, or a whole file, that has programs run.
type hook struct {
	name     string // of the setting; "" for the whole file
	line     int
	content  string // tells it from others of the file, and whether it changed; "" for the whole file
	programs []string
}

var hookFiles = []hookFile{
	{startup.PackageHook, "package", "root", []string{"/etc/apt/apt.conf.d/", aptMain}, "", aptHooks},                                                        // apt.conf(5), which reads the main file last
	{startup.PackageHook, "package", "root", []string{"/etc/dpkg/dpkg.cfg", "/etc/dpkg/dpkg.cfg.d/"}, "", dpkgHooks},                                         // dpkg(1)
	{startup.PackageHook, "package", "root", []string{"/etc/pacman.d/hooks/", "/usr/share/libalpm/hooks/"}, ".hook", execHook},                               // alpm-hooks(5)
	{startup.PackageHook, "package", "root", []string{"/etc/dnf/libdnf5-plugins/actions.d/"}, ".actions", actionHooks},                                       // libdnf5-actions(8)
	{startup.LogScript, "log rotation", "", []string{"/etc/logrotate.conf", "/etc/logrotate.d/"}, "", logrotateScripts},                                      // logrotate.conf(5)
	{startup.KernelHandler, "boot", "root", below("/sysctl.d/", "/etc/sysctl.conf"), ".conf", sysctlHandlers},                                                // sysctl.d(5), core(5)
	{startup.KernelHandler, "program of a format", "", below("/binfmt.d/"), ".conf", binfmtRules},                                                            // binfmt.d(5)
	{startup.KernelHandler, "key", "root", []string{"/etc/request-key.conf", "/etc/request-key.d/"}, ".conf", keyHandlers},                                   // request-key.conf(5)
	{startup.FileRule, "boot", "root", below("/tmpfiles.d/"), ".conf", fileRules(systemSpecifiers)},                                                          // tmpfiles.d(5)
	{startup.FileRule, "login", "", []string{"/usr/share/user-tmpfiles.d/", "/usr/local/share/user-tmpfiles.d/"}, ".conf", fileRules(commonSpecifiers)},      // tmpfiles.d(5)
	{startup.SudoPlugin, "sudo", "root", []string{"/etc/sudo.conf"}, "", sudoPlugins},                                                                        // sudo.conf(5)
	{startup.SleepScript, "power button, lid", "root", []string{"/etc/acpi/events/"}, "", acpiActions},                                                       // acpid(8)
	{startup.DropIn, "every service", "", below("/systemd/system.conf.d/", "/etc/systemd/system.conf"), ".conf", managerEnvironment},                         // systemd-system.conf(5)
	{startup.DropIn, "every service of users", "", below("/systemd/user.conf.d/", "/etc/systemd/user.conf"), ".conf", managerEnvironment},                    // systemd-system.conf(5)
	{startup.Socket, "network", "", []string{"/etc/inetd.conf", "/etc/inetd.d/"}, "", inetdServices},                                                         // inetd(8)
	{startup.Socket, "network", "", []string{"/etc/xinetd.conf", "/etc/xinetd.d/"}, "", xinetdServices},                                                      // xinetd.conf(5)
	{startup.MailProgram, "mail", "", []string{"/etc/aliases", "/etc/mail/aliases", "/etc/postfix/aliases"}, "", mailPrograms},                               // aliases(5)
	{startup.NetworkScript, "network", "root", []string{networkInterfaces}, "", interfaceCommands},                                                           // interfaces(5)
	{startup.ShellStart, "login", "", below("/environment.d/"), ".conf", variables},                                                                          // environment.d(5)
	{startup.ShellStart, "login", "", []string{"/etc/security/pam_env.conf"}, "", pamVariables},                                                              // pam_env.conf(5)
	{startup.LoginScript, "graphical login", "", []string{"/etc/xdg/plasma-workspace/env/", "/usr/share/plasma-workspace/env/"}, "", wholeScript},            // startplasma of KDE
	{startup.LoginScript, "graphical logout", "", []string{"/etc/xdg/plasma-workspace/shutdown/", "/usr/share/plasma-workspace/shutdown/"}, "", wholeScript}, // startplasma of KDE
}

// below are the directories of a name where systemd and its like look for settings, first what
// counts (systemd.unit(5) and the pages of each), with other places behind them.
func below(name string, others ...string) []string {
	var list []string
	for _, directory := range []string{"/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"} {
		list = append(list, directory+name)
	}
	return append(list, others...)
}

// hooks finds programs that settings name.
func (s *survey) hooks() {
	for _, h := range hookFiles {
		seen := map[string]bool{}
		for _, place := range h.paths {
			switch directory, ok := strings.CutSuffix(place, "/"); {
			case place == aptMain:
				s.aptMains(h, seen)
			case ok:
				s.hooksIn(h, directory, seen)
			default:
				s.hooksOf(h, place, seen)
			}
		}
	}
}

// aptMains reads the main file of apt where the settings that were read say that it is.
func (s *survey) aptMains(h hookFile, seen map[string]bool) {
	names, err := mainsOfApt(s.apt)
	if err != nil {
		s.miss(aptMain, err)
	}
	for _, name := range names {
		s.hooksOf(h, name, seen)
	}
}

func (s *survey) hooksIn(h hookFile, directory string, seen map[string]bool) {
	real, names := s.once(seen, directory)
	for _, name := range names {
		if strings.HasSuffix(name, h.suffix) {
			s.hooksOf(h, path.Join(real, name), seen)
		}
	}
}

// includes are the directives that have other files, or directories, read (logrotate.conf(5), xinetd.conf(5)).
var includes = []string{"include", "includedir"}

// included are the patterns of files and directories that a file has read beside it.
func (s *survey) included(h hookFile, name, text string) (patterns []string, err error) {
	switch {
	case slices.Contains(h.paths, aptMain):
		return aptIncluded(text, s.apt)
	case slices.Contains(h.paths, networkInterfaces):
		return interfacesIncluded(path.Dir(name), text)
	case h.kind == startup.LogScript, h.kind == startup.Socket:
		eachLine(text, func(_ int, line string, _ []string) {
			if words := logrotateWords(line); len(words) > 1 && slices.Contains(includes, words[0]) {
				patterns = append(patterns, words[1])
			}
		})
	}
	return patterns, nil
}

// hooksIncluded reads what a file includes.
func (s *survey) hooksIncluded(h hookFile, f file, seen map[string]bool) {
	patterns, err := s.included(h, f.name, s.text(f))
	for _, pattern := range patterns {
		names, unread := s.matches(pattern)
		err = cmp.Or(err, unread)
		for _, name := range names {
			switch {
			case len(seen) > maxNames:
				s.miss(name, startup.ErrTooMany)
			case s.isDirectory(name):
				s.hooksIn(h, name, seen)
			default:
				s.hooksOf(h, name, seen)
			}
		}
	}
	if err != nil {
		s.miss(f.name, err)
	}
}

func (s *survey) hooksOf(h hookFile, name string, seen map[string]bool) {
	if s.isDirectory(name) {
		return
	}
	f, ok := s.open(name)
	if !ok || seen[f.name] {
		return
	}
	seen[f.name] = true
	s.hooksIncluded(h, f, seen)
	for _, one := range h.read(s.text(f), s.shell(f)) {
		if one.content == "" && slices.ContainsFunc(s.entries, func(e *entry) bool { return e.File == f.name && e.Kind == h.kind }) {
			continue // found by another name, as /etc/environment is
		}
		s.add(f, h.entry(f.name, one), one.programs...)
	}
}

// entry is a hook as it is told.
func (h hookFile) entry(file string, one hook) startup.Entry {
	name := path.Base(file)
	if one.name != "" {
		name += ": " + one.name
	}
	return startup.Entry{Kind: h.kind, Name: name, Line: one.line, Identity: one.content, Content: one.content, When: h.when, User: h.user, Enabled: new(h.kind == startup.NetworkScript || !isLeftover(path.Base(file)))}
}

// isLeftover reports whether a name is one that editors and package managers leave, which programs
// that read a directory pass over.
func isLeftover(name string) bool {
	return strings.HasPrefix(name, ".") || slices.ContainsFunc([]string{
		"~", ".rpmsave", ".rpmorig", ".rpmnew", ".cron.hostname", ".dpkg-dist", ".dpkg-old", ".dpkg-new", ".dpkg-bak", ".ucf-dist", ".ucf-old", ".pacnew", ".pacsave", ".bak", ".orig", ".disabled", ".swp",
	}, func(end string) bool { return strings.HasSuffix(name, end) })
}
