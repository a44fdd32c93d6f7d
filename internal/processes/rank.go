// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/sampling"
	"sentinel/internal/sanitize"
)

// Top samples the processes twice, one window apart, and ranks them.
func Top(ctx context.Context, source Source, o Options) (Ranking, error) {
	before, err := source.Table(ctx)
	if err != nil {
		return Ranking{}, err
	}
	if err := sampling.Wait(ctx); err != nil {
		return Ranking{}, err
	}
	after, err := source.Table(ctx)
	if err != nil {
		return Ranking{}, err
	}
	return Rank(ctx, source, before, after, o), nil
}

// usage is a process with what it used between two samples.
type usage struct {
	Sample
	percent float64
}

// Rank orders the processes of after by what they used since before. Processes
// that ended in between are left out; what they used is said if it is much.
func Rank(ctx context.Context, source Source, before, after Table, o Options) Ranking {
	used := measure(before, after)
	shown := first(used, o.Count, order(o.Sort))
	for len(shown) > 0 && o.value(shown[len(shown)-1]) < o.Least {
		shown = shown[:len(shown)-1]
	}
	r := Ranking{
		Processes: make([]Process, 0, len(shown)), ProcessesTotal: len(used), Truncated: len(shown) < len(used),
		SortedBy: o.Sort, WindowMS: span(before, after).Milliseconds(),
	}
	names := o.names(after)
	var locked []string
	for _, u := range shown {
		p, err := row(ctx, source, u, after.MemoryTotal, o, names)
		if errors.Is(err, ErrLocked) {
			locked = append(locked, Relative{p.PID, p.Name}.who())
		}
		r.Processes = append(r.Processes, p)
	}
	r.Unavailable = missing(after, r.Processes)
	noteUnseen(&r.Unavailable, after)
	if o.Sort == "memory" {
		noteUncounted(&r.Unavailable, after)
	}
	r.lost(ctx, source, before, after, used)
	if n := len(locked); n > 0 {
		r.Unavailable.Note("processes.command", "of "+humanize.Count(n, "process", "processes")+", "+strings.Join(locked[:min(n, 3)], ", ")+": "+ErrLocked.Error())
	}
	return r
}

// SharesMuch reports whether what is shared is a tenth of all memory: every desktop has a few percent of it.
func (t Table) SharesMuch() bool { return t.SharedBytes > 0 && t.SharedBytes >= t.MemoryTotal/10 }

// Swapped lists the processes that something is swapped out of, most first, and how much is swapped out of none of them.
func (t Table) Swapped() (list []Sample, rest uint64) {
	rest = t.SwapUsed
	for _, s := range t.Samples {
		if s.SwapBytes > 0 {
			list, rest = append(list, s), rest-min(rest, s.SwapBytes)
		}
	}
	slices.SortFunc(list, func(a, b Sample) int { return cmp.Or(cmp.Compare(b.SwapBytes, a.SwapBytes), cmp.Compare(a.PID, b.PID)) })
	return list, rest
}

// KernelHolds reports whether what the kernel holds is a tenth of all memory, and more than it has on a small machine at
// rest.
func (t Table) KernelHolds() bool {
	return t.KernelBytes >= kernelAtRest && t.KernelBytes >= t.MemoryTotal/10
}

const kernelAtRest = 256 << 20

// Unseen names the processes whose memory is not known, at most three, and says how many more there are; "" for none.
func (t Table) Unseen() string {
	var names []string
	for _, s := range t.Samples {
		if s.Unseen {
			names = append(names, Relative{s.PID, s.Name}.who())
		}
	}
	const most = 3
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// noteUnseen tells whose figures are no zeros.
func noteUnseen(gaps *answer.Gaps, t Table) {
	if names := t.Unseen(); names != "" {
		gaps.Note("processes.mem_mb", "the memory and the state of "+names+" are not known: the first thread has ended, and no other could be looked at")
	}
}

// noteUncounted tells the memory that is used and may be in no row.
func noteUncounted(gaps *answer.Gaps, t Table) {
	if t.HugeBytes > 0 {
		gaps.Note("processes.mem_mb", humanize.Bytes(t.HugeBytes)+" are held in huge pages, and counted for no process; get_process_details has them")
	}
	if t.SharesMuch() {
		gaps.Note("processes.mem_mb", humanize.Bytes(t.SharedBytes)+" are shared or in files of a tmpfs, such as /dev/shm: what of that no process has mapped is counted for none")
	}
	if t.KernelHolds() {
		gaps.Note("processes.mem_mb", humanize.Bytes(t.KernelBytes)+" are held by the kernel and its drivers, such as for sockets that nobody reads, compressed swap space or the cache of ZFS, and counted for no process")
	}
	if t.Unsized > 0 {
		gaps.Note("processes.mem_mb", "page tables take much memory or much is swapped out, and of "+humanize.Count(t.Unsized, "process", "processes")+" these were not looked at in time")
	}
}

// first returns the n rows that come first, in order; 0 is all of them. To sort thousands for three of them
// would cost a tenth of what it takes to read them.
func first(rows []usage, n int, order func(a, b usage) int) []usage {
	if n <= 0 || n >= len(rows) {
		slices.SortFunc(rows, order)
		return rows
	}
	top := make([]usage, 0, n+1)
	for _, u := range rows {
		if len(top) == n && order(top[n-1], u) < 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, u, order)
		top = slices.Insert(top, at, u)
		top = top[:min(n, len(top))]
	}
	return top
}

// names are those of the parents that rows may have.
func (o Options) names(t Table) map[int]string {
	if o.Brief || o.Named {
		return nil
	}
	names := make(map[int]string, len(t.Samples))
	for i := range t.Samples {
		names[t.Samples[i].PID] = t.Samples[i].Name
	}
	return names
}

// value is what a process is sorted by.
func (o Options) value(u usage) float64 {
	if o.Sort == "memory" {
		return float64(u.MemoryBytes) / (1 << 20)
	}
	return u.percent
}

// missing says what the rows lack.
func missing(t Table, rows []Process) answer.Gaps {
	gaps := answer.Gaps{}
	if t.Hidden {
		gaps.Note("processes", "the system hides processes of other users (hidepid)")
	}
	gaps.Add("processes", t.Unread)
	if t.MemoryTotal == 0 {
		gaps.Note("processes.mem_percent", "the size of memory is not readable")
	}
	if slices.ContainsFunc(rows, func(p Process) bool { return p.User == "" }) {
		gaps.Note("processes.user", "some processes ended before their user could be read")
	}
	return gaps
}

func span(before, after Table) time.Duration {
	if len(before.Samples) == 0 || len(after.Samples) == 0 {
		return 0
	}
	return after.Samples[0].Read.Sub(before.Samples[0].Read)
}

// measure pairs the two samples of each process: the same PID may be another
// process by now, with another start. One that began in between is measured from the
// earlier sample of the table, since it used nothing before. Where the table was cut, it may have been left out
// there, with as much as those that were left out had used.
func measure(before, after Table) []usage {
	known := make(map[int]int, len(before.Samples))
	for i := range before.Samples {
		known[before.Samples[i].PID] = i
	}
	used := make([]usage, 0, len(after.Samples))
	for _, s := range after.Samples {
		var first Sample
		if i, ok := known[s.PID]; ok && before.Samples[i].Start == s.Start {
			first = before.Samples[i]
		} else if len(before.Samples) > 0 {
			first = Sample{Read: before.Samples[0].Read, CPU: before.Others}
		}
		used = append(used, usage{s, percent(first, s)})
	}
	return used
}

func percent(first, second Sample) float64 {
	elapsed := second.Read.Sub(first.Read)
	busy := second.CPU - first.CPU
	if elapsed <= 0 || busy <= 0 || first.Read.IsZero() {
		return 0
	}
	return round(100*float64(busy)/float64(elapsed), 1)
}

// order ranks by the key, then by the other, then by PID, so that equal rows
// keep their place from one answer to the next.
func order(key string) func(a, b usage) int {
	byCPU := func(a, b usage) int { return cmp.Compare(b.percent, a.percent) }
	byMemory := func(a, b usage) int { return cmp.Compare(b.MemoryBytes, a.MemoryBytes) }
	first, second := byCPU, byMemory
	if key == "memory" {
		first, second = byMemory, byCPU
	}
	return func(a, b usage) int {
		return cmp.Or(first(a, b), second(a, b), cmp.Compare(a.PID, b.PID))
	}
}

// Waiting names the processes that wait for a disk or another device and cannot be
// interrupted, at most so many, and counts all of them.
func Waiting(t Table, most int) (names []string, total int) {
	for _, s := range t.Samples {
		if s.State != 'D' {
			continue
		}
		if total++; len(names) < most {
			names = append(names, Relative{s.PID, s.Name}.who())
		}
	}
	return names, total
}

// row describes a process. The error is that of its details: a process that ended since is still worth
// its row.
func row(ctx context.Context, source Source, u usage, total uint64, o Options, names map[int]string) (Process, error) {
	d, err := source.Details(ctx, u.PID, u.Start)
	p := Process{
		PID: u.PID, Name: sanitize.Text(fullName(u.Name, d.Arguments), 64), CPUPercent: u.percent,
		MemoryMB: round(float64(u.MemoryBytes)/(1<<20), 1), User: sanitize.Text(d.User, 64),
		Status: Status(u.State), StartID: u.Start,
	}
	if !o.Named {
		p.Command = sanitize.Command(d.Arguments, 160)
	}
	if u.Unseen {
		p.Status = Status(0)
	} else if total > 0 {
		share := round(100*float64(u.MemoryBytes)/float64(total), 1)
		p.MemoryPercent = &share
	}
	if !o.Brief && !o.Named {
		p.standing(u, d, names)
	}
	return p, err
}

// standing adds since when a process runs and who it belongs to.
func (p *Process) standing(u usage, d Details, names map[int]string) {
	p.CPUSeconds = new(round(u.CPU.Seconds(), 2))
	p.Unit = sanitize.Text(d.Unit, 128)
	if d.Age != nil {
		p.AgeSeconds = new(int64(*d.Age / time.Second))
	}
	if d.ParentPID != 0 {
		p.Parent = &Relative{d.ParentPID, sanitize.Text(names[d.ParentPID], 64)}
	}
}

// maxKernelName is the length at which the kernel cuts a name (TASK_COMM_LEN
// less the NUL).
const maxKernelName = 15

// maxRest is how long the cut end of a name may be, in bytes.
const maxRest = 64

// fullName completes a name that the kernel cut from the first argument, up to
// a blank: processes that set their own title put all of it there, options and
// secrets included. What does not look like the end of a program's name is left out.
func fullName(name string, arguments []string) string {
	if len(name) < maxKernelName || len(arguments) == 0 {
		return name
	}
	rest, ok := strings.CutPrefix(path.Base(arguments[0]), name)
	if !ok {
		return name
	}
	if end := strings.IndexFunc(rest, unicode.IsSpace); end >= 0 {
		rest = rest[:end]
	}
	if len(rest) > maxRest || strings.ContainsFunc(rest, notOfName) {
		return name
	}
	return name + rest
}

// notOfName says that programs are not named with r.
func notOfName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._+:@-", r)
}

// Status spells out the state letters of proc_pid_stat(5).
func Status(state byte) string {
	switch state {
	case 'R':
		return "running"
	case 'S':
		return "sleeping"
	case 'D':
		return "uninterruptible"
	case 'Z':
		return "zombie"
	case 'T', 't':
		return "stopped"
	case 'I':
		return "idle"
	case 'X', 'x':
		return "dead"
	case 'P':
		return "parked"
	default:
		return "unknown"
	}
}

func round(x float64, places int) float64 {
	scale := math.Pow10(places)
	return math.Round(x*scale) / scale
}
