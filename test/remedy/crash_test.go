// SPDX-License-Identifier: Apache-2.0

//go:build linux

package remedy

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

// alone runs the test in namespaces of its own with empty directories for list and
// journal, and returns the program; ok is false in the run that has nothing to do.
func alone(t *testing.T) (sentinel string, ok bool) {
	t.Helper()
	dir := filepath.Dir(os.Args[0]) // the same inside
	if os.Getenv("SENTINEL_TEST_INSIDE") != t.Name() {
		assistant.Build(t, filepath.Join("..", ".."), dir, "./cmd/sentinel")
	}
	if !testenv.Isolated(t) {
		return "", false
	}
	do(t, "mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/var/lib")
	do(t, "mount", "-t", "tmpfs", "-o", "mode=775,gid=4", "tmpfs", "/var/log") // as on Ubuntu
	return filepath.Join(dir, "sentinel"), true
}

// run runs sentinel to its end and returns its document.
func run(t *testing.T, sentinel string, args ...string) assistant.Document {
	t.Helper()
	out, err := exec.Command(sentinel, args...).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var d assistant.Document
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v: %v in %q", args, err, out)
	}
	return d
}

// succeed runs sentinel, which has to succeed.
func succeed(t *testing.T, sentinel string, args ...string) assistant.Document {
	t.Helper()
	d := run(t, sentinel, args...)
	if d["success"] != true {
		t.Fatalf("%v: %v", args, d)
	}
	return d
}

// inSync checks that list and packet filter agree and that every address is
// dropped, and that the journal is whole.
func inSync(t *testing.T, sentinel string, addresses map[string]bool) {
	t.Helper()
	d := succeed(t, sentinel, "--list-blocked", "--limit", "all")
	if d["in_sync"] != true {
		t.Fatalf("list and packet filter differ: %v", d["drift"])
	}
	dropped := map[string]bool{}
	for _, a := range d["ips"].([]any) {
		dropped[a.(string)] = true
	}
	for a := range addresses {
		if !dropped[a] {
			t.Errorf("%s was said to be blocked and is lost", a)
		}
	}
	if v := succeed(t, sentinel, "--verify-journal"); v["problems_total"] != 0.0 {
		t.Errorf("the journal: %v", v)
	}
}

// rounds is how many runs are killed.
var rounds = 500

// A process that is killed at any moment loses no acknowledged block, and
// leaves nothing that the next one cannot repair.
func TestBlocksKilledAtRandomMomentsLoseNothing(t *testing.T) {
	sentinel, ok := alone(t)
	if !ok {
		return
	}
	typical := typicalTime(t, sentinel)
	answered := map[string]bool{}
	killed := 0
	for i := range rounds {
		address := fmt.Sprintf("203.%d.%d.7", i/250, i%250)
		cmd := exec.Command(sentinel, "--block-ip", address, "--reason", "round")
		var out strings.Builder
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		moment := time.AfterFunc(rand.N(typical), func() { cmd.Process.Kill() })
		err := cmd.Wait()
		moment.Stop()
		switch {
		case err == nil:
			answered[address] = true
		case cmd.ProcessState.ExitCode() == -1:
			killed++
		default:
			t.Fatalf("round %d: %v: %s", i, err, out.String())
		}
		if i%100 == 99 {
			succeed(t, sentinel, "--restore-blocklist")
			inSync(t, sentinel, answered)
		}
	}
	t.Logf("%d of %d runs were killed", killed, rounds)
	if killed < rounds/10 || len(answered) < rounds/20 {
		t.Errorf("%d killed and %d answered of %d rounds test too little", killed, len(answered), rounds)
	}
}

// typicalTime is a little more than a block takes.
func typicalTime(t *testing.T, sentinel string) time.Duration {
	t.Helper()
	began := time.Now()
	for i := range 5 {
		succeed(t, sentinel, "--block-ip", fmt.Sprintf("203.0.113.%d", i+1))
	}
	return time.Since(began) / 4
}

func TestTwoHundredBlocksAtOnceAllHold(t *testing.T) {
	sentinel, ok := alone(t)
	if !ok {
		return
	}
	var group sync.WaitGroup
	answers := make([]assistant.Document, 200)
	for i := range answers {
		group.Go(func() {
			out, _ := exec.Command(sentinel, "--block-ip", fmt.Sprintf("203.0.113.%d", i+1)).Output()
			json.Unmarshal(out, &answers[i])
		})
	}
	group.Wait()
	blocked := map[string]bool{}
	for i, d := range answers {
		if d["success"] != true {
			t.Errorf("block %d: %v", i, d)
		}
		blocked[fmt.Sprintf("203.0.113.%d", i+1)] = true
	}
	inSync(t, sentinel, blocked)
	h := succeed(t, sentinel, "--history", "--last", "500")
	if h["total"] != 200.0 {
		t.Errorf("the journal has %v changes", h["total"])
	}
}

// On a full disk nothing is changed but what its owner needs to get back in.
func TestAFullDiskChangesNothing(t *testing.T) {
	sentinel, ok := alone(t)
	if !ok {
		return
	}
	do(t, "umount", "/var/log")
	do(t, "mount", "-t", "tmpfs", "-o", "mode=755,size=256k", "tmpfs", "/var/log")
	succeed(t, sentinel, "--block-ip", "203.0.113.7")
	os.WriteFile("/var/log/filler", make([]byte, 1<<20), 0o600) // as far as it goes
	if d := run(t, sentinel, "--block-ip", "203.0.113.8"); d.Text("error_code") != "JOURNAL_FAILED" {
		t.Errorf("block: %v", d)
	}
	if d := run(t, sentinel, "--unblock-ip", "203.0.113.7"); d.Text("error_code") != "JOURNAL_FAILED" {
		t.Errorf("unblock: %v", d)
	}
	victim := exec.Command("sleep", "infinity")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	if d := run(t, sentinel, "--kill", fmt.Sprint(victim.Process.Pid)); d.Text("error_code") != "JOURNAL_FAILED" {
		t.Errorf("kill: %v", d)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Errorf("the process is gone: %v", err)
	}
	inSyncOnly(t, sentinel, "203.0.113.7")
	if d := succeed(t, sentinel, "--unblock-ip", "203.0.113.7", "--force"); !strings.Contains(fmt.Sprint(d["unavailable"]), "nothing was recorded") {
		t.Errorf("a forced unblock does not say that it has no record: %v", d)
	}
	inSyncOnly(t, sentinel)
	if err := os.Remove("/var/log/filler"); err != nil {
		t.Fatal(err)
	}
	succeed(t, sentinel, "--block-ip", "203.0.113.8")
	inSync(t, sentinel, map[string]bool{"203.0.113.8": true})
}

// Where anybody could put another journal in the place of this one, nothing is
// changed.
func TestAJournalThatOthersCouldReplaceIsNotUsed(t *testing.T) {
	sentinel, ok := alone(t)
	if !ok {
		return
	}
	for _, mode := range []os.FileMode{0o777, 0o757} {
		if err := os.Chmod("/var/log", mode); err != nil {
			t.Fatal(err)
		}
		if d := run(t, sentinel, "--block-ip", "203.0.113.7"); d.Text("error_code") != "JOURNAL_FAILED" || !strings.Contains(d.Text("error"), "/var/log can be written by others") {
			t.Errorf("mode %o: %v", mode, d)
		}
	}
	if err := os.Chmod("/var/log", 0o775); err != nil {
		t.Fatal(err)
	}
	succeed(t, sentinel, "--block-ip", "203.0.113.7")
}

// inSyncOnly checks that exactly these addresses are dropped.
func inSyncOnly(t *testing.T, sentinel string, addresses ...string) {
	t.Helper()
	d := succeed(t, sentinel, "--list-blocked")
	if d["in_sync"] != true || fmt.Sprint(d["ips"]) != fmt.Sprint(addresses) {
		t.Errorf("dropped are %v, want %v (in step: %v)", d["ips"], addresses, d["in_sync"])
	}
}

// A change that is interrupted is whole or has not happened, and says which.
func TestAnInterruptedBlockIsWholeOrHasNotHappened(t *testing.T) {
	sentinel, ok := alone(t)
	if !ok {
		return
	}
	typical := typicalTime(t, sentinel)
	answered := map[string]bool{}
	for i := range 200 {
		address := fmt.Sprintf("203.0.114.%d", i+1)
		cmd := exec.Command(sentinel, "--block-ip", address)
		var out strings.Builder
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		moment := time.AfterFunc(rand.N(typical), func() { cmd.Process.Signal(os.Interrupt) })
		err := cmd.Wait()
		moment.Stop()
		switch code := cmd.ProcessState.ExitCode(); {
		case err == nil, code == -1 && strings.Contains(out.String(), `"success":true`): // the signal met the answer's last line
			answered[address] = true
		case code == 130 && strings.Contains(out.String(), `"error_code":"CANCELLED"`), code == -1 && out.Len() == 0: // before it listens to signals
		default:
			t.Errorf("%v: %s", err, out.String())
		}
	}
	list := succeed(t, sentinel, "--list-blocked", "--limit", "all")
	for _, row := range list["entries"].([]any) {
		a := assistant.Document(row.(map[string]any)).Text("ip")
		if strings.HasPrefix(a, "203.0.114.") && !answered[a] {
			t.Errorf("%s was said to be cancelled and is blocked", a)
		}
	}
	inSync(t, sentinel, answered)
}
