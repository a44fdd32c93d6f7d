// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
)

const hosts = "../../../testdata/hosts/"

func table(t *testing.T, s *Source) (processes.Table, map[int]processes.Sample) {
	t.Helper()
	whole, err := s.Table(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byPID := map[int]processes.Sample{}
	for _, p := range whole.Samples {
		byPID[p.PID] = p
	}
	return whole, byPID
}

func TestSamplesCarryTimesMemoryAndAnIdentity(t *testing.T) {
	whole, byPID := table(t, New(hosts+"laptop"))
	got := byPID[2107]
	got.Read = time.Time{}
	want := processes.Sample{
		PID: 2107, Name: "firefox-esr", State: 'R', CPU: 242066 * 10 * time.Millisecond,
		Reaped: 0, Start: "6b1f0c2e.3999", MemoryBytes: 161204 * uint64(os.Getpagesize()),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if whole.MemoryTotal != 16084712<<10 || whole.SharedBytes != 120000<<10 || whole.Hidden || whole.Busy != (2521860+14560+787844)*10*time.Millisecond {
		t.Errorf("memory %d, hidden %v, busy %v", whole.MemoryTotal, whole.Hidden, whole.Busy)
	}
}

// What is not resident counts where it is much, of a process whose first thread has ended, too.
func TestPageTablesAndSwapCountWhereTheyAreMuch(t *testing.T) {
	const status, ended = "Uid:\t0\t0\t0\t0\nVmRSS:\t4 kB\nVmPTE:\t20 kB\nVmSwap:\t300 kB\n", "Uid:\t0\t0\t0\t0\n"
	root := testenv.Plant(t, map[string]string{
		"proc/6/status": status, "proc/7/status": ended, "proc/7/task/8/exe": "", "proc/8/status": status, "proc/9/status": status, "proc/10/status": status,
	})
	rows := make([]procfs.Process, 4)
	for i := range rows {
		rows[i].PID = 6 + i
	}
	rows[1].Headless, rows[2].Flags, rows[3].Unseen = true, 0x00200000, true
	little := procfs.Memory{Total: 1000, PageTables: 19, SwapTotal: 1000, SwapFree: 890, SwapCached: 10}
	tables, swap := little, little
	tables.PageTables, swap.SwapCached = 20, 9
	alone := func(swapped uint64, unsized int, six, seven processes.Sample) processes.Table {
		six.PID, seven.PID = 6, 7
		return processes.Table{SwapUsed: swapped, Unsized: unsized, Samples: []processes.Sample{six, seven, {PID: 8}, {PID: 9}}}
	}
	six, seven := processes.Sample{MemoryBytes: 1 + 20<<10, SwapBytes: 300 << 10}, processes.Sample{MemoryBytes: 20 << 10, SwapBytes: 300 << 10}
	for name, c := range map[string]struct {
		of   procfs.Memory
		time time.Duration
		want processes.Table
	}{
		"little":       {little, testenv.HangLimit, alone(0, 0, processes.Sample{MemoryBytes: 1}, processes.Sample{})},
		"not known":    {procfs.Memory{}, testenv.HangLimit, alone(0, 0, processes.Sample{MemoryBytes: 1}, processes.Sample{})},
		"tables":       {tables, testenv.HangLimit, alone(100, 0, six, seven)},
		"swap":         {swap, testenv.HangLimit, alone(101, 0, six, seven)},
		"no time left": {swap, -time.Second, alone(101, 2, processes.Sample{MemoryBytes: 1}, processes.Sample{})},
	} {
		got := alone(0, 0, processes.Sample{MemoryBytes: 1}, processes.Sample{})
		New(root).size(&got, rows, c.of, c.time)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A process that only reads what it has never written makes the kernel keep a page of tables for as much of it as the
// page has entries, of eight bytes.
func TestTheTablesOfPagesThatAreOnlyReadAreSeen(t *testing.T) {
	const steps = 256
	step := os.Getpagesize() * os.Getpagesize() / 8
	pages, err := unix.Mmap(-1, 0, step*steps, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(pages)
	if err := unix.Madvise(pages, unix.MADV_NOHUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) { // a kernel without huge pages
		t.Fatal(err)
	}
	sum := byte(0)
	for i := range steps {
		sum += pages[i*step]
	}
	got, self := processes.Table{Samples: []processes.Sample{{PID: os.Getpid()}}}, procfs.Process{ProcessStat: procfs.ProcessStat{PID: os.Getpid()}}
	New("/").size(&got, []procfs.Process{self}, procfs.Memory{Total: 100, PageTables: 100}, testenv.HangLimit)
	if least := uint64(steps * os.Getpagesize()); got.Samples[0].MemoryBytes < least || sum != 0 {
		t.Errorf("%d bytes, want at least %d", got.Samples[0].MemoryBytes, least)
	}
}

// A container sees its own processes, and in /proc the times and the memory of its host.
func TestTimesOfAHostAreNotThoseOfAContainer(t *testing.T) {
	if whole, _ := table(t, New(hosts+"container")); whole.Busy != 88120110*time.Microsecond || whole.SharedBytes != 0 || len(whole.Samples) == 0 {
		t.Errorf("busy %v, shared %d, with %d processes", whole.Busy, whole.SharedBytes, len(whole.Samples))
	}
}

func age(minutes, milliseconds int) *time.Duration {
	return new(time.Duration(minutes)*time.Minute + time.Duration(milliseconds)*time.Millisecond)
}

func TestDetailsNameTheUser(t *testing.T) {
	s := New(hosts + "laptop")
	_, byPID := table(t, s)
	for pid, want := range map[int]processes.Details{
		2354: {Arguments: []string{"mysqldump", "--host=db.example", "-u", "backup", "-phunter2-glued", "--databases", "shop"}, User: "mira", ParentPID: 1702, Age: age(75*60+56, 42200)},
		2:    {User: "root", Age: age(76*60+5, 12380)},
		2353: {User: "mira", ParentPID: 2351, Age: age(75*60+56, 50400)},
	} {
		got, err := s.Details(t.Context(), pid, byPID[pid].Start)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%d: %v\n%s", pid, err, diff)
		}
	}
	if got, err := s.Details(t.Context(), 99999, "6b1f0c2e.1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that is gone: %+v, %v", got, err)
	}
}

func TestUserWithoutANameIsANumber(t *testing.T) {
	s := New(hosts + "reuse/first")
	_, byPID := table(t, s)
	if got, err := s.Details(t.Context(), 4242, byPID[4242].Start); got.User != "0" || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The first process was sampled, and the second had its PID when it was asked.
func TestDetailsAreNeverThoseOfAnotherProcess(t *testing.T) {
	_, byPID := table(t, New(hosts+"reuse/first"))
	got, err := New(hosts+"reuse/second").Details(t.Context(), 4242, byPID[4242].Start)
	if diff := cmp.Diff(processes.Details{}, got); diff != "" || !errors.Is(err, errReused) {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestReusedPIDHasAnotherIdentity(t *testing.T) {
	_, first := table(t, New(hosts+"reuse/first"))
	_, second := table(t, New(hosts+"reuse/second"))
	if first[4242].Start == second[4242].Start || first[1].Start != second[1].Start {
		t.Errorf("4242 is %s and %s, 1 is %s and %s", first[4242].Start, second[4242].Start, first[1].Start, second[1].Start)
	}
}

// The second tree is read half a second after the first, on paper.
func TestReusedPIDIsMeasuredAsANewProcess(t *testing.T) {
	source := New(hosts + "reuse/second")
	before, _ := table(t, New(hosts+"reuse/first"))
	after, _ := table(t, source)
	began := time.Now()
	for i := range before.Samples {
		before.Samples[i].Read = began
	}
	for i := range after.Samples {
		after.Samples[i].Read = began.Add(500 * time.Millisecond)
	}
	got := map[int]float64{}
	for _, p := range processes.Rank(t.Context(), source, before, after, processes.Options{}).Processes {
		got[p.PID] = p.CPUPercent
	}
	if diff := cmp.Diff(map[int]float64{4242: 24, 1: 10}, got); diff != "" {
		t.Error(diff)
	}
}

func TestHiddenProcessesAreNoticed(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--mount") {
		return
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, "hidepid=2"); err != nil {
		t.Fatal(err)
	}
	if whole, _ := table(t, New("/")); whole.Hidden {
		t.Error("root sees all and is told otherwise")
	}
	testenv.Become(t, testenv.Nobody)
	if whole, byPID := table(t, New("/")); !whole.Hidden || byPID[os.Getpid()].PID == 0 {
		t.Errorf("hidden %v, %d processes", whole.Hidden, len(whole.Samples))
	}
}
