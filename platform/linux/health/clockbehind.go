// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sentinel/internal/health"
)

// written are files that the system itself writes, when it starts, is updated, or somebody logs in,
// and that root alone can date.
var written = []string{
	"run/utmp", "run/systemd/system", "var/lib/systemd/timesync/clock", "var/lib/systemd/random-seed", "var/log/wtmp",
	"var/lib/dpkg/status", "var/lib/rpm/rpmdb.sqlite", "var/lib/rpm/Packages", "usr/lib/sysimage/rpm/rpmdb.sqlite", "var/lib/pacman/local", "lib/apk/db/installed", "usr/lib/apk/db/installed",
	"etc/ld.so.cache",
}

var errNothingDated = errors.New("none of the files that the clock is compared with is there")

func (s source) clockBehind(context.Context) (health.Reading, error) {
	if s.root != "/" {
		return health.Reading{}, errNotLive
	}
	return behind(s.root, time.Now())
}

// behind compares now with the newest of the files. What is a second ahead at the most is a file that
// is being written.
func behind(root string, now time.Time) (health.Reading, error) {
	var newest time.Time
	var name string
	for _, file := range written {
		info, err := os.Lstat(filepath.Join(root, file))
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		case err != nil:
			return health.Reading{}, err
		case info.ModTime().After(newest):
			newest, name = info.ModTime(), "/"+file
		}
	}
	if name == "" {
		return health.Reading{}, errNothingDated
	}
	if ahead := newest.Sub(now); ahead > time.Second {
		return health.Reading{Value: ahead.Seconds(), Names: []string{name + " is of " + newest.UTC().Format(time.RFC3339)}}, nil
	}
	return health.Reading{}, nil
}
