// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/privilege"
	"sentinel/internal/processes"
	"sentinel/platform/linux/packages"
	"sentinel/platform/linux/procfs"
)

// program looks at the file that runs.
func (r *reading) program(ctx context.Context) {
	if r.o.Claim.Kernel || r.stat.Zombie() {
		return
	}
	p := &processes.Program{}
	var err error
	if p.Directory, err = r.proc.Link(r.task, "cwd"); err != nil {
		r.lacks("program.working_directory", err)
	}
	if err := r.claim(ctx); err != nil {
		r.lacks("program", err)
		return
	}
	c := r.o.Claim
	p.Path, p.RootOnly, p.State = c.Program, c.System, fileState(c)
	r.o.Program = p
	if p.State == "" {
		r.o.Unavailable.Note("program.state", "it runs "+string(c.Place))
	}
	if c.Unmapped {
		r.o.Unavailable.Note("program.package", "what runs is not the file that the process is shown with")
		return
	}
	if c.Loader != "" {
		r.o.Unavailable.Note("program.package", "a dynamic loader runs it, and only its path is known")
		return
	}
	if root, err := r.proc.Link(r.task, "root"); err == nil && root != "/" && r.root == "/" {
		r.o.Root = root
		return
	}
	exe, err := r.exe()
	if err != nil {
		r.lacks("program.modified_at", err)
		return
	}
	file, err := procfs.StatHeld(exe)
	if err != nil {
		r.lacks("program.modified_at", err)
		return
	}
	modified := file.Modified.UTC().Truncate(time.Second)
	r.o.Modified(modified)
	p.SetUserID = file.Lent()
	p.ChangedSince = r.o.StartedAt != nil && modified.After(*r.o.StartedAt) && !modified.After(r.now())
	r.packaged(ctx, p)
}

// exe is the file that runs, whatever its path leads to.
func (r *reading) exe() (string, error) {
	if r.root == "/" {
		return r.proc.Path(r.task, "exe")
	}
	return filepath.Join(r.root, r.o.Claim.Program), nil // an ordinary link in a tree of files
}

// fileState says what became of the file; "" where its path leads to another place than it is in.
func fileState(c processes.Claim) string {
	switch {
	case c.Unmapped, strings.HasPrefix(c.Program, "/memfd:"):
		return "memory"
	case c.Replaced:
		return "replaced"
	case c.Removed:
		return processes.Removed
	case c.Place != "" && c.Place != processes.PlaceTooLong:
		return ""
	default:
		return "present"
	}
}

// claim fills in what the process is, as [Source.Disguises] does for all.
func (r *reading) claim(ctx context.Context) error {
	c, err := ask(ctx, func() (processes.Claim, error) {
		of := r.o.Claim
		of.PID = r.task
		of, err := r.Source.claim(of, r.owner())
		if err == nil {
			of, err = r.loaded(of)
		}
		return of, err
	})
	if err == nil {
		c.PID = r.pid
		r.o.Claim = c
	}
	return err
}

// packaged finds the package of the program, and compares what runs with it. In a mount namespace of
// its own a process sees other files than the package manager knows.
func (r *reading) packaged(ctx context.Context, p *processes.Program) {
	if r.o.Claim.Mounts != processes.MountsHere || p.State == "memory" {
		r.o.Unavailable.Note("program.package", "the process has a file system of its own, as in a container")
		return
	}
	found, err := r.packages.Files(ctx, []string{p.Path})
	if err != nil {
		r.o.Unavailable.Note("program.package", answer.Reason(err))
		return
	}
	file, of := found[p.Path]
	p.OfPackage, p.Package, p.PackageVersion = &of, file.Package, file.Version
	if !of || file.Digest == "" || p.State != "present" {
		return
	}
	same, err := ask(ctx, func() (bool, error) { return r.same(file) })
	if err != nil {
		r.lacks("program.as_packaged", err)
		return
	}
	p.AsPackaged = &same
}

// same reads what runs, unless it is another file than the one that is called so here: that may be on a
// file system whose server is its user's.
func (r *reading) same(file packages.File) (bool, error) {
	named, err := procfs.StatNamed(filepath.Join(r.root, r.o.Claim.Program))
	if err != nil {
		return false, err
	}
	exe, err := r.exe()
	if err != nil {
		return false, err
	}
	f, err := procfs.OpenHeld(exe, named.Is)
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // only read from
	return file.Same(f)
}

// owner is who files of the system belong to: in a tree of files, whoever made it.
func (s *Source) owner() int {
	if s.root == "/" {
		return 0
	}
	return privilege.EffectiveUID()
}

// claim adds to what a process calls itself what it is. It may wait for a file system.
func (s *Source) claim(c processes.Claim, owner int) (processes.Claim, error) {
	program, err := s.proc.Program(c.PID, owner)
	if program.Path == "" {
		return c, err
	}
	c.Program, c.Removed, c.System, c.Unmapped = program.Path, program.Removed, program.System, program.Unmapped
	there, gone := procfs.StatNamed(filepath.Join(s.root, c.Program))
	runs, err := s.runs(c)
	if err != nil {
		return c, nil //nolint:nilerr // the path is known, which is what counts
	}
	c.Owner = int(runs.UID)
	c.Clone = runs.UID == 0 && !c.Unmapped && procfs.CloneOf(c.Program) != ""
	if c.System {
		c.Replaced = c.Removed && gone == nil
		return s.named(c, runs, owner), nil
	}
	if c.Unmapped || gone != nil || !runs.Is(there) {
		c.Mounts = s.mountsOf(c)
	}
	c.Login = s.loggedIn(c)
	c.Place = placeOf(c.Program)
	c.Replaced = c.Removed && gone == nil && filepath.IsAbs(c.Program) && (c.Mounts == processes.MountsHere || there.UID == runs.UID)
	c.Deployed = c.Replaced && s.deployed(c)
	if c.Apart = s.canHaveMounted(c); c.Apart && c.Place == "" {
		c.Place = s.place(c, runs)
	}
	return s.named(c, runs, owner), nil
}

// named says where the path leads that a process calls itself by.
func (s *Source) named(c processes.Claim, runs procfs.Held, owner int) processes.Claim {
	if !filepath.IsAbs(c.Argument) {
		return c
	}
	there, err := procfs.StatNamed(filepath.Join(s.root, c.Argument))
	c.Same = err == nil && runs.Is(there)
	c.Placed = c.Same && s.proc.Placed(c.Argument, owner)
	return c
}

// deployed reports that the user of a process cannot put a file at the path of its program, as where a
// service is installed anew by somebody else.
func (s *Source) deployed(c processes.Claim) bool {
	in, err := s.groupsOf(c.PID)
	if err != nil || c.Mounts == processes.MountsOfUser {
		return false
	}
	user := s.proc.UserOf(c.UserID) // who has 65,536 others in a user namespace
	for at := filepath.Dir(c.Program); c.UserID != 0 && at != "/"; at = filepath.Dir(at) {
		dir, err := procfs.StatNamed(filepath.Join(s.root, at))
		if err != nil || s.proc.UserOf(int(dir.UID)) == user || canWrite(dir, c.UserID, in) {
			return false
		}
	}
	return true
}

// groupsOf tells in which groups the user of a process is: perhaps in any, where the process can leave them.
func (s *Source) groupsOf(pid int) (in func(gid int) bool, err error) {
	groups, err := s.proc.Groups(pid)
	if errors.Is(err, procfs.ErrOtherUsers) {
		return func(int) bool { return true }, nil
	}
	return func(gid int) bool { return slices.Contains(groups, gid) }, err
}

// canWrite reports that a user may put files into a directory, or let himself.
func canWrite(dir procfs.Held, uid int, in func(gid int) bool) bool {
	return int(dir.UID) == uid || dir.Mode&0o002 != 0 || dir.Mode&0o020 != 0 && in(int(dir.GID))
}

// runs looks at the file that runs.
func (s *Source) runs(c processes.Claim) (procfs.Held, error) {
	if s.root != "/" {
		return procfs.StatHeld(filepath.Join(s.root, c.Program))
	}
	return s.proc.Held(c.PID, "exe")
}
