// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
)

// Bounds of an Inspection, for 8 KB in all.
const (
	maxAncestors = 16
	maxChildren  = 10
	maxFiles     = 15
	maxSockets   = 15
	maxCommand   = 300
	maxKin       = 80 // runes of a relative's command
	maxPath      = 160
)

// Inspect reads one process. sees says of a path whether whoever asks could list it himself; names of
// other files that somebody else's process has open are withheld. nil sees all.
func Inspect(ctx context.Context, source Inspector, pid int, sees func(owner int, path string) bool) (Inspection, error) {
	o, err := source.Inspect(ctx, pid)
	if err != nil {
		return Inspection{}, notInspected(ctx, pid, err)
	}
	i := &o.Inspection
	shows := func(path string) bool { return sees == nil || sees(o.FilesOf, path) }
	i.withhold(shows)
	i.within(o.Root, shows)
	i.bound()
	i.clean(o.Arguments)
	i.Notable = o.notable()
	i.Summary = i.summary()
	return *i, nil
}

func notInspected(ctx context.Context, pid int, err error) error {
	var thread *ThreadError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrNoProcess):
		return noProcess(pid)
	case errors.As(err, &thread):
		return fault.New(fault.InvalidPID, fmt.Sprintf("%d is the ID of a thread of %s, not of a process.",
			pid, Relative{thread.Process, thread.Name}.who())).WithFix(fmt.Sprintf("Send the PID of the process, %d.", thread.Process))
	default:
		return fault.Wrap(fault.Unavailable, fmt.Sprintf("Process %d cannot be read", pid), err)
	}
}

// within tells of the root directory that a process has of its own, and where its program is in that.
func (i *Inspection) within(root string, shows func(path string) bool) {
	if root == "" {
		return
	}
	why := "the process has a root directory of its own"
	if shows(root) {
		why += ", " + sanitize.Quoted(root, 100)
	} else if below, is := strings.CutPrefix(i.Program.Path, root+"/"); is {
		why += ", which whoever asks could not list: the path of the program is within that"
		i.Program.Path = "/" + below
	}
	i.Unavailable.Note("program.package", why)
}

// withhold takes out the names of files that whoever asks could not list.
func (i *Inspection) withhold(sees func(path string) bool) {
	if i.OpenFiles != nil {
		before := len(i.OpenFiles.Files)
		i.OpenFiles.Files = slices.DeleteFunc(i.OpenFiles.Files, func(f OpenFile) bool { return !sees(f.Path) })
		i.OpenFiles.Withheld = before - len(i.OpenFiles.Files)
	}
	if i.Program != nil && i.Program.Directory != "" && !sees(i.Program.Directory) {
		i.Program.Directory = ""
		i.Unavailable.Note("program.working_directory", "whoever asks could not list it")
	}
}

// bound cuts lists to what an answer has room for.
func (i *Inspection) bound() {
	i.Ancestry = i.Ancestry[:min(len(i.Ancestry), maxAncestors)]
	i.Children = i.Children[:min(len(i.Children), maxChildren)]
	if f := i.OpenFiles; f != nil {
		slices.SortStableFunc(f.Files, func(a, b OpenFile) int {
			return cmp.Or(removedFirst(a, b), cmp.Compare(size(b), size(a)), cmp.Compare(a.FD, b.FD))
		})
		f.Truncated = len(f.Files) > maxFiles
		f.Files, f.ByKind = notNil(f.Files[:min(len(f.Files), maxFiles)]), notNil(f.ByKind)
	}
	if s := i.Sockets; s != nil {
		slices.SortStableFunc(s.Sockets, func(a, b ProcessSocket) int { return cmp.Compare(rank(a), rank(b)) })
		s.Truncated = len(s.Sockets) > maxSockets
		s.Sockets, s.ByState = notNil(s.Sockets[:min(len(s.Sockets), maxSockets)]), notNil(s.ByState)
	}
}

// Cut leaves out the last file, socket and child, and the furthest ancestor that is shown, and reports
// whether there was any: long names take their room.
func (i *Inspection) Cut() bool {
	before := i.shown()
	if f := i.OpenFiles; f != nil && len(f.Files) > 0 {
		f.Files, f.Truncated = f.Files[:len(f.Files)-1], true
	}
	if s := i.Sockets; s != nil && len(s.Sockets) > 0 {
		s.Sockets, s.Truncated = s.Sockets[:len(s.Sockets)-1], true
	}
	i.Children = i.Children[:max(0, len(i.Children)-1)]
	if len(i.Ancestry) > nearest {
		i.Ancestry = i.Ancestry[:len(i.Ancestry)-1]
		i.noteOnce("ancestry", "the furthest are left out, for want of room")
	}
	return i.shown() < before
}

// nearest is how many ancestors are shown in any case.
const nearest = 4

func (i *Inspection) noteOnce(field, reason string) {
	if !slices.ContainsFunc(i.Unavailable, func(g answer.Gap) bool { return g.Field == field && g.Reason == reason }) {
		i.Unavailable.Note(field, reason)
	}
}

// shown counts the rows of all lists that can be cut.
func (i *Inspection) shown() int {
	n := len(i.Children) + len(i.Ancestry)
	if i.OpenFiles != nil {
		n += len(i.OpenFiles.Files)
	}
	if i.Sockets != nil {
		n += len(i.Sockets.Sockets)
	}
	return n
}

// Removed is the kind of a file that no name leads to any more.
const Removed = "removed"

func removedFirst(a, b OpenFile) int {
	at := func(f OpenFile) int {
		if f.Kind == Removed {
			return 0
		}
		return 1
	}
	return cmp.Compare(at(a), at(b))
}

func size(f OpenFile) float64 {
	if f.SizeMB == nil {
		return 0
	}
	return *f.SizeMB
}

// rank puts what listens first, and what neither listens nor is connected last.
func rank(s ProcessSocket) int {
	switch s.State {
	case "LISTEN":
		return 0
	case "ESTABLISHED":
		return 1
	default:
		return 2
	}
}

// clean makes texts of the host safe to show.
func (i *Inspection) clean(arguments []string) {
	i.Name = sanitize.Text(fullName(i.Name, arguments), 64)
	i.Command = sanitize.Command(arguments, maxCommand)
	i.WaitsFor = sanitize.Text(i.WaitsFor, 240)
	for _, name := range []*string{&i.User, &i.EffectiveUser, &i.LoginUser} {
		*name = sanitize.Text(*name, 64)
	}
	for _, list := range [][]Kin{i.Ancestry, i.Children} {
		for k := range list {
			list[k].Name, list[k].User = sanitize.Text(list[k].Name, 64), sanitize.Text(list[k].User, 64)
		}
	}
	if i.OpenFiles != nil {
		for k := range i.OpenFiles.Files {
			i.OpenFiles.Files[k].Path = sanitize.Text(i.OpenFiles.Files[k].Path, maxPath)
		}
	}
	if i.Program != nil {
		i.Program.Path, i.Program.Directory = sanitize.Text(i.Program.Path, maxPath), sanitize.Text(i.Program.Directory, maxPath)
		i.Program.Package, i.Program.PackageVersion = sanitize.Text(i.Program.Package, 64), sanitize.Text(i.Program.PackageVersion, 64)
		i.Program.Signature = sanitize.Text(i.Program.Signature, 120)
	}
	if i.StartedBy != nil {
		i.StartedBy.How, i.StartedBy.Unit = sanitize.Text(i.StartedBy.How, 200), sanitize.Text(i.StartedBy.Unit, 128)
	}
	if i.ControlGroup != nil {
		i.ControlGroup.Path = sanitize.Text(i.ControlGroup.Path, maxPath)
	}
	i.Ancestry, i.Children, i.Limits = notNil(i.Ancestry), notNil(i.Children), notNil(i.Limits)
	if i.Unavailable == nil {
		i.Unavailable = answer.Gaps{}
	}
}

// notNil is for lists that are never null.
func notNil[T any](list []T) []T { return append([]T{}, list...) }

// KinCommand is the command line of a relative as it is shown.
func KinCommand(arguments []string) string { return sanitize.Command(arguments, maxKin) }

// KinText names a relative in a sentence.
func KinText(k Kin) string { return Relative{k.PID, k.Name}.who() }

// summary says in a sentence what the process is.
func (i *Inspection) summary() string {
	text := sanitize.Quoted(i.Name, maxName)
	if i.User != "" {
		text += " of " + cmp.Or(i.EffectiveUser, i.User)
	}
	if i.AgeSeconds != nil {
		text += " has run for " + humanize.Duration(*i.AgeSeconds) + ", used " + humanize.Duration(int64(i.CPUSeconds)) + " of CPU time"
	}
	if i.Memory != nil {
		text += fmt.Sprintf(" and holds %.0f MiB of memory", i.Memory.ResidentMB)
		if i.Memory.HugeMB != nil {
			text += fmt.Sprintf(", and %.0f MiB in huge pages", *i.Memory.HugeMB)
		}
		if i.Memory.TablesMB != nil {
			text += fmt.Sprintf(", and %.0f MiB in page tables", *i.Memory.TablesMB)
		}
	}
	if i.StartedBy != nil && i.StartedBy.How != "" {
		text += "; " + i.StartedBy.How
	}
	return text + "."
}

// Aged fills in since when a process runs.
func (i *Inspection) Aged(age time.Duration, now time.Time) {
	began := now.Add(-age).UTC().Truncate(time.Second)
	seconds := int64(age / time.Second)
	i.StartedAt, i.AgeSeconds = &began, &seconds
}
