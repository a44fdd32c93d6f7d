// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"slices"
	"strconv"
	"strings"

	"sentinel/platform/darwin/release"
)

// A standing is what the running system tells of an update that macOS noted earlier.
type standing int

const (
	unsure  standing = iota // it may be installed by now
	waiting                 // it is newer than the macOS that runs
	settled                 // it runs already, or something newer does
)

// standing compares an entry of the preferences with the running system. Only macOS itself can be
// compared. Of the same version there may be several builds (a beta, a supplemental update, a
// Rapid Security Response): then only the build that runs, or the release of that very name, is
// known to be installed.
func (e entry) standing(system release.OS) standing {
	offered, running := numbers(e.version), numbers(system.Version)
	switch {
	case !e.ofSystem() || len(offered) == 0 || len(running) == 0:
		return unsure
	case e.installed(system):
		return settled
	}
	switch slices.Compare(offered, running) {
	case +1:
		return waiting
	case -1:
		return settled
	}
	if e.build() == "" && e.version == system.Full() && strings.HasSuffix(e.title, " "+e.version) {
		return settled
	}
	return unsure
}

// ofSystem says whether an entry is macOS itself.
func (e entry) ofSystem() bool {
	return strings.HasPrefix(e.title, "macOS ") || strings.HasPrefix(e.label, msuUpdate)
}

// current is what is installed of an entry, where that is known.
func (e entry) current(system release.OS) string {
	if e.ofSystem() {
		return system.Full()
	}
	return ""
}

// installed says whether an entry is the macOS that runs. The list of the last scan still holds
// what was installed since.
func (e entry) installed(system release.OS) bool {
	return e.ofSystem() && system.Build != "" && e.build() == system.Build
}

// msuUpdate begins the identifiers of macOS in the preferences since macOS 11:
// "MSU_UPDATE_24G830_patch_15.7.9_minor", and "_major" or "_rsr" in place of the last word.
const msuUpdate = "MSU_UPDATE_"

// build returns the build that a label ends with ("macOS Tahoe 26.7-25G229") or an identifier
// names, "" where it names none.
func (e entry) build() string {
	if rest, ok := strings.CutPrefix(e.label, msuUpdate); ok {
		build, _, _ := strings.Cut(rest, "_")
		return build
	}
	build := e.label[strings.LastIndexByte(e.label, '-')+1:]
	if len(build) < 4 || build == e.label || strings.Trim(build[:2], "0123456789") != "" || build[2] < 'A' || build[2] > 'Z' {
		return ""
	}
	return build
}

// numbers reads a version such as 26.6.1 or "13.4.1 (a)", up to the first part that is no number.
func numbers(version string) []int {
	version, _, _ = strings.Cut(version, " ")
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		list = append(list, n)
	}
	return list
}

// unlisted returns what macOS noted at its last scan and softwareupdate does not list: what waits
// for certain, and what may be installed by now. An update of macOS counts as listed when any is:
// a newer one replaces it. Of other software only an empty list says something.
func (c cache) unlisted(list []entry, system release.OS) (waits, doubtful []entry) {
	if slices.ContainsFunc(list, entry.ofSystem) {
		return nil, nil
	}
	for _, e := range c.updates {
		switch now := e.standing(system); {
		case now == waiting:
			waits = append(waits, e)
		case now == unsure && (len(list) == 0 || e.ofSystem()):
			doubtful = append(doubtful, e)
		}
	}
	return waits, doubtful
}

// counts says whether macOS counted updates when it last looked, on the build that still runs,
// though nothing lists one.
func (c cache) counts(list []entry, system release.OS) bool {
	return len(list) == 0 && c.updates == nil && c.count > 0 && c.build != "" && c.build == system.Build
}
