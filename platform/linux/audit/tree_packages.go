// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/platform/unix/hostfile"
)

// Bounds of package data.
const (
	maxPackages = 50_000
	maxFileList = 32 << 20 // bytes of the file list of one package, or of a whole database
)

var errNoPackages = errors.New("no package manager that is known here")

// packagedFiles looks files up in the package data of this system. It has to read
// all of these data, so it is called once, for all files.
func (m *machine) packagedFiles(ctx context.Context, files []foundFile) (map[string]packagedFile, error) {
	known := map[string]packagedFile{}
	if len(files) == 0 {
		return known, nil
	}
	switch {
	case m.exists("/var/lib/dpkg/status"):
		return known, m.dpkgFiles(ctx, files, known)
	case m.exists("/lib/apk/db/installed"):
		return known, m.apkFiles("/lib/apk/db/installed", files, known)
	case m.exists("/usr/lib/apk/db/installed"):
		return known, m.apkFiles("/usr/lib/apk/db/installed", files, known)
	case m.exists("/var/lib/pacman/local"):
		return known, m.pacmanFiles(ctx, files, known)
	case m.exists("/var/lib/rpm"), m.exists("/usr/lib/sysimage/rpm"):
		return known, m.rpmFiles(ctx, files, known)
	default:
		return nil, errNoPackages
	}
}

// A wanted maps each name that a file may have in package data to its path.
type wanted map[string]string

// wantedNames adds the other names that package data may have for a file: without
// /usr, from before the merge of /bin into /usr/bin, and from before a diversion.
func wantedNames(files []foundFile, diverted map[string]string) wanted {
	w := wanted{}
	for _, f := range files {
		for _, name := range []string{f.path, diverted[f.path]} {
			if name == "" {
				continue
			}
			w[name] = f.path
			if short, ok := strings.CutPrefix(name, "/usr"); ok && isSystemPath(short) {
				w[short] = f.path
			}
		}
	}
	return w
}

// mark notes the files of a list with one path a line. prefix goes before each path.
func (w wanted) mark(list []byte, prefix string, known map[string]packagedFile) {
	for line := range bytes.Lines(list) {
		if file, ok := w[prefix+string(bytes.TrimRight(line, "\r\n"))]; ok {
			s := known[file]
			s.packaged, s.mode = true, -1
			known[file] = s
		}
	}
}

// dpkgFiles reads the file lists of dpkg(1), which hold no modes, and the records of
// dpkg-statoverride(1) and dpkg-divert(1).
func (m *machine) dpkgFiles(ctx context.Context, files []foundFile, known map[string]packagedFile) error {
	const directory = "/var/lib/dpkg/"
	diversions, err := m.readOptional(directory + "diversions")
	if err != nil {
		return err
	}
	overrides, err := m.readOptional(directory + "statoverride")
	if err != nil {
		return err
	}
	w := wantedNames(files, parseDiversions(diversions))
	err = m.eachFileList(ctx, directory+"info", ".list", func(list []byte) { w.mark(list, "", known) })
	for _, name := range parseOverrides(overrides) {
		if file, ok := w[name]; ok {
			known[file] = packagedFile{packaged: true, mode: -1, override: true}
		}
	}
	return err
}

// readOptional reads a file of package data; nil when there is none.
func (m *machine) readOptional(name string) ([]byte, error) {
	raw, err := m.readUpTo(name, maxFileList)
	if hostfile.Missing(err) {
		return nil, nil
	}
	return raw, err
}

// eachFileList reads each file in directory whose name has the ending.
func (m *machine) eachFileList(ctx context.Context, directory, ending string, use func(list []byte)) error {
	names, err := m.names(directory, 8*maxPackages)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !strings.HasSuffix(name, ending) {
			continue
		}
		list, err := m.readUpTo(directory+"/"+name, maxFileList)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		use(list)
	}
	return nil
}

// parseDiversions returns the original name of each diverted file. A diversion is
// three lines: from, to, and the package.
func parseDiversions(raw []byte) map[string]string {
	lines := strings.Split(string(raw), "\n")
	moved := map[string]string{}
	for i := 0; i+2 < len(lines); i += 3 {
		moved[lines[i+1]] = lines[i]
	}
	return moved
}

// parseOverrides returns the files whose mode the administrator overrode with one
// that has the set-user-ID or set-group-ID bit: "root crontab 2755 /usr/bin/crontab".
func parseOverrides(raw []byte) []string {
	var list []string
	for line := range strings.Lines(string(raw)) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), " ", 4)
		if len(f) != 4 {
			continue
		}
		if mode, err := strconv.ParseUint(f[2], 8, 12); err == nil && mode&0o6000 != 0 {
			list = append(list, f[3])
		}
	}
	return list
}

// pacmanFiles reads the file lists of pacman, which hold no modes.
func (m *machine) pacmanFiles(ctx context.Context, files []foundFile, known map[string]packagedFile) error {
	const directory = "/var/lib/pacman/local"
	w := wantedNames(files, nil)
	names, err := m.names(directory, maxPackages)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		list, err := m.readUpTo(directory+"/"+name+"/files", maxFileList)
		if hostfile.Missing(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		w.mark(list, "/", known)
	}
	return nil
}

// apkFiles reads the database of apk, which holds each mode that is not 0755.
func (m *machine) apkFiles(file string, files []foundFile, known map[string]packagedFile) error {
	raw, err := m.readUpTo(file, 4*maxFileList)
	if err != nil {
		return err
	}
	w := wantedNames(files, nil)
	parseApk(raw, func(name string, mode int) {
		if path, ok := w[name]; ok {
			known[path] = packagedFile{packaged: true, mode: mode}
		}
	})
	return nil
}

// parseApk reads the lines F (directory), R (file in it) and a (owner:group:mode of
// that file) of apk's file "installed".
func parseApk(raw []byte, file func(name string, mode int)) {
	directory, name, mode := "", "", 0o755
	flush := func() {
		if name != "" {
			file("/"+strings.TrimPrefix(directory+"/"+name, "/"), mode)
		}
		name, mode = "", 0o755
	}
	for line := range bytes.Lines(raw) {
		key, value, ok := strings.Cut(strings.TrimRight(string(line), "\n"), ":")
		switch {
		case !ok:
			flush()
		case key == "F":
			flush()
			directory = value
		case key == "R":
			flush()
			name = value
		case key == "a":
			if n, err := strconv.ParseUint(value[strings.LastIndexByte(value, ':')+1:], 8, 12); err == nil {
				mode = int(n)
			}
		}
	}
	flush()
}

// rpmFiles asks rpm(8) for the modes of all files of the packages that own the
// given ones. Every argument after the options begins with a slash.
func (m *machine) rpmFiles(ctx context.Context, files []foundFile, known map[string]packagedFile) error {
	args := []string{"-q", "--qf", "[%{FILEMODES:octal} %{FILENAMES}\n]", "-f"}
	for _, f := range files {
		args = append(args, f.path)
	}
	r, err := m.command(ctx, sysexec.Command{Path: "/usr/bin/rpm", Args: args, MaxOutput: maxFileList, Timeout: 10 * time.Second})
	if err != nil {
		return err
	}
	modes := parseRPM(r.Stdout)
	if r.Exit != 0 && len(modes) == 0 {
		return errors.New("rpm answers nothing")
	}
	w := wantedNames(files, nil)
	for name, mode := range modes {
		if path, ok := w[name]; ok {
			known[path] = packagedFile{packaged: true, mode: mode}
		}
	}
	return nil
}

// parseRPM reads lines of st_mode and name: "0104755 /usr/bin/su". The lines for
// files that no package owns have another form and are passed over.
func parseRPM(out []byte) map[string]int {
	modes := map[string]int{}
	for line := range strings.Lines(string(out)) {
		octal, name, ok := strings.Cut(strings.TrimRight(line, "\n"), " ")
		mode, err := strconv.ParseUint(octal, 8, 32)
		if ok && err == nil && strings.HasPrefix(name, "/") {
			modes[name] = int(mode)
		}
	}
	return modes
}
