// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sentinel/platform/darwin/property"
	"sentinel/platform/unix/hostfile"
)

// An XProtect is the list of known malware that macOS keeps.
type XProtect struct {
	Version string // "5322"
	// Date is when its contents were made; zero when it is not known. The directories
	// above them have older dates.
	Date time.Time
	Path string // of the bundle
}

// bundles are where macOS keeps the list: since macOS 10.15, and since macOS 15
// the copy that is updated more often.
var bundles = []string{
	"/private/var/protected/xprotect/XProtect.bundle",
	"/Library/Apple/System/Library/CoreServices/XProtect.bundle",
}

// maxInfo bounds the description of a bundle, in bytes.
const maxInfo = 64 << 10

// ReadXProtect reads the newest list below root, "/" on a live system.
func ReadXProtect(root string) (XProtect, error) {
	var newest XProtect
	var failed error
	for _, path := range bundles {
		x, err := readBundle(root, path)
		switch {
		case err == nil && (newest.Version == "" || newer(x.Version, newest.Version)):
			newest = x
		case err != nil && !hostfile.Missing(err):
			failed = errors.Join(failed, err)
		}
	}
	switch {
	case newest.Version != "":
		return newest, nil
	case failed != nil:
		return XProtect{}, failed
	default:
		return XProtect{}, &fs.PathError{Op: "open", Path: bundles[1], Err: fs.ErrNotExist}
	}
}

func readBundle(root, path string) (XProtect, error) {
	dir := filepath.Join(root, path, "Contents")
	raw, err := hostfile.Read(filepath.Join(dir, "Info.plist"), maxInfo)
	if err != nil {
		return XProtect{}, err
	}
	x := XProtect{Path: path}
	if x.Version, err = ParseBundleVersion(raw); err != nil {
		return XProtect{}, fmt.Errorf("read %s: %w", path, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "Resources")); err == nil {
		x.Date = info.ModTime()
	}
	return x, nil
}

// ParseBundleVersion reads the version of XProtect from its Info.plist.
func ParseBundleVersion(raw []byte) (string, error) {
	var info struct {
		Version string `plist:"CFBundleShortVersionString"`
	}
	if err := property.Decode(raw, &info); err != nil {
		return "", err
	}
	if info.Version == "" || strings.ContainsFunc(info.Version, func(c rune) bool { return c != '.' && (c < '0' || c > '9') }) {
		return "", ErrFormat
	}
	return info.Version, nil
}

// newer compares by numbers. XProtect has one, and might get a second.
func newer(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, errM := strconv.Atoi(x[i])
		n, errN := strconv.Atoi(y[i])
		if errM != nil || errN != nil {
			return false
		}
		if m != n {
			return m > n
		}
	}
	return len(x) > len(y)
}
