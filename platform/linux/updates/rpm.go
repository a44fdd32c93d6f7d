// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"sentinel/internal/updates"
)

// rpmFormat prints when a package was installed, its name and its version, one
// package a line: rpm(8), query options.
const rpmFormat = `%{INSTALLTIME} %{NAME}.%{ARCH} %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\n`

// installed returns the version of each installed package by "name.arch".
func (m machine) installed(ctx context.Context) (map[string]string, error) {
	r, err := m.runExtra(ctx, "/usr/bin/rpm", "-qa", "--qf", rpmFormat)
	if err != nil {
		return nil, err
	}
	return parseInstalled(r.Stdout), nil
}

// parseInstalled keeps the version that was installed last if a package is installed in several, as
// kernels are.
func parseInstalled(out []byte) map[string]string {
	versions, times := map[string]string{}, map[string]int64{}
	for line := range bytes.Lines(out) {
		f := strings.Fields(string(line))
		if len(f) != 3 {
			continue
		}
		at, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil || at < times[f[1]] {
			continue
		}
		versions[f[1]], times[f[1]] = strings.TrimPrefix(f[2], "0:"), at
	}
	return versions
}

// fillCurrent adds the versions that are installed now to updates named "name.arch".
func fillCurrent(list []updates.Package, installed map[string]string) {
	for i := range list {
		list[i].Current = installed[list[i].Name]
	}
}

// rpmLocks are what rpm keeps locked during a transaction, whoever started it (%_rpmlock_path).
var rpmLocks = []string{"usr/lib/sysimage/rpm/.rpm.lock", "var/lib/rpm/.rpm.lock"}

// busy tells whether a transaction of rpm goes on.
func (m machine) busy(p *updates.Pending) {
	held, err := m.locked(rpmLocks...)
	p.Busy = held
	p.Gaps.Add(updates.BusyField, err)
}
