// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/deadline"
	"sentinel/internal/privilege"
	"sentinel/internal/processes"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/accounts"
	"sentinel/platform/linux/cgroup"
	"sentinel/platform/linux/network"
	"sentinel/platform/linux/packages"
	"sentinel/platform/linux/procfs"
	linuxsessions "sentinel/platform/linux/sessions"
	"sentinel/platform/unix/stuck"
)

// An Inspector reads one process below a root directory.
type Inspector struct {
	*Source
	root     string
	packages packages.Finder
	network  *network.Source
	now      func() time.Time
}

var _ processes.Inspector = (*Inspector)(nil)

// NewInspector returns the Inspector for root; "/" is the live system. The package manager of another
// root is not asked.
func NewInspector(root string, runner sysexec.Runner, now func() time.Time) *Inspector {
	if root != "/" {
		runner = nil
	}
	return &Inspector{New(root), root, packages.Finder{Root: root, Runner: runner}, network.New(root), now}
}

// inspectLimit bounds all of it, and is less than a call has.
const inspectLimit = 18 * time.Second

// fileLimit bounds what waits for the file system of a program or of an open file.
const fileLimit = 3 * time.Second

// asRoot is why something of a process of another user is not read.
const asRoot = "it is another user's, and only root sees it"

// A reading is one inspection.
type reading struct {
	*Inspector
	pid   int
	task  int // the thread that tells of the program and the files: pid, unless the first one has ended
	stat  procfs.ProcessStat
	table map[int]procfs.Process
	names accounts.Names
	o     processes.Observation
}

// Inspect implements [processes.Inspector]. A user may keep a process from being looked at, where no signal ends the
// wait.
func (s *Inspector) Inspect(ctx context.Context, pid int) (processes.Observation, error) {
	if _, err := s.proc.ProcessInTime(pid); errors.Is(err, procfs.ErrStuck) {
		return processes.Observation{}, err
	}
	look := func(ctx context.Context) (processes.Observation, error) { return s.inspect(ctx, pid) }
	if s.proc.Apart(pid) {
		return deadline.Call(ctx, inspectLimit, look)
	}
	of, _ := s.proc.Thing(pid)
	return stuck.Call(ctx, s.root, of, inspectLimit, look)
}

// inspect compares the start at the end: what was read belongs to one process.
func (s *Inspector) inspect(ctx context.Context, pid int) (processes.Observation, error) {
	r := &reading{Inspector: s, pid: pid, task: pid}
	if err := r.begin(ctx); err != nil {
		return processes.Observation{}, err
	}
	r.identity()
	r.kin()
	r.usage()
	r.origin()
	r.group()
	r.limits()
	r.program(ctx)
	r.descriptors(ctx)
	r.waits()
	again, err := s.proc.Process(pid)
	if err != nil || again.Start != r.stat.Start {
		return processes.Observation{}, processes.ErrNoProcess
	}
	return r.o, ctx.Err()
}

// begin finds the process, and all others.
func (r *reading) begin(ctx context.Context) (err error) {
	status, err := r.proc.Status(r.pid)
	switch {
	case missing(err):
		return processes.ErrNoProcess
	case err != nil:
		return err
	case status.TGID != r.pid:
		leader, _ := r.proc.Process(status.TGID) //nolint:errcheck // its name may stay unknown
		return &processes.ThreadError{Process: status.TGID, Name: leader.Name}
	}
	if r.stat, err = r.proc.Process(r.pid); err != nil {
		if missing(err) {
			return processes.ErrNoProcess
		}
		return err
	}
	if r.stat.Headless {
		if tid, err := r.proc.Thread(r.pid); err == nil {
			r.task = tid
		} else {
			for _, field := range []string{"program", "open_files", "memory", "status"} {
				r.lacks(field, err)
			}
		}
	}
	all, stuck, err := r.proc.Processes(ctx)
	if err != nil {
		return err
	}
	r.lacks("children", r.unread(stuck))
	r.table = make(map[int]procfs.Process, len(all))
	for _, p := range all {
		r.table[p.PID] = p
	}
	r.names, _ = r.Source.names() //nolint:errcheck // a user without a name is shown as a number
	r.o.UserID, r.o.Container = status.UID, status.Nested
	if status.TracerPID != 0 {
		r.o.Tracer = processes.Relative{PID: status.TracerPID, Name: r.table[status.TracerPID].Name}
	}
	return nil
}

// lacks notes what could not be read.
func (r *reading) lacks(field string, err error) {
	switch {
	case err == nil, missing(err):
	case errors.Is(err, fs.ErrPermission) && privilege.EffectiveUID() != 0:
		r.o.Unavailable.Note(field, asRoot)
	default:
		r.o.Unavailable.Note(field, answer.Reason(err))
	}
}

func (r *reading) identity() {
	o, s := &r.o, r.stat
	o.PID, o.Name, o.StartID, o.Status = s.PID, s.Name, r.start(s), processes.Status(s.State)
	o.FirstThreadEnded, o.FilesOf = s.Headless, r.proc.FilesOf(s.PID)
	o.CPUSeconds, o.Threads = (time.Duration(s.Ticks) * tick).Seconds(), int(s.Threads)
	o.User = r.names.Name(o.UserID)
	o.Claim = processes.Claim{PID: s.PID, Name: s.Name, UserID: o.UserID, Kernel: s.Flags&kernelThread != 0, Owner: -1, Daemons: daemons}
	if up, err := r.proc.Uptime(); err == nil {
		o.Aged(max(time.Duration(up*float64(time.Second))-time.Duration(s.Start)*tick, 0), r.now())
	} else {
		r.lacks("started_at", err)
	}
	arguments, err := r.proc.CommandLine(r.task)
	if errors.Is(err, procfs.ErrStuck) {
		err = processes.ErrLocked
	}
	r.lacks("command", err)
	o.Arguments = arguments
	if len(arguments) > 0 {
		o.Claim.Argument = arguments[0]
	}
}

// maxGenerations bounds the ancestors that are followed: in a table that changes there may be a circle.
const maxGenerations = 64

// shownKin is of how many relatives the command line is read.
const shownKin = 8

func (r *reading) kin() {
	for pid := r.stat.ParentPID; pid != 0 && len(r.o.Ancestry) < maxGenerations; pid = r.table[pid].ParentPID {
		r.o.Ancestry = append(r.o.Ancestry, r.relative(pid, len(r.o.Ancestry)))
	}
	var own []procfs.Process
	parents := make(map[int]int, len(r.table))
	for _, p := range r.table {
		if parents[p.PID] = p.ParentPID; p.ParentPID == r.pid {
			own = append(own, p)
		}
	}
	slices.SortFunc(own, func(a, b procfs.Process) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID)) })
	r.o.ChildrenAll = len(own)
	for i, p := range own[:min(len(own), shownKin)] {
		r.o.Children = append(r.o.Children, r.relative(p.PID, i))
	}
	r.o.Descendants = len(processes.Family(parents, r.pid)) - 1
}

func (r *reading) relative(pid, at int) processes.Kin {
	k := processes.Kin{PID: pid, Name: r.table[pid].Name, Status: processes.Status(r.table[pid].State)}
	if uid, err := r.proc.UID(pid); err == nil {
		k.User = r.names.Name(uid)
	}
	if at < shownKin {
		if arguments, err := r.proc.CommandLine(pid); err == nil {
			k.Command = processes.KinCommand(arguments)
		}
	}
	return k
}

func (r *reading) usage() {
	u, err := r.proc.Usage(r.task)
	if err != nil {
		r.lacks("memory", err)
		return
	}
	if u.EffectiveUID != r.o.UserID {
		r.o.EffectiveUser = r.names.Name(u.EffectiveUID)
	}
	if len(u.Memory) == 0 {
		return // a kernel thread, or one that has ended
	}
	of := func(name string) *float64 {
		n, ok := u.Memory[name]
		if !ok {
			return nil
		}
		return new(mebibytes(n))
	}
	r.o.Memory = &processes.MemoryKinds{
		ResidentMB: mebibytes(u.Memory["VmRSS"]), AnonymousMB: of("RssAnon"), FileMB: of("RssFile"), SharedMB: of("RssShmem"),
		SwapMB: of("VmSwap"), PeakMB: of("VmHWM"), VirtualMB: of("VmSize"), LockedMB: of("VmLck"),
	}
	if huge := u.Memory["HugetlbPages"]; huge > 0 {
		r.o.Memory.HugeMB = new(mebibytes(huge))
	}
	if tables := u.Memory["VmPTE"]; tables >= 1<<20 && tables >= u.Memory["VmRSS"]/10 {
		r.o.Memory.TablesMB = new(mebibytes(tables))
	}
	if score, err := r.proc.OOMScore(r.pid); err == nil {
		r.o.Memory.OOMScore = &score
	}
}

func mebibytes(n uint64) float64 { return float64(n*10>>20) / 10 }

// origin says who the process belongs to.
func (r *reading) origin() {
	by := &processes.StartedBy{}
	by.Terminal, _ = linuxsessions.Terminal(r.stat.Terminal)
	group, err := r.proc.ControlGroup(r.pid)
	if err == nil {
		unit := unitOf(group)
		by.Unit, by.UserUnit = unit.Name, unit.User
	}
	if uid, ok, err := r.proc.LoginUID(r.pid); ok && err == nil && loggedIn(uid, r.o.UserID, group) {
		r.o.LoginUser = r.names.Name(uid)
	}
	by.How = r.how(by)
	r.o.StartedBy = by
}

// loggedIn reports whether a login UID is to be believed: a process that has none may set any
// (audit_set_loginuid, kernel/audit.c). It is its own user's, or logind put it into the slice of that one.
func loggedIn(login, user int, group string) bool {
	return login == user || strings.HasPrefix(group, fmt.Sprintf("/user.slice/user-%d.slice/", login))
}

func (r *reading) how(by *processes.StartedBy) string {
	var parent string
	if len(r.o.Ancestry) > 0 {
		parent = processes.KinText(r.o.Ancestry[0])
	}
	switch {
	case r.o.Claim.Kernel:
		return "the kernel made it"
	case r.stat.ParentPID == 0:
		return "it is the first process, or entered this PID namespace from outside"
	case strings.HasSuffix(by.Unit, ".service") && by.UserUnit:
		return "the service manager of " + r.o.User + " runs it in " + by.Unit
	case strings.HasSuffix(by.Unit, ".service") && !strings.HasPrefix(by.Unit, "user@"):
		return "the service manager runs it in " + by.Unit
	case r.o.LoginUser != "" && by.Terminal != "":
		return "login of " + r.o.LoginUser + " at " + by.Terminal + ", started by " + parent
	case r.stat.ParentPID == 1:
		return "who started it has ended, and process 1 took it over"
	default:
		return "started by " + parent
	}
}

func (r *reading) group() {
	path, err := r.proc.ControlGroup(r.pid)
	if err != nil {
		r.lacks("control_group", err)
		return
	}
	g, err := cgroup.Use(r.root, path)
	shown := &processes.ControlGroup{Path: path, Processes: g.Tasks, CPULimitCores: set(g.CPULimit), ProcessesLimit: set(g.TasksLimit)}
	if g.Memory != nil {
		shown.MemoryMB = new(mebibytes(*g.Memory))
	}
	if g.MemoryLimit > 0 {
		shown.MemoryLimitMB = new(mebibytes(g.MemoryLimit))
	}
	if g.Throttled != nil {
		shown.ThrottledSec = new(g.Throttled.Round(10 * time.Millisecond).Seconds())
	}
	r.o.ControlGroup = shown
	if path != "/" {
		r.lacks("control_group.memory_mb", err)
	}
}

// set is nil for a limit that is none.
func set[T uint64 | float64](limit T) *T {
	if limit == 0 {
		return nil
	}
	return &limit
}

// limits leaves out those that are unlimited, which are most.
func (r *reading) limits() {
	all, err := r.proc.Limits(r.pid)
	r.lacks("limits", err)
	for _, l := range all {
		if l.Soft != nil && !slices.Contains([]string{"Max nice priority", "Max realtime priority", "Max msgqueue size", "Max pending signals"}, l.Name) {
			r.o.Limits = append(r.o.Limits, processes.Limit(l))
		}
	}
}

// ask runs what may wait for a file system that does not answer.
func ask[T any](ctx context.Context, look func() (T, error)) (T, error) {
	return deadline.Call(ctx, fileLimit, func(context.Context) (T, error) { return look() })
}
