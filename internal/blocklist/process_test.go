// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sentinel/internal/fault"
)

// A directory stands for a kernel that several processes share: a file for each
// address, with the time of its end.
type directory string

func (f directory) Name() string { return "folder" }

func (f directory) Abilities() Abilities {
	return Abilities{Expires: true, Directions: []string{"in"}}
}

func (f directory) Add(_ context.Context, blocks []Block) error {
	for _, b := range blocks {
		end := int64(0)
		if b.Left > 0 {
			end = time.Now().Add(b.Left).UnixNano()
		}
		next := filepath.Join(string(f), fmt.Sprintf("next-%d", os.Getpid()))
		if err := os.WriteFile(next, strconv.AppendInt(nil, end, 10), 0o600); err != nil {
			return err
		}
		if err := os.Rename(next, filepath.Join(string(f), b.Address.String())); err != nil {
			return err
		}
	}
	return nil
}

func (f directory) Remove(_ context.Context, addresses []netip.Addr) error {
	for _, a := range addresses {
		if err := os.Remove(filepath.Join(string(f), a.String())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f directory) Loaded(context.Context) ([]Block, bool, error) {
	found, err := os.ReadDir(string(f))
	var blocks []Block
	for _, file := range found {
		a, aerr := netip.ParseAddr(file.Name())
		raw, rerr := os.ReadFile(filepath.Join(string(f), file.Name()))
		end, nerr := strconv.ParseInt(string(raw), 10, 64)
		if aerr != nil || rerr != nil || nerr != nil {
			continue // on its way in or out
		}
		b := Block{Address: a}
		if end > 0 {
			b.Left = time.Until(time.Unix(0, end))
		}
		if b.Left >= 0 {
			blocks = append(blocks, b)
		}
	}
	return blocks, true, err
}

func shared(dir string) *List {
	quiet := newMachine()
	return New(filepath.Join(dir, "state", "blocklist.json"), func(context.Context) (Backend, error) { return directory(filepath.Join(dir, "kernel")), nil }, quiet, nil, nil)
}

func sharedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "kernel"))
	return dir
}

// childMark tells a process that these tests started what to do.
const childMark = "SENTINEL_BLOCKLIST_CHILD"

func TestMain(m *testing.M) {
	task := strings.Fields(os.Getenv(childMark))
	switch {
	case len(task) == 3 && task[0] == "once":
		os.Exit(once(shared(task[1]), task[2]))
	case len(task) == 3 && task[0] == "forever":
		forever(shared(task[1]), task[2])
	default:
		os.Exit(m.Run())
	}
}

// child starts this test binary once more.
func child(t *testing.T, task ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMark+"="+strings.Join(task, " "))
	cmd.Stderr = os.Stderr
	return cmd
}

// once blocks an address and says by its status how that went.
func once(l *List, address string) int {
	b, err := l.PlanBlock(context.Background(), Request{Address: address, By: "a test"})
	if err == nil {
		_, err = b.Do(context.Background())
	}
	switch {
	case err == nil:
		return 0
	case fault.From(err).Code == fault.AlreadyBlocked:
		return 9
	default:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
}

func TestTwoHundredBlocksAtOnce(t *testing.T) {
	dir, status := sharedDir(t), make([]int, 200)
	var all sync.WaitGroup
	for i := range status {
		cmd := child(t, "once", dir, fmt.Sprintf("203.0.113.%d", i%180+1))
		all.Go(func() {
			_ = cmd.Run()
			status[i] = cmd.ProcessState.ExitCode()
		})
	}
	all.Wait()
	count := map[int]int{}
	for _, s := range status {
		count[s]++
	}
	if count[0] != 180 || count[9] != 20 {
		t.Errorf("statuses %v", count)
	}
	l := shared(dir)
	if got := listing(t, l); got.EntriesTotal != 180 || got.IPsTotal != 180 || !*got.InSync {
		t.Errorf("%d listed, %d in force, %+v", got.EntriesTotal, got.IPsTotal, got.Drift)
	}
}

// An outcome is what is known of an address: what was acknowledged or, where
// the run was cut off, what the list says. The kernel need not agree with that before the
// next run.
type outcome struct{ blocked, cutOff bool }

// forever blocks and unblocks addresses of one network until it is killed. It
// says what it is about to do and what was acknowledged.
func forever(l *List, network string) {
	for i := 1; ; i++ {
		address := fmt.Sprintf("2001:db8:%s::%d", network, 1+rand.IntN(8))
		if i%7 == 3 {
			if _, err := l.Restore(context.Background()); err != nil {
				fmt.Fprintln(os.Stdout, "error", err)
			}
		}
		fmt.Fprintln(os.Stdout, "try", address)
		var err error
		if b, perr := l.PlanBlock(context.Background(), Request{Address: address}); perr == nil {
			_, err = b.Do(context.Background())
			fmt.Fprintln(os.Stdout, "blocked", address, settled(err, fault.AlreadyBlocked))
		} else if u, uerr := l.PlanUnblock(context.Background(), address, false); uerr == nil {
			_, err = u.Do(context.Background())
			fmt.Fprintln(os.Stdout, "unblocked", address, settled(err, fault.NotBlocked))
		} else {
			fmt.Fprintln(os.Stdout, "error", perr, uerr)
		}
	}
}

// settled takes it for a success that another run was faster: one that restored
// what this address was left with.
func settled(err error, by fault.Code) error {
	if code(err) == by {
		return nil
	}
	return err
}

// A thousand times a process is killed in the middle of its work, four of them
// at a time on the same list.
func TestKilledAtAnyMomentNothingIsLost(t *testing.T) {
	const workers, rounds = 4, 250
	dir := sharedDir(t)
	var all sync.WaitGroup
	states := make([]map[string]outcome, workers)
	for w := range workers {
		states[w] = map[string]outcome{}
		all.Go(func() {
			for range rounds {
				kill(t, dir, strconv.Itoa(w+1), states[w])
			}
		})
	}
	all.Wait()
	l, want := shared(dir), []string{}
	r := restore(t, l)
	for _, s := range states {
		for address, is := range s {
			if is.blocked {
				want = append(want, address)
			}
		}
	}
	slices.Sort(want)
	same(t, "list", listed(t, l), want)
	got := listing(t, l)
	slices.Sort(got.IPs)
	same(t, "kernel", got.IPs, want)
	if !*got.InSync || len(l.quarantined()) != 0 || len(got.Warnings) != 0 {
		t.Errorf("%+v", got)
	}
	t.Logf("%d addresses; %+v", len(want), r)
}

// kill runs one process, kills it and compares what it acknowledged with what
// is there. state holds what is known of its addresses.
func kill(t *testing.T, dir, network string, state map[string]outcome) {
	cmd := child(t, "forever", dir, network)
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		t.Error("no process", err)
		return
	}
	lines := bufio.NewScanner(out)
	lines.Scan() // it is at work
	timer := time.AfterFunc(time.Duration(rand.IntN(15_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	said := []string{lines.Text()}
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	_ = cmd.Wait()
	open := ""
	for _, line := range said {
		open = heed(t, line, open, state)
	}
	settle(t, dir, open, state)
}

// heed takes in a line, and returns the address whose outcome is open.
func heed(t *testing.T, line, open string, state map[string]outcome) string {
	words := strings.Fields(line)
	switch {
	case len(words) == 2 && words[0] == "try":
		return words[1]
	case len(words) == 3 && words[2] == "<nil>":
		state[words[1]] = outcome{words[0] == "blocked", false}
		return ""
	case len(words) > 3 || words[0] == "error":
		t.Errorf("it said %q", line)
	}
	return open
}

// settle compares, and takes what is listed of the address whose outcome is
// open for its outcome.
func settle(t *testing.T, dir, open string, state map[string]outcome) {
	l := shared(dir)
	c, err := l.read(fileContent{})
	if err != nil {
		t.Error(err)
		return
	}
	blocks, _, err := directory(filepath.Join(dir, "kernel")).Loaded(t.Context())
	if err != nil {
		t.Error(err)
	}
	for address, is := range state {
		a := netip.MustParseAddr(address)
		_, listed := findEntry(c.entries, a)
		dropped := slices.ContainsFunc(blocks, func(b Block) bool { return b.Address == a })
		if address != open && (listed != is.blocked || dropped != is.blocked && !is.cutOff) {
			t.Errorf("%s: acknowledged: %+v; listed: %v, dropped: %v", address, is, listed, dropped)
		}
	}
	if open != "" {
		_, listed := findEntry(c.entries, netip.MustParseAddr(open))
		state[open] = outcome{listed, true}
	}
}
