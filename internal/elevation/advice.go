// SPDX-License-Identifier: Apache-2.0

package elevation

import (
	"os"
	"path/filepath"
	"strings"

	"sentinel/internal/installed"
)

// Fix says what lets the user run a tool as root without a password, which is all that a program
// can do: the first thing that is missing.
func (s Situation) Fix() string {
	switch {
	case s.Installed != "":
		return "Use the sentinel that root has installed, " + s.Installed + "; sentinel-mcp does so by itself, and is beside it."
	case s.Untrusted != nil:
		return s.machine.InstallFix()
	case s.NoSudo:
		return "There is no sudo on this machine. Become root first, as with su or by another login, or install sudo."
	case s.NoRules:
		return s.machine.RulesFix()
	case !s.Member:
		return s.JoinFix()
	case s.Stale:
		return "Log out and in again: the account " + s.name() + " is in the group " + Group + ", and this session is older than that. " +
			"What was started before, such as a desktop or an MCP client, goes on without it; in a shell, newgrp " + Group + " does as well."
	default:
		return "The rules of sudo on this machine do not allow it to " + s.name() + ". Its administrator sees them with: sudo visudo -f " + Rules
	}
}

// Likely reports whether sudo probably runs a tool for this user. It is not asked, because it logs
// what it refuses.
func (s Situation) Likely() bool {
	return !s.NoSudo && s.Untrusted == nil && (s.Administrator || s.Member && !s.Stale && !s.NoRules)
}

// Fuller returns the command with which this user sees what only root can: typed, which is what was
// typed, or the form of tool that the rules of sudo name; "" where sudo would refuse both. sudo is not
// asked, because it logs what it refuses.
func (s Situation) Fuller(tool, typed string) string {
	switch {
	case s.NoSudo:
		return ""
	case s.Administrator:
		return "sudo " + typed
	case !s.Member || s.Stale || s.NoRules || s.Untrusted != nil && s.Installed == "":
		return ""
	case s.Installed != "":
		return "sudo " + s.Installed + " " + strings.Join(Request(tool), " ") + " < /dev/null"
	default:
		return "sudo sentinel " + strings.Join(Request(tool), " ") + " < /dev/null"
	}
}

// JoinFix says how the user becomes one of those whom the rules are for.
func (s Situation) JoinFix() string {
	if s.machine.OS == "darwin" {
		return "Add yourself to the group " + Group + ": sudo dseditgroup -o edit -a " + s.name() + " -t user " + Group
	}
	made := ""
	if s.NoGroup {
		made = "sudo groupadd --force --system " + Group + " && "
	}
	return "Add yourself to the group " + Group + ": " + made + "sudo usermod --append --groups " + Group + " " + s.name() + " (then log out and in again)"
}

// name is the user's in a command. A shell knows it where it is not known here.
func (s Situation) name() string {
	if !ShellSafe(s.User) {
		return `"$USER"`
	}
	return s.User
}

// RulesFix says how to install the rules of sudo.
func (m Machine) RulesFix() string {
	shipped := filepath.Join(filepath.Dir(filepath.Dir(m.Program)), "share/sentinel/sudoers")
	if m.missing(shipped) || !ShellSafe(shipped) {
		return m.InstallFix()
	}
	group := "root"
	if m.OS == "darwin" {
		group = "wheel"
	}
	return "Install the rules of sudo: sudo install -o root -g " + group + " -m 0440 " + shipped + " " + Rules
}

// InstallFix says how to install both programs with what belongs to them where only root can
// change them, in the way in which this one came.
func (m Machine) InstallFix() string {
	dir := filepath.Dir(m.Program)
	if m.Program == "" {
		dir = ""
	}
	switch source := m.source(dir); {
	case dir == installed.Package && !m.missing("/var/lib/dpkg/info/sentinel.list"):
		return "Install the package again, as with: sudo apt-get install --reinstall ./sentinel_*.deb"
	case dir == installed.Package:
		return "Install the package again, as with: sudo dnf reinstall ./sentinel-*.rpm"
	case source != "":
		return "Install it where only root can write: cd " + source + " && sudo make install"
	case dir == installed.Opt || dir == installed.Local:
		return "Install it again, from the folder of its release or source: sudo make install"
	default:
		return "Install it where only root can write: the package of a release, or from the folder of its release or source: sudo make install"
	}
}

// source returns the folder from which the programs in dir can be installed: that of a release, or
// of the source in whose bin they were built.
func (m Machine) source(dir string) string {
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		info, err := os.Stat(m.at(filepath.Join(folder, "packaging/sudoers.d", Group)))
		if dir != "" && err == nil && info.Mode().IsRegular() && !m.missing(filepath.Join(folder, "Makefile")) && ShellSafe(folder) {
			return folder
		}
	}
	return ""
}

// ShellSafe says whether text is one word to a shell, and not an option to a program.
func ShellSafe(text string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-"
	return text != "" && text[0] != '-' && strings.Trim(text, plain) == ""
}
