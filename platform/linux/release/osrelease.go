// SPDX-License-Identifier: Apache-2.0

// Package release identifies the operating system: os-release(5), the kernel's name and version,
// and machine-id(5).
package release

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// maxFile caps each file read here, in bytes. os-release is about 300.
const maxFile = 64 << 10

// ErrFormat reports content that does not have its documented form.
var ErrFormat = errors.New("unexpected format")

// An OS holds the variables of os-release(5) that sentinel needs. An unset variable is empty.
type OS struct {
	ID           string // "debian"
	Name         string // "Debian GNU/Linux"
	PrettyName   string // "Debian GNU/Linux 12 (bookworm)"
	Version      string // "12 (bookworm)"
	VersionID    string // "12"; rolling releases have none
	Codename     string // "bookworm"
	BuildID      string // set by image-based systems
	ImageVersion string // likewise
}

// An FS reads the files below a root directory.
type FS struct {
	root string
}

// New returns the FS for root; root is "/" on a live system.
func New(root string) FS { return FS{root: root} }

func (fs FS) path(name string) string { return filepath.Join(fs.root, name) }

// OS reads /etc/os-release, or /usr/lib/os-release if the first is missing, as os-release(5)
// specifies.
func (fs FS) OS() (OS, error) {
	raw, err := hostfile.Read(fs.path("etc/os-release"), maxFile)
	if hostfile.Missing(err) {
		raw, err = hostfile.Read(fs.path("usr/lib/os-release"), maxFile)
	}
	if err != nil {
		return OS{}, err
	}
	return parseOSRelease(raw)
}

// parseOSRelease takes the last assignment of a variable, as a shell would. It
// fails on content without any assignment, which is not an os-release file.
func parseOSRelease(b []byte) (OS, error) {
	var o OS
	assigned := false
	for line := range bytes.Lines(b) {
		name, value, ok := strings.Cut(strings.TrimSpace(string(line)), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		assigned = true
		if to := o.variable(name); to != nil {
			*to = unquote(value)
		}
	}
	if !assigned {
		return OS{}, ErrFormat
	}
	return o, nil
}

// HasSecurityArchive reports whether security updates come from an archive of their own, as for the
// releases of Debian and Ubuntu; Debian's unstable has no VERSION_ID.
func (o OS) HasSecurityArchive() bool {
	return (o.ID == "debian" || o.ID == "ubuntu") && o.VersionID != ""
}

func (o *OS) variable(name string) *string {
	switch name {
	case "ID":
		return &o.ID
	case "NAME":
		return &o.Name
	case "PRETTY_NAME":
		return &o.PrettyName
	case "VERSION":
		return &o.Version
	case "VERSION_CODENAME":
		return &o.Codename
	case "VERSION_ID":
		return &o.VersionID
	case "BUILD_ID":
		return &o.BuildID
	case "IMAGE_VERSION":
		return &o.ImageVersion
	default:
		return nil
	}
}

// unquote undoes the quoting of the shell that os-release(5) allows: single
// quotes, double quotes, and a backslash before a special character. Nothing is expanded.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\'' {
		return s[1 : len(s)-1]
	}
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(`$"'\`+"`", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Build returns the build of the system: BUILD_ID, else IMAGE_VERSION, else on Debian the point
// release, else the version of the kernel.
func (fs FS) Build(o OS, k Kernel) string {
	if o.BuildID != "" {
		return o.BuildID
	}
	if o.ImageVersion != "" {
		return o.ImageVersion
	}
	if o.ID == "debian" || o.ID == "raspbian" {
		if version, err := hostfile.Text(fs.path("etc/debian_version")); err == nil {
			return version
		}
	}
	return k.Version
}
