// SPDX-License-Identifier: Apache-2.0

// Package startup finds what starts by itself on Linux, in the files below a root directory. It
// runs nothing but rpm, which is asked for the owners of files.
package startup

import (
	"bytes"
	"context"
	"strings"
	"time"

	"sentinel/internal/startup"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/packages"
	"sentinel/platform/unix/hostfile"
)

// Parts are what is seen of a system.
type Parts struct {
	Root   string         // "/" on a live system
	Runner sysexec.Runner // nil for a tree of files
	EUID   int            // of this run
	Owner  int            // user that files of the system belong to; 0 on a live system
}

// A Source finds what starts by itself. It is safe for concurrent use.
type Source struct{ parts Parts }

var _ startup.Source = (*Source)(nil)

// New returns the source for the system that p describes.
func New(p Parts) *Source { return &Source{p} }

const (
	filesLimit    = 6 * time.Second // for all files of the system
	homesLimit    = 5 * time.Second // for all homes
	packagesLimit = 12 * time.Second
)

// families are the ways in which something starts by itself. Those come last of which users have any
// number of files: they cost the others no time.
var families = []func(*survey){
	(*survey).units, (*survey).mounts, (*survey).cron, (*survey).scripts, (*survey).services, (*survey).shells, (*survey).loader, (*survey).pam, (*survey).udev,
	(*survey).modules, (*survey).kernel, (*survey).desktop, (*survey).dbus, (*survey).sshd, (*survey).hooks, (*survey).handlers,
	(*survey).personalTables, (*survey).at,
}

// Startup implements [startup.Source].
func (s *Source) Startup(ctx context.Context) (startup.Found, error) {
	v := newSurvey(s.parts)
	files, cancel := context.WithTimeout(ctx, filesLimit)
	defer cancel()
	v.ctx = files
	v.accounts()
	for _, family := range families {
		family(v)
	}
	v.homes(ctx)
	v.join()
	if err := ctx.Err(); err != nil {
		return startup.Found{}, err
	}
	v.inspect(ctx)
	v.attribute(ctx)
	return v.found(), nil
}

// attribute looks up which packages own the files and programs, all at once.
func (s *survey) attribute(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, packagesLimit)
	defer cancel()
	var names []string
	seen := map[string]bool{}
	want := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, e := range s.entries {
		want(e.source)
		for _, p := range e.Programs {
			want(p.Real)
		}
	}
	owned, err := packages.Finder{Root: s.Root, Runner: s.Runner}.Files(ctx, names)
	if err != nil {
		s.packages = err
		return
	}
	for _, e := range s.entries {
		s.attributeEntry(e, owned)
	}
}

func (s *survey) attributeEntry(e *entry, owned map[string]packages.File) {
	for i := range e.Programs {
		switch real := e.Programs[i].Real; {
		case real == "":
		case owned[real].Package != "":
			e.Programs[i].Origin = startup.Packaged
		default:
			e.Programs[i].Origin = startup.NoPackage
		}
	}
	if e.Origin != startup.UnknownOrigin { // known already
		return
	}
	of := owned[e.source]
	switch {
	case of.Package == "":
		e.Origin = startup.NoPackage
	case s.altered(e.source, of):
		e.Package, e.Origin = of.Package, startup.Modified
	default:
		e.Package, e.Origin = of.Package, startup.Packaged
	}
}

// altered reports whether a file is known to have another content than its package.
func (s *survey) altered(name string, of packages.File) bool {
	if of.Digest == "" {
		return false
	}
	raw, _, err := hostfile.ReadBelow(s.Root, strings.TrimPrefix(name, "/"), maxFile)
	if err != nil {
		return false
	}
	same, err := of.Same(bytes.NewReader(raw))
	return err == nil && !same
}
