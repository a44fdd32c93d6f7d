// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/sysexec"
	"sentinel/platform/unix/hostfile"
)

// pacman reads the file lists of pacman, which hold no modes, and the digests of packages with a file
// that was found. The name of a package's directory is "bash-5.2.037-1": name, version and release.
func (f Finder) pacman(ctx context.Context, paths []string, known map[string]File) error {
	const directory = "/var/lib/pacman/local"
	w := wantedNames(paths, f.inSbin(paths))
	names, err := hostfile.Names(filepath.Join(f.Root, directory), maxPackages)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		list, err := f.read(directory+"/"+name+"/files", maxFileList)
		if hostfile.Missing(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		of := File{Package: name, Mode: -1}
		if parts := strings.Split(name, "-"); len(parts) > 2 {
			of.Package, of.Version = strings.Join(parts[:len(parts)-2], "-"), strings.Join(parts[len(parts)-2:], "-")
		}
		found := w.in(list, "/")
		if len(found) == 0 {
			continue
		}
		packed, _ := f.readOptional(directory + "/" + name + "/mtree") //nolint:errcheck // without it no digest is known
		digests := parseMtree(unpack(packed))
		for listed, paths := range found {
			of.Digest = digests[listed]
			for _, path := range paths {
				known[path] = of
			}
		}
	}
	return nil
}

// unpack returns what a gzip file holds, as far as it is whole and not larger than a file list.
func unpack(raw []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	list, _ := io.ReadAll(io.LimitReader(r, maxFileList)) //nolint:errcheck // what is missing is not known
	return list
}

// parseMtree reads the digests of an mtree(5) file: "./etc/x time=1.0 size=2 sha256digest=…".
func parseMtree(raw []byte) map[string]string {
	digests := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.HasPrefix(words[0], "./") {
			continue
		}
		for _, word := range words[1:] {
			if digest, ok := strings.CutPrefix(word, "sha256digest="); ok && isDigest(digest) {
				digests[unescape(words[0][1:])] = digest
			}
		}
	}
	return digests
}

// unescape resolves the octal escapes of mtree(5): "a\\040b".
func unescape(name string) string {
	if !strings.Contains(name, `\`) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' && i+3 < len(name) {
			if n, err := strconv.ParseUint(name[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// apk reads the data base of apk, which holds each mode that is not 0755.
func (f Finder) apk(file string, paths []string, known map[string]File) error {
	raw, err := f.read(file, 4*maxFileList)
	if err != nil {
		return err
	}
	w := wantedNames(paths, f.inSbin(paths))
	parseApk(raw, func(name string, of File) {
		for _, path := range w[name] {
			known[path] = of
		}
	})
	return nil
}

// parseApk reads the lines P (package), V (version), F (directory), R (file in it), a
// (owner:group:mode of that file) and Z (its SHA-1 as "Q1" and base64) of apk's file "installed".
func parseApk(raw []byte, file func(name string, of File)) {
	var at File
	directory, name := "", ""
	flush := func() {
		if name != "" {
			file("/"+strings.TrimPrefix(directory+"/"+name, "/"), at)
		}
		name, at.Mode, at.Digest = "", 0o755, ""
	}
	for line := range bytes.Lines(raw) {
		key, value, ok := strings.Cut(strings.TrimRight(string(line), "\n"), ":")
		switch {
		case !ok:
			flush()
		case key == "P":
			flush()
			at = File{Package: value, Mode: 0o755}
		case key == "V":
			at.Version = value
		case key == "F":
			flush()
			directory = value
		case key == "R":
			flush()
			name = value
		case key == "Z":
			at.Digest = apkDigest(value)
		case key == "a":
			if n, err := strconv.ParseUint(value[strings.LastIndexByte(value, ':')+1:], 8, 12); err == nil {
				at.Mode = int(n)
			}
		}
	}
	flush()
}

func apkDigest(value string) string {
	text, ok := strings.CutPrefix(value, "Q1")
	sum, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(sum) != 20 {
		return ""
	}
	return hex.EncodeToString(sum)
}

// rpmForm has rpm print mode, digest, package, version and name of each file of packages
// (rpm-queryformat(7)). A file without a digest, such as a link, has an empty word
// there.
const rpmForm = `[%{FILEMODES:octal} \(%{FILEDIGESTS}\) %{=NAME} %{=VERSION}-%{=RELEASE} %{FILENAMES}\n]`

// rpmOwner has rpm print the package that owns a file, in the form that it takes for the name of one.
const rpmOwner = `%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}\n`

// Bounds of what rpm is asked at once. It prints all files of a package, and the system bounds arguments
// (execve(2)): who enters many programs as their own must not keep it from telling of others.
const (
	rpmPackages = 50
	rpmPaths    = 200 // of 4096 bytes at most (PATH_MAX)
)

// rpm asks rpm(8) first which packages own the files, and then for the files of these, each once.
func (f Finder) rpm(ctx context.Context, paths []string, known map[string]File) error {
	if f.Runner == nil {
		return errNotLive
	}
	var owners []string
	for some := range slices.Chunk(paths, rpmPaths) {
		found, err := f.rpmOwners(ctx, some)
		if err != nil {
			return err
		}
		owners = append(owners, found...)
	}
	slices.Sort(owners)
	w := wantedNames(paths, f.inSbin(paths))
	for some := range slices.Chunk(slices.Compact(owners), rpmPackages) {
		r, err := f.askRPM(ctx, append([]string{"-q", "--qf", rpmForm}, some...))
		if err != nil {
			return err
		}
		for name, file := range parseRPM(r.Stdout) {
			for _, path := range w[name] {
				known[path] = file
			}
		}
	}
	return nil
}

// rpmOwners lists the packages that own files. A file of none makes a line with its name, which has blanks
// and is no package. Every argument after the options begins with a slash.
func (f Finder) rpmOwners(ctx context.Context, paths []string) (owners []string, err error) {
	r, err := f.askRPM(ctx, append([]string{"-q", "--qf", rpmOwner, "-f"}, paths...))
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 && len(r.Stdout) == 0 && !bytes.Contains(r.Stderr, []byte("No such file or directory")) {
		return nil, errNoAnswer
	}
	for line := range strings.Lines(string(r.Stdout)) {
		if name := strings.TrimSuffix(line, "\n"); isAlphanumeric(name) && !strings.ContainsAny(name, " /") {
			owners = append(owners, name)
		}
	}
	return owners, nil
}

// isAlphanumeric reports whether a name begins with a letter or a digit, and so is no option.
func isAlphanumeric(name string) bool {
	return name != "" && (name[0] >= '0' && name[0] <= '9' || name[0] >= 'A' && name[0] <= 'Z' || name[0] >= 'a' && name[0] <= 'z')
}

func (f Finder) askRPM(ctx context.Context, args []string) (sysexec.Result, error) {
	return f.Runner.Run(ctx, sysexec.Command{Path: "/usr/bin/rpm", Args: args, MaxOutput: maxFileList, Timeout: askLimit})
}

// parseRPM reads lines of [rpmForm]: "0104755 (9f86d0…) util-linux 2.40-1 /usr/bin/su". The lines for
// files that no package owns have another form and are passed over.
func parseRPM(out []byte) map[string]File {
	files := map[string]File{}
	for line := range strings.Lines(string(out)) {
		words := strings.SplitN(strings.TrimRight(line, "\n"), " ", 5)
		if len(words) != 5 || !strings.HasPrefix(words[4], "/") {
			continue
		}
		mode, err := strconv.ParseUint(words[0], 8, 32)
		digest, ok := strings.CutPrefix(words[1], "(")
		if err != nil || !ok {
			continue
		}
		file := File{Package: words[2], Version: words[3], Mode: int(mode)}
		if digest = strings.TrimSuffix(digest, ")"); isDigest(digest) {
			file.Digest = digest
		}
		files[words[4]] = file
	}
	return files
}
