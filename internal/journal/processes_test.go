// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sentinel/internal/fault"
)

// writerMark holds, for a process of its own, what it is to write: directory,
// directory of the head, size of a file, number of actions, limit or 0.
const writerMark = "SENTINEL_TEST_JOURNAL_WRITER"

func TestMain(m *testing.M) {
	if task := os.Getenv(writerMark); task != "" {
		writer(task)
		return
	}
	os.Exit(m.Run())
}

// writer prints each record that the journal reported to be on disk.
func writer(task string) {
	var dir, headDir string
	var size int64
	var actions, most int
	if _, err := fmt.Sscan(task, &dir, &headDir, &size, &actions, &most); err != nil {
		panic(err)
	}
	j := at(dir, headDir)
	j.maxFile, j.maxKept, j.lockTimeout = size, 1000, time.Minute
	var limit *Limit
	if most > 0 {
		limit = &Limit{Most: most, Within: time.Hour, Counts: func(r Record) bool { return r.Tool == "block_ip_address" }}
	}
	ctx := context.Background()
	for range actions {
		e, err := j.Begin(ctx, block("parallel"), limit)
		var known *fault.Error
		if errors.As(err, &known) && known.Code == fault.RateLimited {
			fmt.Fprintln(os.Stdout, "limited")
			continue
		}
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stdout, "began", e.Seq())
		if err := e.Finish(ctx, Outcome{Result: Done}); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stdout, "ended", e.Seq())
	}
}

// start runs a writer in a process of its own.
func start(t testing.TB, j *Journal, actions, most int) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %d %d", writerMark, j.dir, j.headDir, j.maxFile, actions, most))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// acknowledged reads what a writer printed into states, by sequence number, and
// returns how often it was refused. It ignores a last line without a newline, which a kill leaves.
func acknowledged(t testing.TB, out io.Reader, states map[uint64]string) (limited int) {
	t.Helper()
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return limited
		}
		state, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if state == "limited" {
			limited++
			continue
		}
		seq, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			t.Fatal(line)
		}
		states[seq] = state
	}
}

// kept fails the test unless the journal holds all acknowledged records.
func kept(t testing.TB, j *Journal, states map[uint64]string) {
	t.Helper()
	s, err := j.snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	began, ended := map[uint64]bool{}, map[uint64]bool{}
	for line, err := range backwards(s.segments) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := parseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		began[r.Seq] = began[r.Seq] || r.Event == EventIntent
		ended[r.Of] = true
	}
	for seq, state := range states {
		if !began[seq] || state == "ended" && !ended[seq] {
			t.Fatalf("action %d, which %s, is lost", seq, state)
		}
	}
}

func TestTwoHundredProcessesShareOneJournal(t *testing.T) {
	j := fresh(t)
	j.maxFile, j.maxKept = 40<<10, 1000
	states := map[uint64]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 200 {
		cmd, out := start(t, j, 2, 0)
		all.Go(func() {
			own := map[uint64]string{}
			acknowledged(t, out, own)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for seq, state := range own {
				if state != "ended" || states[seq] != "" {
					t.Errorf("record %d %s, and before it %q", seq, state, states[seq])
				}
				states[seq] = state
			}
		})
	}
	all.Wait()
	r := sound(t, j)
	if len(states) != 400 || r.Records != 800 || r.LastSeq != 800 || r.Files < 5 {
		t.Errorf("%d actions, %+v", len(states), r)
	}
	kept(t, j, states)
}

func TestRunsAtTheSameTimeDoNotPassTheLimitTogether(t *testing.T) {
	j := fresh(t)
	var mu sync.Mutex
	var all sync.WaitGroup
	through, refused := map[uint64]string{}, 0
	for range 20 {
		cmd, out := start(t, j, 2, 10)
		all.Go(func() {
			own := map[uint64]string{}
			limited := acknowledged(t, out, own)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			refused += limited
			for seq := range own {
				through[seq] = "ended"
			}
		})
	}
	all.Wait()
	if len(through) != 10 || refused != 30 || sound(t, j).Records != 20 {
		t.Errorf("%d went through, %d were refused", len(through), refused)
	}
}

// ageLeftovers makes temporary files old enough to be removed.
func ageLeftovers(t *testing.T, j *Journal) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(j.headDir, ".*"))
	if err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-2 * time.Minute)
	for _, name := range left {
		if err := os.Chtimes(name, then, then); err != nil {
			t.Fatal(err)
		}
	}
}

// A process that is killed at any moment loses no acknowledged record, and the
// next one repairs the journal without a trace.
func TestKilledAtAnyMoment(t *testing.T) {
	const rounds, together = 300, 25
	for range rounds / together {
		j := fresh(t)
		j.maxFile, j.maxKept = maxLine+2000, 1000 // every few records
		states := map[uint64]string{}
		for range together {
			cmd, out := start(t, j, 1000, 0)
			kill(t, cmd, out, states)
			ageLeftovers(t, j)
			e := begin(t, j, "after the kill")
			finish(t, e)
			states[e.Seq()] = "ended"
			sound(t, j)
			tidy(t, j)
		}
		kept(t, j, states)
		if r := sound(t, j); r.Records < 3*together {
			t.Errorf("the writers were killed before they wrote: %+v", r)
		}
	}
}

// kill ends a writer at a moment that nobody chose, once it has begun to write.
func kill(t testing.TB, cmd *exec.Cmd, out io.Reader, states map[uint64]string) {
	t.Helper()
	r := bufio.NewReader(out)
	if _, err := r.Peek(1); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Duration(rand.Int64N(int64(15*time.Millisecond))), func() { cmd.Process.Kill() })
	defer timer.Stop()
	acknowledged(t, r, states)
	if err := cmd.Wait(); err == nil {
		t.Fatal("the writer ended by itself")
	}
}
