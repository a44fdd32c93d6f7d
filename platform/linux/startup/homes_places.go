// SPDX-License-Identifier: Apache-2.0

package startup

import "sentinel/internal/startup"

// shellFiles are what shells read for everybody.
var shellFiles = []string{
	"/etc/profile", "/etc/bash.bashrc", "/etc/bashrc", "/etc/bash.bash_logout", "/etc/environment", "/etc/zshenv", "/etc/zprofile", "/etc/zshrc", "/etc/zlogin",
	"/etc/zlogout",
	"/etc/zsh/zshenv", "/etc/zsh/zprofile", "/etc/zsh/zshrc", "/etc/zsh/zlogin", "/etc/zsh/zlogout", "/etc/fish/config.fish", "/etc/csh.cshrc", "/etc/csh.login", "/etc/csh.logout", "/etc/profile.local", "/etc/bash.bashrc.local", "/etc/ksh.kshrc", "/etc/bash/bashrc", "/etc/ssh/sshrc",
}

// homeFiles are what shells and sessions read for one user.
var homeFiles = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", // bash(1)
	".bash_aliases", ".bash_completion", ".config/bash_completion", // .bashrc of Debian, bash_completion
	".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout", // zsh(1)
	".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", // ksh(1), mksh(1), tcsh(1)
	".config/fish/config.fish",                                                                                           // fish(1)
	".pam_environment",                                                                                                   // pam_env.conf(5)
	".xprofile", ".xsession", ".Xsession", ".xsessionrc", ".xinputrc", ".xinitrc", ".xserverrc", ".Xclients", ".gnomerc", // Xsession(5), xinit(1)
	".ssh/rc", ".ssh/environment", // sshd(8)
	".i18n", // lang.sh of Fedora
}

// environmentDir has assignments that the service manager of a user reads, and no shell.
const environmentDir = ".config/environment.d"

// A homeDir is a directory of a user from whose files something starts.
type homeDir struct {
	path   string // below the home
	suffix string // of the files that count; "" is any
	kind   startup.Kind
	when   string
}

var homeDirs = []homeDir{
	{".config/autostart", ".desktop", startup.Autostart, "graphical login"},                                      // Desktop Application Autostart Specification
	{".local/share/dbus-1/services", ".service", startup.DBusService, "a call on the bus"},                       // dbus-daemon(1)
	{".local/share/flatpak/exports/share/dbus-1/services", ".service", startup.DBusService, "a call on the bus"}, // flatpak(1)
	{".config/systemd", "user.conf", startup.DropIn, "every service of the user"},                                // systemd-system.conf(5)
	{".config/systemd/user.conf.d", ".conf", startup.DropIn, "every service of the user"},                        // systemd-system.conf(5)
	{".bashrc.d", "", startup.ShellStart, "shell"},                                                               // .bashrc of Fedora
	{".zshrc.d", "", startup.ShellStart, "shell"},                                                                // .zshrc of distributions
	{".local/share/bash-completion/completions", "", startup.ShellStart, "completion"},                           // bash_completion
	{".config/fish/functions", ".fish", startup.ShellStart, "shell"},                                             // fish(1)
	{".config/fish/completions", ".fish", startup.ShellStart, "completion"},                                      // fish(1)
	{".local/share/fish/vendor_functions.d", ".fish", startup.ShellStart, "shell"},                               // fish(1)
	{".local/share/fish/vendor_completions.d", ".fish", startup.ShellStart, "completion"},                        // fish(1)
	{".config/plasma-workspace/shutdown", "", startup.LoginScript, "graphical logout"},                           // startplasma of KDE
	{environmentDir, ".conf", startup.ShellStart, "login"},                                                       // environment.d(5)
	{".config/fish/conf.d", ".fish", startup.ShellStart, "shell"},                                                // fish(1)
	{".local/share/fish/vendor_conf.d", ".fish", startup.ShellStart, "shell"},                                    // fish(1)
	{".config/plasma-workspace/env", ".sh", startup.LoginScript, "graphical login"},                              // startplasma of KDE
	{".config/autostart-scripts", "", startup.LoginScript, "graphical login"},                                    // of KDE
	{".config/user-tmpfiles.d", ".conf", startup.FileRule, "login"},                                              // tmpfiles.d(5)
	{".local/share/user-tmpfiles.d", ".conf", startup.FileRule, "login"},                                         // tmpfiles.d(5)
	{".config/containers/systemd", "", startup.UserUnit, "login"},                                                // podman-systemd.unit(5)
	{".config/systemd/user.control", "", "", ""},                                                                 // systemd.unit(5), for this and the next two
	{".config/systemd/user", "", "", ""},
	{".local/share/systemd/user", "", "", ""},
	{".local/share/flatpak/exports/share/systemd/user", "", "", ""}, // flatpak(1)
}

// runtimeDirs are those below the runtime directory of a user (systemd.unit(5), tmpfiles.d(5), dbus-daemon(1)).
var runtimeDirs = []homeDir{
	{"systemd/user.control", "", "", ""},
	{"systemd/transient", "", "", ""},
	{"systemd/generator.early", "", "", ""},
	{"systemd/user", "", "", ""},
	{"systemd/generator", "", "", ""},
	{"systemd/generator.late", "", "", ""},
	{"user-tmpfiles.d", ".conf", startup.FileRule, "login"},
	{"dbus-1/services", ".service", startup.DBusService, "a call on the bus"},
}

// units reports whether the directory holds units of the service manager of the user.
func (d homeDir) units() bool { return d.kind == "" }
