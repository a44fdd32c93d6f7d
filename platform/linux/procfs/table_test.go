// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

const hosts = "../../../testdata/hosts/"

func byPID(t *testing.T, root string) map[int]Process {
	t.Helper()
	list, _, err := New(root).Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table := map[int]Process{}
	for _, p := range list {
		if p.Read.IsZero() {
			t.Errorf("process %d was read at no time", p.PID)
		}
		table[p.PID] = p
	}
	return table
}

func TestProcessTableOfALaptop(t *testing.T) {
	table := byPID(t, hosts+"laptop")
	if len(table) != 15 {
		t.Errorf("%d processes, want 15", len(table))
	}
	for pid, want := range map[int]ProcessStat{
		1:    {PID: 1, Name: "systemd", State: 'S', Session: 1, Flags: 4194560, Ticks: 913, Threads: 1, Start: 2, RSSPages: 3290},
		2:    {PID: 2, Name: "kthreadd", State: 'S', Flags: 2129984, Ticks: 4, Threads: 1, Start: 2},
		57:   {PID: 57, Name: "kworker/0:1H-kblockd", State: 'I', ParentPID: 2, Flags: 69238880, Ticks: 88, Threads: 1, Start: 44},
		412:  {PID: 412, Name: "systemd-journal", State: 'S', ParentPID: 1, Session: 412, Flags: 4194560, Ticks: 341, Threads: 1, Start: 310, RSSPages: 9120},
		2351: {PID: 2351, Name: "evil) (name", State: 'S', ParentPID: 1702, Session: 2351, Flags: 4194560, Ticks: 10, Threads: 1, Start: 50011, RSSPages: 210},
		2352: {PID: 2352, Name: "\x1b[2J\x1b[31m\nroot", State: 'S', ParentPID: 1702, Session: 2352, Flags: 4194560, Ticks: 4, Threads: 1, Start: 50120, RSSPages: 190},
		2353: {PID: 2353, Name: "sh", State: 'Z', ParentPID: 2351, Session: 2353, Flags: 4194560, Threads: 1, Start: 50200},
	} {
		if diff := cmp.Diff(want, table[pid].ProcessStat); diff != "" {
			t.Errorf("process %d: %s", pid, diff)
		}
	}
}

// Everybody can have processes that nobody gets to read: these hide no other.
func TestProcessTableOfAMachineWithStuckProcesses(t *testing.T) {
	line := func(pid string) string { return strings.Replace(statLine("x"), "812", pid, 1) }
	root := testenv.Plant(t, map[string]string{"proc/1/stat": line("1"), "proc/50/stat": line("50"), "proc/900/stat": line("900")})
	stuck := []int{40, 60}
	for _, pid := range stuck {
		testenv.PlantStuck(t, filepath.Join(root, "proc", strconv.Itoa(pid), "stat"))
	}
	fs := New(root)
	for range 2 { // those that are known are left alone
		list, apart, err := fs.Processes(t.Context())
		var pids []int
		for _, p := range list {
			pids = append(pids, p.PID)
		}
		slices.Sort(pids)
		slices.Sort(apart)
		if !slices.Equal(pids, []int{1, 50, 900}) || !slices.Equal(apart, stuck) || err != nil {
			t.Errorf("%d, apart %d, %v", pids, apart, err)
		}
	}
	skipped, err := New(root).OpenFiles(t.Context(), append(stuck, 1), func(OpenFile) bool { return true })
	if err != nil || len(skipped) != 2 || skipped[0].PID != stuck[0] || !errors.Is(skipped[1].Err, ErrStuck) || skipped[1].UID != os.Getuid() {
		t.Errorf("without their files: %+v, %v", skipped, err)
	}
	if faces, err := fs.Faces(stuck); err != nil || !errors.Is(faces[0].Err, ErrStuck) {
		t.Errorf("their programs: %+v, %v", faces, err)
	}
	if _, err := fs.Link(stuck[0], "exe"); !errors.Is(err, ErrStuck) {
		t.Errorf("the program of one: %v", err)
	}
	if _, err := fs.Process(stuck[0]); !errors.Is(err, ErrStuck) {
		t.Errorf("one: %v", err)
	}
}

func TestProcessTableLeavesOutWhatIsNoProcess(t *testing.T) {
	root := t.TempDir()
	for pid, stat := range map[string]string{"7": "", "8": statLine("not 8"), "812": statLine("x"), "self": statLine("x"), "9": "garbage"} {
		dir := filepath.Join(root, "proc", pid)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "proc", "10"), 0o700); err != nil {
		t.Fatal(err)
	}
	table := byPID(t, root)
	if _, ok := table[812]; !ok || len(table) != 1 {
		t.Errorf("got %+v, want 812 alone", table)
	}
}

func TestProcessTableIsNeverEmptyWithoutAnError(t *testing.T) {
	root := t.TempDir()
	if _, _, err := New(root).Processes(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no /proc: %v", err)
	}
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, _, err := New(root).Processes(t.Context()); err == nil {
		t.Errorf("an empty /proc: %v", got)
	}
}

func TestProcessTableStopsWhenItsCallerDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, _, err := New(hosts + "laptop").Processes(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestDetailsOfEveryFixtureProcess(t *testing.T) {
	for _, host := range []string{"laptop", "vm", "container", "raspberrypi"} {
		fs := New(hosts + host)
		for pid, p := range byPID(t, hosts+host) {
			args, err := fs.CommandLine(pid)
			if err != nil || (len(args) == 0) != (p.State == 'Z' || p.Flags&0x00200000 != 0 || p.State == 'I') {
				t.Errorf("%s %d (%c): arguments %q, %v", host, pid, p.State, args, err)
			}
			if _, err := fs.UID(pid); err != nil {
				t.Errorf("%s %d: %v", host, pid, err)
			}
		}
	}
}

func TestOwnersOfFixtureSockets(t *testing.T) {
	for host, want := range map[string]map[uint64]Holder{
		"laptop":      {40112: {2107, "firefox-esr"}, 40120: {2354, "mysqldump"}, 20602: {802, "sshd"}, 20411: {771, "NetworkManager"}},
		"vm":          {9401: {810, "nginx"}, 9403: {811, "nginx"}, 9302: {733, "postgres"}},
		"container":   {70010: {8, "java"}},
		"raspberrypi": {5202: {620, "hass"}, 5302: {700, "mosquitto_sub"}}, //nolint:misspell // the name of the program
	} {
		wanted := map[uint64]int{999999: 0}
		for inode := range want {
			wanted[inode] = 0
		}
		got, err := New(hosts+host).SocketOwners(t.Context(), wanted)
		if diff := cmp.Diff(want, got.ByInode); diff != "" || err != nil || got.Denied || len(got.Skipped) != 0 {
			t.Errorf("%s: %+v, %v\n%s", host, got, err, diff)
		}
	}
}
