// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/sudoers"
)

func sudoChecks() []check {
	return []check{
		{About: audit.About{
			ID: "sudo.nopasswd", Name: "sudo asks for a password", Severity: audit.Medium, Weight: 6,
			Reference:   "CIS 5.2.4, CIS 5.2.5",
			Description: "Whoever gets into the account is root without knowing its password.",
			Formula:     "PASS when no rule for anyone but root has NOPASSWD and no Defaults have !authenticate; the literal lines of sentinel itself do not count where only root can change it. WARN for single commands, or as another user than root. FAIL for all commands as root, also where !authenticate or exempt_group may be for the user of such a rule: who is in a group or an alias is not looked up. A later rule that takes one back is not looked at.",
		}, Run: sudoNoPassword},
		{About: audit.About{
			ID: "sudo.permissions", Name: "Rules of sudo are root's", Severity: audit.High, Weight: 6, Unusual: true,
			Reference:   "Lynis AUTH-9252",
			Description: "Whoever can write a rule can become root.",
			Formula:     "PASS when sudoers, each file and folder that it includes, and the folder above belong to root and nobody else can write them. WARN when others can read a file. FAIL otherwise.",
		}, Run: sudoPermissions},
		{About: audit.About{
			ID: "sudo.use_pty", Name: "sudo gives commands their own terminal", Severity: audit.Low, Weight: 1,
			Reference:   "CIS 5.2.2",
			Description: "A command can put keystrokes into the terminal of the user who runs it, after it has ended.",
			Formula:     "PASS when the last Defaults for all that name use_pty switch it on, and none for some users, hosts or commands switch it off. WARN otherwise; sudo 1.9.14 and later do it without being told.",
		}, Run: sudoPTY},
	}
}

// A sudoPolicy is the rules of sudo.
type sudoPolicy struct {
	sudoers.Policy
	mainFiles []string // that sudo and sudo-rs read first
}

// policy reads the rules, once. The error is fs.ErrNotExist where there are none.
func (m *machine) policy() (sudoPolicy, error) {
	return m.sudoPolicy.Get(m.readPolicy)
}

// errDirectoryService says that there are rules besides those in files.
var errDirectoryService = errors.New("rules come from a directory service as well (/etc/nsswitch.conf), which is not asked")

// readPolicy reads the rules of sudo and of sudo-rs, which prefers a file of its own:
// both may be installed.
func (m *machine) readPolicy() (sudoPolicy, error) {
	all := sudoPolicy{}
	for _, file := range []string{m.firstExisting("/etc/sudoers", "/usr/etc/sudoers"), m.firstExisting("/etc/sudoers-rs")} {
		if file == "" {
			continue
		}
		all.mainFiles = append(all.mainFiles, file)
		p, err := sudoers.Read(m.tree(), file)
		if err != nil {
			return all, err
		}
		all.Grants, all.Defaults = append(all.Grants, p.Grants...), append(all.Defaults, p.Defaults...)
		all.Files = append(all.Files, p.Files...)
		if all.Hole == nil {
			all.Hole = p.Hole
		}
	}
	if len(all.mainFiles) == 0 {
		return all, fs.ErrNotExist
	}
	nss, err := m.read("/etc/nsswitch.conf")
	if all.Hole == nil && err == nil && len(userdb.Directories(nss, "sudoers")) > 0 {
		all.Hole = errDirectoryService
	}
	return all, nil
}

const noSudo = "no rules of sudo are here"

func sudoNoPassword(_ context.Context, m *machine) audit.Finding {
	p, err := m.policy()
	if hostfile.Missing(err) {
		return audit.NotApplicable(noSudo)
	}
	if err != nil {
		return audit.Unread("sudoers", err)
	}
	return p.NoPassword(sudoers.Own(m.tree(), m.Owner))
}

// sudoPermissions looks at the directories too: sudo reads no file that others can
// write, but whoever can write the directory can put another file there.
func sudoPermissions(_ context.Context, m *machine) audit.Finding {
	p, err := m.policy()
	if hostfile.Missing(err) {
		return audit.NotApplicable(noSudo)
	}
	names := append(slices.Clone(p.mainFiles), p.Files...)
	included, listErr := m.names("/etc/sudoers.d", maxIncluded)
	for _, name := range included {
		names = append(names, path.Join("/etc/sudoers.d", name))
	}
	for _, name := range slices.Clone(names) {
		names = append(names, path.Dir(name))
	}
	slices.Sort(names)
	wrong, readable, statErr := m.othersCan(slices.Compact(names))
	switch {
	case len(wrong) > 0:
		return audit.Failed("Users other than root can write them", "Make each root's alone: sudo chown root:root FILE && sudo chmod 0440 FILE (0750 for a folder)", wrong...)
	case err != nil:
		return audit.Unread("sudoers", err)
	case listErr != nil && !hostfile.Missing(listErr):
		return audit.Unread("/etc/sudoers.d", listErr)
	case statErr != nil:
		return audit.Unread("sudoers", statErr)
	case p.Hole != nil:
		return audit.Unread("sudoers", p.Hole)
	case len(readable) > 0:
		return audit.Warned("Users other than root can read them", withoutLists("Make each root's alone: sudo chmod 0440 FILE.", readable), readable...)
	default:
		return audit.Passed(humanize.Count(len(p.Files), "file", "files") + " of root alone")
	}
}

// othersCan returns the files and directories that users other than root can write,
// and the files that they can read.
func (m *machine) othersCan(names []string) (write, read []string, err error) {
	for _, name := range names {
		f, e := m.stat(name)
		switch {
		case e != nil:
			err = e
		case f.UID != m.Owner || f.Mode&0o022 != 0:
			write = append(write, audit.At(name, 0, f.String()))
		case f.Mode.IsRegular() && f.Others()&0o004 != 0:
			read = append(read, audit.At(name, 0, f.String()))
		}
	}
	return write, read, err
}

func sudoPTY(_ context.Context, m *machine) audit.Finding {
	p, err := m.policy()
	if hostfile.Missing(err) {
		return audit.NotApplicable(noSudo)
	}
	if err != nil {
		return audit.Unread("sudoers", err)
	}
	on, where := false, audit.At(p.mainFiles[0], 0, "no Defaults use_pty")
	var without []string // for some users, hosts or commands
	for _, d := range p.Defaults {
		for _, option := range d.Options {
			switch name := strings.TrimPrefix(option, "!"); {
			case name != "use_pty":
			case d.Scope == "":
				on, where = option == name, audit.At(d.File, d.Line, option)
			case option != name:
				without = append(without, audit.At(d.File, d.Line, "Defaults"+d.Scope+" "+option))
			}
		}
	}
	switch {
	case p.Hole != nil:
		return audit.Unread("sudoers", p.Hole)
	case !on:
		return audit.Warned("Commands share the terminal of the user", "Add the line Defaults use_pty: sudo visudo", append([]string{where}, without...)...)
	case len(without) > 0:
		return audit.Warned("Some commands share the terminal of the user", "Take !use_pty out of the lines that are named: sudo visudo -f FILE", without...)
	default:
		return audit.Passed("use_pty")
	}
}
