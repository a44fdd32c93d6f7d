// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package processes reads the process table of Linux, and ends processes.
package processes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sentinel/internal/processes"
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/accounts"
	"sentinel/platform/linux/cgroup"
	"sentinel/platform/linux/procfs"
)

// tick is the unit of times in /proc/PID/stat: USER_HZ is 100 on every
// architecture that Go runs on, whatever CONFIG_HZ is (include/asm-generic/param.h).
const tick = 10 * time.Millisecond

// A Source reads processes below a root directory.
type Source struct {
	root  string
	proc  procfs.FS
	names func() (accounts.Names, error)
	boot  func() string

	mu   sync.Mutex // of what follows
	at   time.Time  // when the last table was read
	last snapshot
}

// A snapshot is a table, and what all processes had used when it was read.
type snapshot struct {
	rows  []procfs.Process
	stuck []int         // processes that could not be read in time
	busy  time.Duration // 0 where the rows are not all of the machine or the container
}

var _ processes.Source = (*Source)(nil)

// New returns the Source for root; "/" is the live system.
func New(root string) *Source {
	fs := procfs.New(root)
	return &Source{
		root: root, proc: fs,
		names: sync.OnceValues(func() (accounts.Names, error) { return accounts.Read(root) }),
		boot:  sync.OnceValue(func() string { return bootMark(fs) }),
	}
}

// bootMark distinguishes boots in a start ID: a process of the previous boot may have had the same
// PID and the same start tick.
func bootMark(fs procfs.FS) string {
	id, err := fs.BootID()
	if err != nil {
		return "0"
	}
	return id[:8]
}

// How old a table may be for others than who read it: recent for one report, sampled for a sample, whose
// rows say when each was read.
const (
	recent  = time.Second
	sampled = 100 * time.Millisecond
)

// Recent returns a table that may be a second old, so that all who judge processes for one report
// read it once. Nobody may change it. unread says which processes are not in it; nil is none.
func (s *Source) Recent(ctx context.Context) (table []procfs.Process, unread, err error) {
	last, err := s.read(ctx, recent)
	return last.rows, s.unread(last.stuck), err
}

// Daemon reports whether a process of a table is a daemon of the system with one of the names: see [procfs.FS.Daemon].
func (s *Source) Daemon(p procfs.Process, names []string) (bool, error) {
	return s.proc.Daemon(p.PID, p.Name, names, s.owner())
}

// read returns a table that is not older than age. Who comes while it is read waits for it.
func (s *Source) read(ctx context.Context, age time.Duration) (snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.rows != nil && time.Since(s.at) < age {
		return s.last, nil
	}
	at := time.Now()
	busy := s.busy()
	rows, stuck, err := s.proc.Processes(ctx)
	if err != nil {
		return snapshot{}, err
	}
	s.at, s.last = at, snapshot{rows: rows, stuck: stuck}
	if len(stuck) == 0 {
		s.last.busy = busy(rows)
	}
	return s.last, nil
}

// busy reads what all processes of the machine have used, and those of this container, and chooses by the rows that
// are read next whose time it is; 0 where they are neither all of the one nor of the other. Control groups v1 may be
// those of the host.
func (s *Source) busy() func([]procfs.Process) time.Duration {
	cpu, machineErr := s.proc.CPU()
	own, ownErr := cgroup.UnifiedCPUTime(s.root)
	return func(rows []procfs.Process) time.Duration {
		whole := slices.ContainsFunc(rows, isKernel)
		switch {
		case whole && machineErr == nil:
			return time.Duration(cpu.Tasks) * tick
		case !whole && slices.ContainsFunc(rows, isFirst) && ownErr == nil:
			return own
		default:
			return 0
		}
	}
}

// isFirst reports whether p is the first process, which every PID namespace has: hidepid (proc(5)) hides it with
// those of other users.
func isFirst(p procfs.Process) bool { return p.PID == 1 }

// isKernel reports whether p is kthreadd, which only a table of the whole machine has: a PID namespace of
// a container has none, and hidepid (proc(5)) hides it from users.
func isKernel(p procfs.Process) bool { return p.PID == 2 && isKernelThread(p) }

func isKernelThread(p procfs.Process) bool {
	const flag = 0x00200000 // PF_KTHREAD, include/linux/sched.h
	return p.Flags&flag != 0
}

// unread says whose processes are not in a table, as they could not be read in time.
func (s *Source) unread(stuck []int) error {
	if len(stuck) == 0 {
		return nil
	}
	names, _ := s.names() //nolint:errcheck // a user without a name is shown as a number
	byUser := map[string]int{}
	for _, pid := range stuck {
		byUser[cmp.Or(names.Name(s.proc.Owner(pid)), "unknown users")]++
	}
	var of []string
	for _, user := range slices.Sorted(maps.Keys(byUser)) {
		of = append(of, fmt.Sprintf("%d of %s", byUser[user], user))
	}
	return errors.New("processes are kept from being read, perhaps by a dead file system, and are left out: " + sanitize.Text(strings.Join(of, ", "), maxUnread))
}

// maxUnread bounds that list, in runes.
const maxUnread = 200

// Table implements [processes.Source].
func (s *Source) Table(ctx context.Context) (processes.Table, error) {
	last, err := s.read(ctx, sampled)
	if err != nil {
		return processes.Table{}, err
	}
	rows := last.rows
	t := processes.Table{Samples: make([]processes.Sample, len(rows)), Busy: last.busy, Unread: s.unread(last.stuck)}
	m, err := s.proc.Memory()
	if err == nil {
		t.MemoryTotal, t.HugeBytes = m.Total, m.HugeUsed
		if limits, err := cgroup.Limits(s.root); err == nil && limits.MemoryMax == 0 { // otherwise it is the host's
			t.SharedBytes, t.KernelBytes = m.Shared, m.Kernel
		}
	}
	page := uint64(os.Getpagesize())
	t.Hidden = !slices.ContainsFunc(rows, isFirst)
	for i, r := range rows {
		t.Samples[i] = processes.Sample{
			PID: r.PID, Name: r.Name, State: r.State,
			CPU:         time.Duration(r.Ticks) * tick,
			Reaped:      time.Duration(r.Reaped) * tick,
			Start:       s.start(r.ProcessStat),
			MemoryBytes: r.RSSPages * page,
			Unseen:      r.Unseen,
			Read:        r.Read,
		}
	}
	s.size(&t, rows, m, sizeTime)
	return t, nil
}

// sizeTime bounds [Source.size]: the file that it reads of each process is as dear as its user makes it.
const sizeTime = 300 * time.Millisecond

// size adds to a table what processes hold that is not resident, where that is much: the tables of pages that a process
// has only read are as large as it likes, and what it has had swapped out is in no other figure.
func (s *Source) size(t *processes.Table, rows []procfs.Process, m procfs.Memory, limit time.Duration) {
	swapped := m.SwapTotal - m.SwapFree - min(m.SwapCached, m.SwapTotal-m.SwapFree)
	if m.Total == 0 || m.PageTables < m.Total/50 && swapped <= m.SwapTotal/10 {
		return
	}
	t.SwapUsed = swapped
	ends := time.Now().Add(limit)
	for i, r := range rows {
		if isKernelThread(r) || r.Unseen {
			continue
		}
		if time.Now().After(ends) {
			t.Unsized++
			continue
		}
		held := s.held(r)
		t.Samples[i].MemoryBytes += held["VmPTE"]
		t.Samples[i].SwapBytes = held["VmSwap"]
	}
}

// held is what the kernel tells of the memory of a process, which it does not tell by the number of a process whose
// first thread has ended.
func (s *Source) held(p procfs.Process) map[string]uint64 {
	pid := p.PID
	if p.Headless {
		if tid, err := s.proc.Thread(pid); err == nil {
			pid = tid
		}
	}
	u, err := s.proc.Usage(pid)
	if err != nil {
		return nil
	}
	return u.Memory
}

// errReused reports that the PID belongs to another process by now.
var errReused = errors.New("the process ended, and another one has its PID")

// Details implements [processes.Source]. The start is checked after reading the details: a process
// that then has the PID and the start had them all along.
func (s *Source) Details(_ context.Context, pid int, start string) (processes.Details, error) {
	d, err := s.details(pid)
	stat, statErr := s.proc.Process(pid)
	switch {
	case statErr != nil:
		return processes.Details{}, statErr
	case s.start(stat) != start:
		return processes.Details{}, errReused
	}
	s.standing(&d, stat)
	return d, err
}

// standing adds since when a process runs and who it belongs to.
func (s *Source) standing(d *processes.Details, stat procfs.ProcessStat) {
	d.ParentPID = stat.ParentPID
	if group, err := s.proc.ControlGroup(stat.PID); err == nil {
		d.Unit = unitOf(group).Name
	}
	if up, err := s.proc.Uptime(); err == nil {
		age := max(time.Duration(up*float64(time.Second))-time.Duration(stat.Start)*tick, 0)
		d.Age = &age
	}
}

// start returns the identity of a process among all that have had its PID.
func (s *Source) start(p procfs.ProcessStat) string {
	return s.boot() + "." + strconv.FormatUint(p.Start, 10)
}

func (s *Source) details(pid int) (processes.Details, error) {
	uid, err := s.proc.UID(pid)
	if err != nil {
		return processes.Details{}, err
	}
	// If /etc/passwd cannot be read, the number is shown instead.
	names, _ := s.names() //nolint:errcheck // see above
	d := processes.Details{User: names.Name(uid)}
	d.Arguments, err = s.proc.CommandLine(pid)
	if errors.Is(err, procfs.ErrStuck) {
		err = processes.ErrLocked
	}
	return d, err
}
