// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/deadline"
	"sentinel/internal/network"
	"sentinel/internal/processes"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/codesign"
	"sentinel/platform/darwin/lsof"
	"sentinel/platform/darwin/ps"
	jobs "sentinel/platform/darwin/services"
)

// An Inspector reads one process from what ps, lsof, codesign and launchctl print.
type Inspector struct {
	runner sysexec.Runner
	root   string // below which programs are looked at; "/" on a real Mac
	euid   int
	now    func() time.Time
}

var _ processes.Inspector = (*Inspector)(nil)

// NewInspector returns the Inspector of a Mac. It runs nothing.
func NewInspector(runner sysexec.Runner, root string, euid int, now func() time.Time) *Inspector {
	return &Inspector{runner, root, euid, now}
}

// A reading is one inspection.
type reading struct {
	*Inspector
	process ps.Process
	table   map[int]ps.Process
	o       processes.Observation
}

// Inspect implements [processes.Inspector]. The start is compared at the end: what was read belongs
// to one process.
func (s *Inspector) Inspect(ctx context.Context, pid int) (processes.Observation, error) {
	list, err := ps.Table(ctx, s.runner)
	if err != nil {
		return processes.Observation{}, err
	}
	r := &reading{Inspector: s, table: make(map[int]ps.Process, len(list))}
	for _, p := range list {
		r.table[p.PID] = p
	}
	found := false
	if r.process, found = r.table[pid]; !found {
		return processes.Observation{}, processes.ErrNoProcess
	}
	r.identity(ctx)
	r.kin()
	r.origin(ctx)
	r.files(ctx)
	r.signature(ctx)
	for _, field := range []string{"limits", "control_group", "waits_for", "program.package"} {
		r.o.Unavailable.Note(field, "macOS has no program that tells it of another process")
	}
	again, err := ps.Lookup(ctx, s.runner, pid)
	switch {
	case err != nil:
		return processes.Observation{}, err
	case len(again) == 0 || again[0].StartID() != r.process.StartID():
		return processes.Observation{}, processes.ErrNoProcess
	}
	return r.o, ctx.Err()
}

func (r *reading) lacks(field string, err error) {
	if err != nil {
		r.o.Unavailable.Note(field, answer.Reason(err))
	}
}

func (r *reading) identity(ctx context.Context) {
	o, p := &r.o, r.process
	o.PID, o.Name, o.Status, o.StartID = p.PID, p.Name(), processes.Status(state(p.State)), p.StartID()
	o.User, o.UserID, o.FilesOf, o.CPUSeconds = p.User, p.UID, p.UID, p.CPU.Seconds()
	o.Aged(max(r.now().Sub(p.Started), 0), r.now())
	o.Memory = &processes.MemoryKinds{ResidentMB: mebibytes(p.RSS)}
	o.Claim = processes.Claim{PID: p.PID, Name: p.Name(), UserID: p.UID, Owner: -1}
	lines, err := ps.CommandLines(ctx, r.runner, p.PID)
	r.lacks("command", err)
	for _, l := range lines {
		if l.PID == p.PID && l.StartID == p.StartID() {
			o.Arguments = arguments(p, l.Text)
		}
	}
}

func mebibytes(n uint64) float64 { return float64(n*10>>20) / 10 }

func (r *reading) kin() {
	for pid := r.process.PPID; pid > 0 && len(r.o.Ancestry) < 64; pid = r.table[pid].PPID {
		r.o.Ancestry = append(r.o.Ancestry, kinOf(pid, r.table[pid]))
	}
	children := map[int][]ps.Process{}
	for _, p := range r.table {
		children[p.PPID] = append(children[p.PPID], p)
	}
	own := children[r.process.PID]
	slices.SortFunc(own, func(a, b ps.Process) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.PID, b.PID)) })
	for _, p := range own {
		r.o.Children = append(r.o.Children, kinOf(p.PID, p))
	}
	r.o.ChildrenAll = len(own)
	for queue := []int{r.process.PID}; len(queue) > 0 && r.o.Descendants < len(r.table); queue = queue[1:] {
		for _, p := range children[queue[0]] {
			r.o.Descendants++
			queue = append(queue, p.PID)
		}
	}
}

func kinOf(pid int, p ps.Process) processes.Kin {
	if p.PID == 0 {
		return processes.Kin{PID: pid}
	}
	return processes.Kin{PID: pid, Name: p.Name(), User: p.User, Status: processes.Status(state(p.State))}
}

func (r *reading) origin(ctx context.Context) {
	unit, err := deadline.Call(ctx, unitLimit, func(ctx context.Context) (processes.Unit, error) {
		return jobs.Of(ctx, r.runner, r.process.PID, r.euid == 0)
	})
	r.lacks("started_by.unit", err)
	by := &processes.StartedBy{Unit: unit.Name, UserUnit: unit.User}
	switch {
	case unit.Name != "":
		by.How = "launchd runs it as " + unit.Name
	case r.process.PPID <= 1:
		by.How = "launchd is its parent"
	case len(r.o.Ancestry) > 0:
		by.How = "started by " + processes.KinText(r.o.Ancestry[0])
	}
	r.o.StartedBy = by
}

// files lists what lsof shows, and finds the program by it.
func (r *reading) files(ctx context.Context) {
	r.o.Program = &processes.Program{}
	list, err := lsof.Files(ctx, r.runner, r.process.PID)
	if err != nil {
		for _, field := range []string{"open_files", "sockets", "program.working_directory"} {
			r.lacks(field, err)
		}
		if strings.HasPrefix(r.process.Comm, "/") {
			r.o.Program.Path = r.process.Comm // as it was started
		}
		return
	}
	open, kinds := &processes.OpenFiles{}, map[string]int{}
	for _, f := range list {
		switch {
		case f.FD == "cwd":
			r.o.Program.Directory = f.Name
		case f.FD == "txt" && r.o.Program.Path == "":
			r.o.Program.Path = f.Name
			r.o.Claim.Removed = f.Links == 0
		}
		n, numbered := f.Number()
		if !numbered {
			continue
		}
		kind := kindOf(f)
		kinds[kind]++
		open.Total++
		if slices.Contains([]string{"file", "directory", "device", processes.Removed}, kind) {
			shown := processes.OpenFile{FD: n, Kind: kind, Path: f.Name}
			if kind == processes.Removed {
				shown.SizeMB = new(mebibytes(f.Size))
			}
			open.Files = append(open.Files, shown)
		}
	}
	open.ByKind = counts(kinds)
	r.o.OpenFiles = open
	r.sockets(ctx)
}

func kindOf(f lsof.File) string {
	switch {
	case f.Type == "REG" && f.Links == 0:
		return processes.Removed
	case f.Type == "REG":
		return "file"
	case f.Type == "DIR":
		return "directory"
	case f.Type == "CHR" || f.Type == "BLK":
		return "device"
	case f.Type == "PIPE" || f.Type == "FIFO":
		return "pipe"
	case f.Type == "KQUEUE" || f.Type == "FSEVENTS":
		return "event"
	case strings.HasPrefix(f.Type, "PSX"):
		return "memory"
	case f.Type == "unix" || f.Type == "systm" || f.Type == "ndrv" || strings.HasPrefix(f.Type, "IPv"):
		return "socket"
	default:
		return "other"
	}
}

func counts(kinds map[string]int) []processes.KindCount {
	list := []processes.KindCount{}
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(a, b string) int { return cmp.Or(cmp.Compare(kinds[b], kinds[a]), cmp.Compare(a, b)) }) {
		list = append(list, processes.KindCount{Kind: kind, Count: kinds[kind]})
	}
	return list
}

func (r *reading) sockets(ctx context.Context) {
	all, err := lsof.Sockets(ctx, r.runner)
	if err != nil {
		r.lacks("sockets", err)
		return
	}
	of, kinds := &processes.ProcessSockets{}, map[string]int{}
	for _, s := range all {
		if s.PID != r.process.PID {
			continue
		}
		of.Total++
		protocol := strings.ToUpper(string(s.Protocol))
		kinds[protocol+" "+string(s.State)]++
		row := processes.ProcessSocket{Protocol: protocol, State: string(s.State), Local: s.Local.String()}
		if s.Remote.IsValid() && s.State != network.Listen {
			row.Remote = s.Remote.String()
		}
		of.Sockets = append(of.Sockets, row)
	}
	of.ByState = counts(kinds)
	r.o.Sockets = of
}

// signature looks at the program and asks who signed it.
func (r *reading) signature(ctx context.Context) {
	p := r.o.Program
	if !filepath.IsAbs(p.Path) {
		r.o.Program = nil
		r.o.Unavailable.Note("program", "neither ps nor lsof tells its path")
		return
	}
	p.State = "present"
	info, err := os.Stat(filepath.Join(r.root, p.Path))
	switch {
	case r.o.Claim.Removed && err == nil:
		p.State = "replaced"
	case r.o.Claim.Removed || os.IsNotExist(err):
		p.State = processes.Removed
		return
	case err != nil:
		r.lacks("program.modified_at", err)
		return
	}
	modified := info.ModTime().UTC().Truncate(time.Second)
	r.o.Modified(modified)
	p.SetUserID = info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0
	p.ChangedSince = p.State == "present" && modified.After(r.process.Started)
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		p.RootOnly = inApplePlace(p.Path) && owner.Uid == 0 && info.Mode().Perm()&0o022 == 0
	}
	signed, err := codesign.Of(ctx, r.runner, p.Path)
	if err != nil {
		r.lacks("program.signature", err)
		return
	}
	s, said := signed[p.Path]
	if !said || s.Missing {
		r.o.Unavailable.Note("program.signature", "codesign says nothing about it")
		return
	}
	if s.Fault == "" && !s.Verified {
		r.lacks("program.signature", codesign.ErrUnverified)
		return
	}
	p.Signature = cmp.Or(s.Fault, "signed by "+s.By)
}
