// SPDX-License-Identifier: Apache-2.0

// Package assets reads the inventory of a Linux system. It runs no program and
// needs no root, though root sees more.
package assets

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"sentinel/internal/assets"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/release"
	"sentinel/platform/unix/hostfile"
)

// errIPv4 reports why IPv4 addresses are missing.
var errIPv4 = errors.New("IPv4 addresses are known to netlink alone, which did not answer")

// An Inventory reads one system, again on each call. It is safe for concurrent
// use.
type Inventory struct {
	root    string
	proc    procfs.FS
	release release.FS
	mounts  *mounts.FS
	links   func() ([]interfaces.Link, error)
}

var _ assets.Source = (*Inventory)(nil)

// New returns the inventory of the system below root, "/" on a live system. For any other tree
// interfaces come only from its files.
func New(root string) *Inventory {
	list := interfaces.List
	if root != "/" {
		list = func() ([]interfaces.Link, error) { return nil, errors.ErrUnsupported }
	}
	return &Inventory{root: root, proc: procfs.New(root), release: release.New(root), mounts: mounts.New(root), links: list}
}

// System implements [assets.Source].
func (v *Inventory) System(context.Context) assets.System {
	s := assets.System{}
	id, err := v.release.MachineID()
	s.MachineID = fact([16]byte(id), err)
	kernel, kernelErr := v.release.Kernel()
	s.Hostname = kernel.Hostname
	s.Kernel = fact(kernel.Release, kernelErr)
	s.Architecture = fact(kernel.Architecture, nil)
	name, err := v.release.OS()
	s.Name = assets.Fact[string]{Err: reason(err)}
	if err == nil {
		s.Name.Value = osName(name)
	}
	s.Version = fact(osVersion(name), err)
	s.Build = fact(v.release.Build(name, kernel), nil)
	seconds, err := v.proc.Uptime()
	s.Uptime = fact(time.Duration(seconds*float64(time.Second)), err)
	return s
}

// osName is never empty: os-release(5) has "Linux" as the default.
func osName(o release.OS) string {
	for _, name := range [...]string{o.Name, o.PrettyName, o.ID} {
		if name != "" {
			return name
		}
	}
	return "Linux"
}

// osVersion is empty for rolling releases.
func osVersion(o release.OS) string {
	if o.VersionID != "" {
		return o.VersionID
	}
	return o.Version
}

// fact joins a value and its error. A value that was read despite an error counts.
func fact[T comparable](value T, err error) assets.Fact[T] {
	var none T
	if value != none {
		return assets.Fact[T]{Value: value}
	}
	return assets.Fact[T]{Err: reason(err)}
}

// reason drops the path from an error, except from the two kinds that the domain
// words itself.
func reason(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return hostfile.Reason(err)
}
