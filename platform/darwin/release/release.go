// SPDX-License-Identifier: Apache-2.0

// Package release reads the release of macOS from sw_vers(1) and that of the kernel from uname(1).
package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/plist"
)

const (
	swVers = "/usr/bin/sw_vers"
	uname  = "/usr/bin/uname"
	// versionFile is the file that sw_vers reads, below the root.
	versionFile = "System/Library/CoreServices/SystemVersion.plist"
	limit       = 5 * time.Second
	waitDelay   = 200 * time.Millisecond
	maxOutput   = 64 << 10
)

// ErrFormat reports output that does not have its documented form.
var ErrFormat = errors.New("unexpected format")

// An OS is a release of macOS.
type OS struct {
	Name    string // "macOS"
	Version string // "13.3.1"
	// Extra is the suffix of a Rapid Security Response: "(a)"; empty without one (sw_vers of macOS
	// 13.3 and later).
	Extra string
	Build string // "22E261"
}

// Full returns the version with the suffix of a Rapid Security Response.
func (o OS) Full() string { return strings.TrimSpace(o.Version + " " + o.Extra) }

// String returns text for display: "macOS 13.3.1 (a) (22E772610a)".
func (o OS) String() string {
	text := strings.TrimSpace(o.Name + " " + o.Full())
	if o.Build != "" {
		text += " (" + o.Build + ")"
	}
	return text
}

// Read runs sw_vers, which alone reports a Rapid Security Response. If that fails, it reads the
// file behind it, below root.
func Read(ctx context.Context, runner sysexec.Runner, root string) (OS, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: swVers, Timeout: limit, WaitDelay: waitDelay, MaxOutput: maxOutput})
	if err == nil {
		if o, err := ParseVersion(r.Stdout); err == nil {
			return o, nil
		}
	}
	return readFile(filepath.Join(root, versionFile), err)
}

func readFile(path string, why error) (OS, error) {
	f, err := os.Open(path)
	if err != nil {
		if why != nil && errors.Is(err, fs.ErrNotExist) {
			err = why
		}
		return OS{}, err
	}
	defer f.Close() //nolint:errcheck // only read from
	var v struct {
		Name    string `plist:"ProductName"`
		Version string `plist:"ProductVersion"`
		Build   string `plist:"ProductBuildVersion"`
	}
	if err := plist.Read(f, &v); err != nil {
		return OS{}, err
	}
	if v.Version == "" {
		return OS{}, ErrFormat
	}
	return OS{Name: v.Name, Version: v.Version, Build: v.Build}, nil
}

// ParseVersion parses the output of sw_vers without options. Tabs or blanks separate a name from
// its value.
func ParseVersion(printed []byte) (OS, error) {
	var o OS
	for line := range strings.Lines(string(printed)) {
		name, value, ok := strings.Cut(line, ":")
		if to := o.field(name); ok && to != nil && strings.HasSuffix(line, "\n") {
			*to = strings.TrimSpace(value)
		}
	}
	if o.Name == "" || o.Version == "" || o.Build == "" {
		return OS{}, ErrFormat
	}
	return o, nil
}

func (o *OS) field(name string) *string {
	switch name {
	case "ProductName":
		return &o.Name
	case "ProductVersion":
		return &o.Version
	case "ProductVersionExtra":
		return &o.Extra
	case "BuildVersion":
		return &o.Build
	default:
		return nil
	}
}

// A Kernel holds what uname(1) reports.
type Kernel struct {
	Hostname string
	Release  string // of Darwin: "25.6.0"
	Machine  string // "arm64" or "x86_64"
}

// ReadKernel runs uname.
func ReadKernel(ctx context.Context, runner sysexec.Runner) (Kernel, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: uname, Args: []string{"-a"}, Timeout: limit, WaitDelay: waitDelay, MaxOutput: maxOutput})
	if err != nil {
		return Kernel{}, err
	}
	return ParseKernel(r.Stdout)
}

// ParseKernel parses the output of "uname -a": the name of the system, the host name, the release,
// the version, which contains blanks, and the machine.
func ParseKernel(printed []byte) (Kernel, error) {
	line, _, whole := strings.Cut(string(printed), "\n")
	fields := strings.Fields(line)
	if !whole || len(fields) < 5 || fields[0] != "Darwin" {
		return Kernel{}, fmt.Errorf("uname: %w", ErrFormat)
	}
	k := Kernel{Hostname: fields[1], Release: fields[2], Machine: fields[len(fields)-1]}
	// Under Rosetta the machine is the emulated one; the version is still that of the kernel.
	if strings.Contains(line, "/RELEASE_ARM64") {
		k.Machine = "arm64"
	}
	return k, nil
}
