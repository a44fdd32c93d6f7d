// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/health"
	"sentinel/internal/processes"
	"sentinel/internal/statefile"
)

// Young is how old the last sample may be for others to go by it: one that was missed is made up for by
// none.
const Young = 90 * time.Second

// A Last is the last sample with what it counted.
type Last struct {
	Version    int                  `json:"version"` // 1
	Sample     Sample               `json:"sample"`
	CPU        health.CPUSample     `json:"cpu"`
	Counters   health.Counters      `json:"counters"`
	Interfaces map[string][2]uint64 `json:"interfaces"` // bytes in and out, without loopback
	Processes  Uses                 `json:"processes"`  // that have used any processor time
	Others     time.Duration        `json:"others"`     // that each of the others has used at most
	Reasons    map[string]Standing  `json:"reasons"`    // of the threat level, by code and object
	Failed     []string             `json:"failed"`     // units
	Folded     []string             `json:"folded"`     // templates, as "ssh@", of whose instances one is in Failed for all
	Resolver   *Resolver            `json:"resolver"`   // nil if it was not asked
	Waiting    []Event              `json:"waiting"`    // did not fit the sample
}

// A Use is the processor time of a process, to the millisecond.
type Use struct {
	PID   int
	Start string
	CPU   time.Duration
}

// Uses are those of all processes. In JSON they are one text, which is read and written many times faster
// than thousands of objects.
type Uses []Use

// MarshalText implements encoding.TextMarshaler.
func (u Uses) MarshalText() ([]byte, error) {
	b := make([]byte, 0, 40*len(u))
	for _, one := range u {
		b = append(strconv.AppendInt(b, int64(one.PID), 10), ' ')
		b = append(append(b, one.Start...), ' ')
		b = append(strconv.AppendInt(b, one.CPU.Milliseconds(), 10), ',')
	}
	return b, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *Uses) UnmarshalText(text []byte) error {
	*u = Uses{}
	for row := range strings.SplitSeq(strings.TrimSuffix(string(text), ","), ",") {
		pid, rest, _ := strings.Cut(row, " ")
		start, cpu, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(pid)
		ms, bad := strconv.ParseInt(cpu, 10, 64)
		switch {
		case row == "":
		case err != nil || bad != nil || ms < 0 || ms > maxCPU || len(*u) == maxUses:
			return statefile.ErrForm
		default:
			*u = append(*u, Use{n, start, time.Duration(ms) * time.Millisecond})
		}
	}
	return nil
}

// A Standing is a reason that stands.
type Standing struct {
	Text string  `json:"text"` // its message, as it was when it came
	Up   float64 `json:"up"`   // seconds since boot when it was seen last
	Away int     `json:"away"` // samples since
}

// A Resolver is what came of the question to the name servers of this machine.
type Resolver struct {
	Server  string  `json:"server"` // that was asked first
	MS      float64 `json:"ms"`     // until an answer
	Problem string  `json:"problem,omitempty"`
}

// Bounds of the file of the last sample.
const (
	maxLast = 4096 // KiB
	maxUses = 40_000
	maxCPU  = 1 << 40 // milliseconds
)

func lastPath(dir string) string { return filepath.Join(dir, "last.json") }

// Check implements statefile.State.
func (l *Last) Check() error {
	if l == nil || l.Version != 1 || l.Sample.Up < 0 || l.Others < 0 {
		return statefile.ErrForm
	}
	return nil
}

// ReadLast returns the last sample of the ring in dir. The error is fs.ErrNotExist if there is none.
func ReadLast(dir string) (*Last, error) { return statefile.Read[*Last](lastPath(dir), maxLast) }

// Same reports whether two are of one moment; other may be nil.
func (l *Last) Same(other *Last) bool {
	return other != nil && l.Sample.Boot == other.Sample.Boot && l.Sample.Up == other.Sample.Up
}

// Save keeps l for the next sample.
func (l *Last) Save(dir string) error { return statefile.Write(lastPath(dir), l, maxLast) }

// Age is how long ago it was taken, on a machine that has been up for so long in this boot. It is not
// known for another boot.
func (l *Last) Age(boot string, up time.Duration) (age time.Duration, known bool) {
	if l == nil || boot == "" || l.Sample.Boot != boot {
		return 0, false
	}
	age = up - time.Duration(l.Sample.Up*float64(time.Second))
	return age, age >= 0
}

// Table is the table of processes of then, as far as it is needed to measure what each has used in the
// time since. What had used nothing is left out: it counts as new, and comes to the same.
func (l *Last) Table(age time.Duration) processes.Table {
	read := time.Now().Add(-age)
	t := processes.Table{Samples: make([]processes.Sample, 0, len(l.Processes)+1), Others: l.Others}
	for _, u := range l.Processes {
		t.Samples = append(t.Samples, processes.Sample{PID: u.PID, Start: u.Start, CPU: u.CPU, Read: read})
	}
	if len(t.Samples) == 0 {
		t.Samples = append(t.Samples, processes.Sample{Read: read})
	}
	return t
}

// uses are the rows of a table that Table needs, and what each of those that are too many has used at most.
func uses(t processes.Table) (list Uses, others time.Duration) {
	list = Uses{}
	for _, s := range t.Samples {
		if s.CPU > 0 {
			list = append(list, Use{s.PID, s.Start, s.CPU})
		}
	}
	if len(list) > maxUses {
		slices.SortStableFunc(list, func(a, b Use) int { return cmp.Compare(b.CPU, a.CPU) })
		list, others = list[:maxUses], list[maxUses].CPU
	}
	return list, others
}
