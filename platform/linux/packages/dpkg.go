// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sentinel/platform/unix/hostfile"
)

const dpkgData = "/var/lib/dpkg/"

// dpkg reads the file lists of dpkg(1), which hold no modes, and the records of
// dpkg-statoverride(1) and dpkg-divert(1).
func (f Finder) dpkg(ctx context.Context, paths []string, known map[string]File) error {
	diversions, err := f.readOptional(dpkgData + "diversions")
	if err != nil {
		return err
	}
	overrides, err := f.readOptional(dpkgData + "statoverride")
	if err != nil {
		return err
	}
	w := wantedNames(paths, parseDiversions(diversions))
	err = f.eachFileList(ctx, func(info string, list []byte) {
		if found := w.in(list, ""); found != nil {
			f.dpkgPackage(info, found, known)
		}
	})
	for name, mode := range parseOverrides(overrides) {
		for _, path := range w[name] {
			file, packaged := known[path]
			if file.Mode, file.Override = mode, mode&0o6000 != 0; packaged || file.Override {
				known[path] = file
			}
		}
	}
	f.dpkgStatus(known)
	return err
}

// dpkgPackage notes the files that one package ships, which found has by their names in its list.
// info is the name of its data: "bash", "libc6:amd64".
func (f Finder) dpkgPackage(info string, found wanted, known map[string]File) {
	name, _, _ := strings.Cut(info, ":")
	sums, _ := f.readOptional(dpkgData + "info/" + info + ".md5sums") //nolint:errcheck // without them no digest is known
	digests := parseSums(sums)
	for listed, paths := range found {
		for _, path := range paths {
			known[path] = File{Package: name, Digest: digests[listed], Mode: -1}
		}
	}
}

// eachFileList reads the list of each package.
func (f Finder) eachFileList(ctx context.Context, use func(info string, list []byte)) error {
	names, err := hostfile.Names(filepath.Join(f.Root, dpkgData, "info"), 8*maxPackages)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, ok := strings.CutSuffix(name, ".list")
		if !ok {
			continue
		}
		list, err := f.read(dpkgData+"info/"+name, maxFileList)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		use(info, list)
	}
	return nil
}

// dpkgStatus adds the versions of the packages that were found, and the digests of their configuration
// files. What cannot be read stays unknown.
func (f Finder) dpkgStatus(known map[string]File) {
	if len(known) == 0 {
		return
	}
	status, _ := f.readOptional(dpkgData + "status") //nolint:errcheck // see above
	versions := map[string]string{}
	for _, file := range known {
		versions[file.Package] = ""
	}
	parseVersions(status, versions)
	digests := parseConffiles(status)
	for path, file := range known {
		file.Version = versions[file.Package]
		if digest, ok := digests[path]; ok && file.Package != "" {
			file.Digest = digest
		}
		known[path] = file
	}
}

// parseVersions fills in the versions of the packages in the map from dpkg's file "status"
// (deb-control(5)).
func parseVersions(status []byte, versions map[string]string) {
	name := ""
	for line := range bytes.Lines(status) {
		key, value, _ := strings.Cut(strings.TrimRight(string(line), "\n"), ": ")
		switch key {
		case "Package":
			name = value
		case "Version":
			if _, ok := versions[name]; ok {
				versions[name] = value
			}
		}
	}
}

// parseConffiles reads the fields Conffiles of dpkg's file "status": lines of a name and an MD5 sum,
// which begin with a blank. A file that its package no longer has is marked so and passed over.
func parseConffiles(status []byte) map[string]string {
	digests := map[string]string{}
	inside := false
	for line := range bytes.Lines(status) {
		if line[0] != ' ' {
			inside = bytes.HasPrefix(line, []byte("Conffiles:"))
			continue
		}
		if !inside {
			continue
		}
		words := strings.Fields(string(line))
		if len(words) >= 2 && strings.HasPrefix(words[0], "/") && isDigest(words[1]) && !slices.Contains(words[2:], "obsolete") {
			digests[words[0]] = words[1]
		}
	}
	return digests
}

// parseSums reads lines of md5sum(1), "DIGEST  usr/bin/x", and returns the digests by absolute name.
func parseSums(raw []byte) map[string]string {
	digests := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if digest, name, ok := strings.Cut(strings.TrimRight(line, "\n"), "  "); ok && isDigest(digest) {
			digests["/"+strings.TrimPrefix(name, "/")] = digest
		}
	}
	return digests
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

// parseOverrides returns the modes that the administrator gave files: "root crontab 2755 /usr/bin/crontab".
func parseOverrides(raw []byte) map[string]int {
	modes := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		f := strings.SplitN(strings.TrimRight(line, "\n"), " ", 4)
		if len(f) != 4 {
			continue
		}
		if mode, err := strconv.ParseUint(f[2], 8, 12); err == nil {
			modes[f[3]] = int(mode)
		}
	}
	return modes
}
