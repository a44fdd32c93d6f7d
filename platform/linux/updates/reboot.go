// SPDX-License-Identifier: Apache-2.0

// Package updates reads pending updates from the package managers of Linux, and whether a reboot is
// due.
package updates

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// ErrUnknown reports that it cannot be determined whether a reboot is due.
var ErrUnknown = errors.New("no package manager here says whether a reboot is due")

// RebootRequired reports whether updates need a reboot, by two signs: the flag file that Debian's
// package hooks leave, and an installed kernel newer than the running one of the same flavour. A
// running kernel that is neither in /boot nor has modules here was removed, or came from elsewhere,
// as in many virtual machines: it allows no conclusion. release is that of the running kernel,
// uname -r.
func RebootRequired(root, release string) (bool, error) {
	if exists(root, "run/reboot-required") || exists(root, "var/run/reboot-required") {
		return true, nil
	}
	installed := kernels(root)
	if len(installed) == 0 {
		return false, flagReliable(root)
	}
	known := false
	for _, k := range installed {
		known = known || k == release
		if sameFlavour(k, release) && newer(k, release) {
			return true, nil
		}
	}
	if !known && !exists(root, "lib/modules/"+release) && !exists(root, "usr/lib/modules/"+release) {
		return false, flagReliable(root)
	}
	return false, nil
}

// flagReliable returns nil if the hook that writes the flag file is installed, so that a missing
// file means that no reboot is due.
func flagReliable(root string) error {
	for _, hook := range []string{"usr/share/update-notifier/notify-reboot-required", "etc/kernel/postinst.d/unattended-upgrades"} {
		if exists(root, hook) {
			return nil
		}
	}
	return ErrUnknown
}

func exists(root, name string) bool {
	_, err := os.Lstat(filepath.Join(root, name))
	return !errors.Is(err, fs.ErrNotExist) && err == nil
}

// kernels lists the releases of the kernels in /boot.
func kernels(root string) []string {
	paths, err := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*"))
	if err != nil {
		return nil
	}
	var list []string
	for _, p := range paths {
		if k := strings.TrimPrefix(filepath.Base(p), "vmlinuz-"); !strings.Contains(k, "rescue") {
			list = append(list, k)
		}
	}
	return list
}

// flavour is the end of a release that is not a version: "amd64" of
// 6.1.0-18-amd64, "el9.x86_64" of 5.14.0-362.el9.x86_64.
func flavour(release string) string {
	at := strings.IndexFunc(release, unicode.IsLetter)
	if at < 0 {
		return ""
	}
	return release[at:]
}

// sameFlavour ignores release numbers within a flavour: a kernel of el9_4 follows one of el9_3, and
// one of fc40 one of fc39.
func sameFlavour(a, b string) bool {
	counts := func(r rune) rune {
		if unicode.IsDigit(r) || r == '_' {
			return -1
		}
		return r
	}
	return strings.Map(counts, flavour(a)) == strings.Map(counts, flavour(b))
}

// newer compares the runs of digits of two releases as numbers.
func newer(a, b string) bool {
	x, y := versionOf(a), versionOf(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return longerOrGreater(x[i], y[i])
		}
	}
	return len(x) > len(y)
}

func versionOf(release string) []string {
	return strings.FieldsFunc(strings.TrimSuffix(release, flavour(release)), func(r rune) bool { return !unicode.IsDigit(r) })
}

// longerOrGreater compares decimal numbers of any length.
func longerOrGreater(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}
