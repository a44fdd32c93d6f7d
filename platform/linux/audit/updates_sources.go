// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sentinel/internal/audit"
	"sentinel/platform/linux/aptconf"
	"sentinel/platform/linux/release"
	"sentinel/platform/linux/updates"
	"sentinel/platform/unix/hostfile"
)

// A sourceLine is a line of a file that lists package sources.
type sourceLine struct {
	file string
	line int
	text string
}

// filesIn returns a file and the files in a directory whose names have one of the endings.
func (m *machine) filesIn(file, directory string, endings ...string) ([]string, error) {
	var files []string
	if file != "" {
		files = append(files, file)
	}
	if directory == "" {
		return files, nil
	}
	names, err := m.names(directory, maxNames)
	if err != nil && !hostfile.Missing(err) {
		return nil, err
	}
	for _, name := range names {
		if slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(name, e) }) {
			files = append(files, directory+"/"+name)
		}
	}
	return files, nil
}

// aptOptions reads the options of apt from its files, in the order in which apt does (apt.conf(5)).
func (m *machine) aptOptions() (aptconf.Options, error) {
	options := aptconf.Options{}
	if err := options.AddDirectory(m.tree(), "/etc/apt/apt.conf.d"); err != nil {
		return nil, err
	}
	if err := options.AddFile(m.tree(), "/etc/apt/apt.conf"); err != nil && m.exists("/etc/apt/apt.conf") {
		return nil, err
	}
	return options, nil
}

func signaturesChecked(_ context.Context, m *machine) audit.Finding {
	manager := updates.ListsOf(m.Root).Manager
	if manager == "" {
		return audit.NotApplicable(noPackageManager)
	}
	var wrong []string
	var err error
	switch manager {
	case "apt":
		wrong, err = m.unsignedApt()
	case "dnf":
		wrong, err = m.unsignedDNF()
	case "zypper":
		wrong, err = m.unsignedZypper()
	case "pacman":
		wrong, err = m.unsignedPacman()
	default:
		return audit.NotApplicable(manager + " has no setting that switches the check of signatures off")
	}
	switch {
	case len(wrong) > 0:
		return audit.Failed("Signatures are not checked", "Remove each setting that is named, and give the source its key (signed-by, gpgkey).", wrong...)
	case err != nil:
		return audit.Unread("sources of "+manager, err)
	default:
		return audit.Passed(manager + " checks signatures")
	}
}

func (m *machine) unsignedApt() ([]string, error) {
	files, err := m.filesIn("/etc/apt/sources.list", "/etc/apt/sources.list.d", ".list", ".sources")
	var wrong []string
	for _, file := range files {
		text, failed := m.optionalText(file)
		err = errors.Join(err, failed)
		for _, o := range aptconf.Unchecked(file, []byte(text)) {
			wrong = append(wrong, audit.At(file, o.Line, o.Text))
		}
	}
	options, failed := m.aptOptions()
	for _, name := range []string{"APT::Get::AllowUnauthenticated", "Acquire::AllowInsecureRepositories", "Acquire::AllowWeakRepositories", "Acquire::AllowDowngradeToInsecureRepositories"} {
		if options.On(name) {
			wrong = append(wrong, audit.At("/etc/apt/apt.conf.d", 0, name+" is on"))
		}
	}
	return wrong, errors.Join(err, failed)
}

func securitySource(_ context.Context, m *machine) audit.Finding {
	system, err := release.New(m.Root).OS()
	if err != nil {
		return audit.Unread("os-release", err)
	}
	if !system.HasSecurityArchive() {
		return audit.NotApplicable("not a release of Debian or Ubuntu")
	}
	files, err := m.filesIn("/etc/apt/sources.list", "/etc/apt/sources.list.d", ".list", ".sources")
	if err != nil {
		return audit.Unread("sources of apt", err)
	}
	for _, file := range files {
		text, err := m.optionalText(file)
		if err != nil {
			return audit.Unread("sources of apt", err)
		}
		ofRelease := func(s aptconf.Source) bool { return s.Security() && s.Of(system.Codename) }
		if slices.ContainsFunc(aptconf.Sources(file, []byte(text)), ofRelease) {
			return audit.Passed(file)
		}
	}
	return audit.Failed("No source of security updates", "Add one, for Debian 12: deb http://security.debian.org/debian-security bookworm-security main", audit.At("/etc/apt/sources.list", 0, "no security archive of this release here nor in sources.list.d"))
}

// supportEnds are the last days of security support, for releases whose
// os-release does not say: Debian LTS (wiki.debian.org/LTS) and the standard support of Ubuntu LTS
// (ubuntu.com/about/release-cycle).
var supportEnds = map[string]string{
	"debian 9": "2022-06-30", "debian 10": "2024-06-30", "debian 11": "2026-08-31", "debian 12": "2028-06-30", "debian 13": "2030-06-30",
	"ubuntu 16.04": "2021-04-30", "ubuntu 18.04": "2023-05-31", "ubuntu 20.04": "2025-05-31", "ubuntu 22.04": "2027-06-01", "ubuntu 24.04": "2029-05-31",
}

func supported(_ context.Context, m *machine) audit.Finding {
	system, err := release.New(m.Root).OS()
	if err != nil {
		return audit.Unread("os-release", err)
	}
	text, err := m.optionalText("/etc/os-release")
	if err != nil {
		return audit.Unread("os-release", err)
	}
	last, where := supportEnds[system.ID+" "+system.VersionID], "published date"
	if date, line := supportEnd(text); line > 0 {
		last, where = date, audit.At("/etc/os-release", line, "SUPPORT_END="+date)
	}
	end, err := time.Parse(time.DateOnly, last)
	if err != nil {
		return audit.Unseen("the end of support of " + system.PrettyName + " is not known")
	}
	const fix = "Upgrade to a release that is supported, or buy extended support and exempt this check."
	switch left := end.AddDate(0, 0, 1).Sub(m.now()); {
	case left <= 0:
		return audit.Failed(system.PrettyName+" has been without support since "+last, fix, where)
	case left < 60*24*time.Hour:
		return audit.Warned(system.PrettyName+" is supported until "+last, fix, where)
	default:
		return audit.Passed("until " + last)
	}
}

// supportEnd returns SUPPORT_END of os-release(5) and its line.
func supportEnd(text string) (date string, line int) {
	n := 0
	for l := range strings.Lines(text) {
		n++
		if v, ok := strings.CutPrefix(strings.TrimSpace(l), "SUPPORT_END="); ok {
			return strings.Trim(v, `"'`), n
		}
	}
	return "", 0
}
