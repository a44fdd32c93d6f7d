// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sentinel/internal/config"
	"sentinel/internal/target"
	"sentinel/internal/testenv"
	"sentinel/internal/webhook"
)

// TestMain lets this program be a reporter: a process of its own that sends
// documents to the URL in SENTINEL_TEST_REPORT until it is killed, or as many as that says.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SENTINEL_TEST_SPOOL"); dir != "" {
		reporter(dir, os.Getenv("SENTINEL_TEST_REPORT"), os.Getenv("SENTINEL_TEST_NAME"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const perReporter = 40

func reporter(dir, to, name string) {
	u, err := target.ParseURL(to)
	if err != nil {
		panic(err)
	}
	w := config.Default().Webhook
	client := webhook.NewClient(webhook.Unsigned(u, w), "", nil)
	s := New(dir, to, 1<<20, time.Hour)
	for n := range perReporter {
		id := fmt.Sprintf("msg_%s-%03d", name, n)
		fmt.Fprintln(os.Stdout, "made", id)
		sent := s.Send(context.Background(), webhook.Document{ID: id, Body: []byte("body of " + id)}, client)
		fmt.Fprintln(os.Stdout, "sent", id, sent.Kept || sent.Verdict == webhook.Delivered)
	}
}

// A counting receiver knows how often each document came.
type counting struct {
	mu    sync.Mutex
	count map[string]int
	wrong []string
}

func (c *counting) ServeHTTP(_ http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	id := q.Header.Get("Webhook-Id")
	c.count[id]++
	if string(body) != "body of "+id {
		c.wrong = append(c.wrong, id)
	}
}

func (c *counting) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.count)
}

func listening(t *testing.T) (*counting, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{count: map[string]int{}}
	s := &http.Server{Handler: c}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return c, "http://" + l.Addr().String() + "/"
}

func start(t *testing.T, dir, to, name string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SENTINEL_TEST_SPOOL="+dir, "SENTINEL_TEST_REPORT="+to, "SENTINEL_TEST_NAME="+name)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &said
}

func TestReportersAtTheSameTimeSendNothingTwice(t *testing.T) {
	to, url := listening(t)
	dir := filepath.Join(t.TempDir(), "spool")
	var all []*exec.Cmd
	for n := range 4 {
		cmd, _ := start(t, dir, url, fmt.Sprint(n))
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if to.total() != 4*perReporter || len(to.wrong) > 0 {
		t.Errorf("%d of %d arrived, wrong: %v", to.total(), 4*perReporter, to.wrong)
	}
	for id, n := range to.count {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*", "*"+suffix)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A reporter that is killed at any moment loses no document that was kept, and
// the next one sends it under the same ID.
func TestAKilledReporterLosesNothing(t *testing.T) {
	to, url := listening(t)
	dir := filepath.Join(t.TempDir(), "spool")
	promised := map[string]bool{}
	for round := range 25 {
		cmd, said := start(t, dir, url, fmt.Sprintf("k%02d", round))
		want := to.total() + 1 + round%7
		testenv.WaitFor(t, "reports", func() bool { return to.total() >= want })
		<-time.After(time.Duration(round) * 100 * time.Microsecond) // another moment each time
		cmd.Process.Kill()
		cmd.Wait()
		for line := range strings.Lines(said.String()) {
			if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "sent" && fields[2] == "true" {
				promised[fields[1]] = true
			}
		}
		for _, file := range glob(t, dir, suffix) { // what is there is promised
			e, _ := parseName(filepath.Base(file))
			promised[e.id] = true
		}
	}
	last, _ := start(t, dir, url, "last")
	if err := last.Wait(); err != nil {
		t.Fatal(err)
	}
	for id := range promised {
		if to.count[id] == 0 {
			t.Errorf("%s was lost", id)
		}
	}
	if len(to.wrong) > 0 || len(promised) < 25 {
		t.Errorf("wrong: %v; promised: %d", to.wrong, len(promised))
	}
	if left := append(glob(t, dir, suffix), glob(t, dir, corrupt)...); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func glob(t *testing.T, dir, kind string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "*"+kind))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
