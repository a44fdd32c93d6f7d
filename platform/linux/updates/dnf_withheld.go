// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/updates"
	"sentinel/platform/unix/hostfile"
)

// maxConfig bounds a configuration file of a package manager, in bytes.
const maxConfig = 1 << 20

// leavingOut are the settings by which dnf leaves packages out (dnf.conf(5)).
var leavingOut = []string{"exclude", "excludes", "excludepkg", "excludepkgs", "include", "includes", "includepkgs"}

// dnfConfigs are where they may stand, with those of dnf5.
var dnfConfigs = []string{
	"etc/dnf/dnf.conf", "etc/dnf/libdnf5.conf.d/*.conf", "usr/share/dnf5/libdnf.conf.d/*.conf",
	"etc/yum.repos.d/*.repo", "etc/yum/repos.d/*.repo", "etc/distro.repos.d/*.repo", "etc/dnf/repos.override.d/*.repo", "usr/share/dnf5/repos.override.d/*.repo",
}

// lockedVersions are the lists of the plugin of dnf 4 and of dnf5 (versionlock).
const (
	versionLock  = "etc/dnf/plugins/versionlock.list"
	versionLock5 = "etc/dnf/versionlock.toml"
)

// leftIn returns what has dnf list the packages as well that it is set to leave out; nothing where it
// leaves out none. dnf5 lists no package whose version is locked: their names are returned.
func (d dnf) leftIn(m machine) (args, locked []string, err error) {
	excludes, err := anyLine(m.glob(dnfConfigs...), func(line string) bool {
		key, _, _ := strings.Cut(line, "=")
		return slices.Contains(leavingOut, strings.TrimSpace(key))
	})
	if err != nil {
		return nil, nil, err
	}
	if d.program(m) == "/usr/bin/dnf5" {
		if excludes {
			args = append(args, "--setopt=disable_excludes=*")
		}
		_, err = anyLine(m.glob(versionLock5), func(line string) bool {
			key, name, _ := strings.Cut(line, "=")
			if strings.TrimSpace(key) == "name" {
				locked = append(locked, strings.Trim(strings.TrimSpace(name), `"'`))
			}
			return false
		})
		return args, locked, err
	}
	if excludes {
		args = append(args, "--setopt=disable_excludes=all")
	}
	locks, err := anyLine(m.glob(versionLock), func(line string) bool { return line != "" && line[0] != '#' })
	if locks {
		args = append(args, "--disableplugin=versionlock")
	}
	return args, nil, err
}

// anyLine reports whether a line of the files, without the blanks around it, is one that is looked for.
func anyLine(files []string, isOne func(line string) bool) (bool, error) {
	for _, file := range files {
		raw, err := hostfile.Read(file, maxConfig)
		if err != nil && !hostfile.Missing(err) {
			return false, fmt.Errorf("read %s: %w", file, err)
		}
		for line := range bytes.Lines(raw) {
			if isOne(string(bytes.TrimSpace(line))) {
				return true, nil
			}
		}
	}
	return false, nil
}

// withheld finds what waits for packages that are left out, by a list without that. It returns what
// has dnf tell of them too.
func (d dnf) withheld(ctx context.Context, m machine, p *updates.Pending) (leftIn []string) {
	leftIn, locked, err := d.leftIn(m)
	if err != nil {
		p.Gaps.Add("withheld", err)
		return nil
	}
	p.Withheld = []updates.Withheld{}
	for _, name := range locked {
		p.Withheld = append(p.Withheld, updates.Withheld{Name: name, Reason: updates.Held})
	}
	if len(leftIn) == 0 {
		return nil
	}
	program, args := d.query(m, leftIn...)
	r, err := m.runExtra(ctx, program, args...)
	if err == nil && r.Exit != 0 && r.Exit != dnfUpdates {
		err = dnfFault(r.Exit, string(r.Stderr))
	}
	if err != nil {
		p.Gaps.Add("withheld", err)
		p.Withheld = nil
		return nil
	}
	p.Withheld = append(p.Withheld, leftOut(parseDNF(r.Stdout), p.Updates)...)
	return leftIn
}

// leftOut returns which of all updates are not among those that would be installed.
func leftOut(all, installable []updates.Package) []updates.Withheld {
	listed := map[[2]string]bool{}
	for _, u := range installable {
		listed[[2]string{u.Name, u.Candidate}] = true
	}
	list := []updates.Withheld{}
	for _, u := range all {
		if !listed[[2]string{u.Name, u.Candidate}] {
			list = append(list, updates.Withheld{Name: u.Name, Current: u.Current, Candidate: u.Candidate, Reason: updates.Held})
		}
	}
	return list
}
