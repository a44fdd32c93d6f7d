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

	"sentinel/platform/darwin/plist"
	"sentinel/platform/unix/hostfile"
)

// An XProtect is macOS' list of known malware.
type XProtect struct {
	Version string // "5322"
	// Date is when its contents were created; zero if unknown. The directories above
	// have older dates.
	Date time.Time
	Path string // of the bundle
}

// bundles are the places of the list: the first since macOS 15, where it is updated
// more often, the second since macOS 10.15.
var bundles = []string{
	"/private/var/protected/xprotect/XProtect.bundle",
	"/Library/Apple/System/Library/CoreServices/XProtect.bundle",
}

// maxInfo bounds the Info.plist of a bundle, in bytes.
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
	if err := plist.Decode(raw, &info); err != nil {
		return "", err
	}
	if info.Version == "" || strings.ContainsFunc(info.Version, func(c rune) bool { return c != '.' && (c < '0' || c > '9') }) {
		return "", ErrFormat
	}
	return info.Version, nil
}

// newer compares versions number by number. XProtect's have one number so far.
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
