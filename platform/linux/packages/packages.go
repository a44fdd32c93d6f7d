// SPDX-License-Identifier: Apache-2.0

// Package packages finds out which package of the system a file came with, from the data of dpkg,
// apk and pacman, and from rpm(8), whose data base has no documented form.
package packages

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/platform/unix/hostfile"
)

// Bounds of package data.
const (
	maxPackages = 50_000
	maxFileList = 32 << 20 // bytes of the file list of one package, or of a whole data base
)

// Why files were not looked up.
var (
	// ErrNoManager reports a system without a package manager that is known here.
	ErrNoManager = errors.New("no package manager that is known here")
	errNotLive   = errors.New("the package manager of another system cannot be asked")
	errNoAnswer  = errors.New("rpm answers nothing")
)

// A File is what package data say about a file.
type File struct {
	Package string // that it came with
	Version string // of that package; "" where it is not known
	Digest  string // of the content as packaged: MD5, SHA-1 or SHA-256 in hexadecimal, "" where it is not held
	Mode    int    // as packaged, with the type of file for rpm; -1 where the data do not hold it
	// Override says that the administrator has given it a mode with the set-user-ID or set-group-ID bit
	// (dpkg-statoverride(1)). Mode is then that one, as for every file with such a record.
	Override bool
}

// Finder looks into the package data of the system below a root. A nil Runner can ask no program.
type Finder struct {
	Root   string
	Runner sysexec.Runner
}

// Files looks up files by their absolute paths; one that no package shipped is
// not in the result, unless the administrator gave it a mode by dpkg-statoverride(1). All
// package data are read for it, at best once for all files: with thousands of packages that is some
// ten milliseconds. Files whose path has a newline are of no package.
func (f Finder) Files(ctx context.Context, paths []string) (map[string]File, error) {
	known := map[string]File{}
	// In what rpm prints of a file that no package owns, a newline in its name would begin a line of
	// another file, of whatever package somebody likes.
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return strings.Contains(path, "\n") || !filepath.IsAbs(path) })
	if len(paths) == 0 {
		return known, nil
	}
	switch {
	case f.fills("/var/lib/dpkg/status"):
		return known, f.dpkg(ctx, paths, known)
	case f.exists("/lib/apk/db/installed"):
		return known, f.apk("/lib/apk/db/installed", paths, known)
	case f.exists("/usr/lib/apk/db/installed"):
		return known, f.apk("/usr/lib/apk/db/installed", paths, known)
	case f.exists("/var/lib/pacman/local"):
		return known, f.pacman(ctx, paths, known)
	case f.exists("/var/lib/rpm"), f.exists("/usr/lib/sysimage/rpm"):
		return known, f.rpm(ctx, paths, known)
	default:
		return nil, ErrNoManager
	}
}

func (f Finder) exists(name string) bool { return hostfile.Exists(filepath.Join(f.Root, name)) }

// fills reports whether there is anything in a file: dpkg beside another package manager has installed nothing.
func (f Finder) fills(name string) bool {
	file, err := hostfile.Stat(filepath.Join(f.Root, name))
	return err == nil && file.Size > 0
}

func (f Finder) read(name string, limit int) ([]byte, error) {
	return hostfile.Read(filepath.Join(f.Root, name), limit)
}

// readOptional reads a file of package data; nil when there is none.
func (f Finder) readOptional(name string) ([]byte, error) {
	raw, err := f.read(name, maxFileList)
	if hostfile.Missing(err) {
		return nil, nil
	}
	return raw, err
}

// inSbin returns the names that package data may have for programs in /usr/bin where /usr/sbin is a
// link to it, as on Fedora from 42 on.
func (f Finder) inSbin(paths []string) map[string]string {
	to, err := os.Readlink(filepath.Join(f.Root, "/usr/sbin"))
	if err != nil || strings.TrimPrefix(to, "/usr/") != "bin" {
		return nil
	}
	names := map[string]string{}
	for _, path := range paths {
		if program, ok := strings.CutPrefix(path, "/usr/bin/"); ok {
			names[path] = "/usr/sbin/" + program
		}
	}
	return names
}

// A wanted maps each name that a file may have in package data to the paths that were asked for, which are
// several where one file has been named in two ways.
type wanted map[string][]string

// wantedNames adds the other names that package data may have for a file: without
// /usr, from before the merge of /bin into /usr/bin, and from before a diversion.
func wantedNames(paths []string, diverted map[string]string) wanted {
	w := wanted{}
	for _, path := range paths {
		for _, name := range []string{path, diverted[path]} {
			if name == "" {
				continue
			}
			w[name] = append(w[name], path)
			if short, ok := strings.CutPrefix(name, "/usr"); ok && mergedIntoUsr(short) {
				w[short] = append(w[short], path)
			}
		}
	}
	return w
}

// mergedIntoUsr says whether a path may be a symbolic link into /usr (file-hierarchy(7)).
func mergedIntoUsr(path string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"bin", "sbin"}, top) || strings.HasPrefix(top, "lib")
}

// in returns the files of a list with one name a line, each by its name there. prefix goes before
// each.
func (w wanted) in(list []byte, prefix string) wanted {
	var found wanted
	for line := range bytes.Lines(list) {
		name := prefix + string(bytes.TrimRight(line, "\r\n"))
		if paths, ok := w[name]; ok {
			if found == nil {
				found = wanted{}
			}
			found[name] = paths
		}
	}
	return found
}

// askLimit bounds a run of rpm.
const askLimit = 10 * time.Second
