// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

// A machine on its knees is what health is asked for.
func TestAMachineOnItsKneesAnswers(t *testing.T) {
	if os.Getenv("SENTINEL_TEST_INSIDE") != t.Name() {
		assistant.Build(t, filepath.Join("..", ".."), filepath.Dir(os.Args[0]), "./cmd/sentinel-mcp")
	}
	if !isolated(t) {
		return
	}
	prepare(t)
	t.Run("processors taken", processorsTaken)
	t.Run("no threads", fewThreads)
	t.Run("no processes", noProcesses)
	t.Run("no memory", noMemory)
	t.Run("disk full", diskFull)
}

func sentinelIn(name string) string { return filepath.Join(filepath.Dir(os.Args[0]), name) }

// processorsTaken looks at a run whose answer nobody reads yet, so that it is there while it is looked at.
func processorsTaken(t *testing.T) {
	for range 40 {
		busy(t)
	}
	cmd := exec.Command(sentinelIn("sentinel"), "--request", "get_system_health")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	// The tests may run with a niceness of their own, which root's run would keep.
	if err := startOrdinary(cmd); err != nil {
		t.Fatal(err)
	}
	smallest(t, stdout)
	if _, err := io.WriteString(stdin, "{}"); err != nil || stdin.Close() != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, "the better place of every thread", func() bool { return slices.Equal(nices(t, cmd.Process.Pid), []int{-20}) })
	d := decode(t, stdout)
	if err := cmd.Wait(); err != nil || d["success"] != true || d["threat_level"] == nil || len(d.Rows("top_processes")) != 3 || d["processes_total"] == nil {
		t.Errorf("%v: %v", err, d)
	}
	for _, field := range []string{"cpu_load", "memory", "disks", "flows", "top_processes", "cpu.percent"} {
		if why := gap(d, field); why != "" {
			t.Errorf("%s: %s", field, why)
		}
	}
}

// smallest has a pipe hold a page, less than an answer (F_SETPIPE_SZ of fcntl(2)).
func smallest(t *testing.T, pipe io.Reader) {
	t.Helper()
	file, ok := pipe.(*os.File)
	if !ok {
		t.Fatalf("%T is no file", pipe)
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil {
		t.Fatal(err)
	}
}

// busy takes as much of the processors as it is given until the test ends.
func busy(t *testing.T) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}

// startOrdinary starts a program with the niceness 0.
func startOrdinary(cmd *exec.Cmd) error {
	cmd.Args = append([]string{"sh", "-c", `renice -n 0 -p $$ >/dev/null && exec "$@"`, "sh"}, cmd.Args...)
	cmd.Path = "/bin/sh"
	return cmd.Start()
}

// nices are the values that the threads of a process have.
func nices(t *testing.T, pid int) (values []int) {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		var tid int
		fmt.Sscan(e.Name(), &tid)
		if attr, err := unix.SchedGetAttr(tid, 0); err == nil {
			values = append(values, int(attr.Nice))
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

func decode(t *testing.T, from io.Reader) assistant.Document {
	t.Helper()
	raw, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	var d assistant.Document
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	return d
}

// limited is a program of eve's, who may have so many processes and threads.
func limited(t *testing.T, most int, program string, args ...string) *exec.Cmd {
	t.Helper()
	behind := []string{fmt.Sprintf("--nproc=%d", most), testenv.Program(t, "setpriv", "util-linux"), fmt.Sprintf("--reuid=%d", eve), "--clear-groups", program}
	return exec.Command(testenv.Program(t, "prlimit", "util-linux"), append(behind, args...)...)
}

// fewThreads is a large machine, where the runtime would like to have dozens.
func fewThreads(t *testing.T) {
	for _, args := range [][]string{{"--json"}, {"--top", "--json"}, {"--network-stats", "--json"}} {
		cmd := limited(t, 14, sentinelIn("sentinel"), args...)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=64")
		out, err := cmd.Output()
		var d assistant.Document
		if err != nil || json.Unmarshal(out, &d) != nil || d["success"] != true {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
}

// noProcesses takes them away from the user of a server that runs.
func noProcesses(t *testing.T) {
	program := filepath.Join("/mnt", "sentinel") // where eve may look
	do(t, "cp", sentinelIn("sentinel"), program)
	cmd := limited(t, 1000, sentinelIn("sentinel-mcp"), "--sentinel", program)
	call := served(t, cmd)
	processes := func(most int) { // by eve, because root may lack the capability
		do(t, "setpriv", fmt.Sprintf("--reuid=%d", eve), "--clear-groups", "prlimit", fmt.Sprintf("--pid=%d", cmd.Process.Pid), fmt.Sprintf("--nproc=%d:1000", most))
	}
	processes(1)
	for range 3 {
		if d := call("get_top_processes"); d["error_code"] != "UNAVAILABLE" || !strings.Contains(fmt.Sprint(d["error"]), "no process left") || !strings.Contains(fmt.Sprint(d["fix"]), "Try again in a moment") {
			t.Errorf("without processes: %v", d)
		}
	}
	processes(1000)
	if d := call("get_top_processes"); d["success"] != true {
		t.Errorf("with processes again: %v", d)
	}
}

// served starts a server, and returns what calls its tools.
func served(t *testing.T, cmd *exec.Cmd) (call func(tool string) assistant.Document) {
	t.Helper()
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	lines := bufio.NewReader(stdout)
	exchange := func(message string) (answer assistant.Document) {
		fmt.Fprintln(stdin, message)
		for answer["id"] == nil { // notifications may come before it
			line, err := lines.ReadBytes('\n')
			if err != nil || json.Unmarshal(line, &answer) != nil {
				t.Fatalf("%v: %q", err, line)
			}
		}
		return answer
	}
	exchange(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	id := 1
	return func(tool string) assistant.Document {
		id++ // an id must not come twice in a session
		answer := exchange(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, tool))
		result, _ := answer["result"].(map[string]any)
		document, _ := result["structuredContent"].(map[string]any)
		if document == nil {
			t.Errorf("no document: %v", answer)
		}
		return document
	}
}

// noMemory runs a sentinel that may use so many kilobytes of addresses. What a program of Go begins with takes
// some 750 MB of them, most of which it never touches: what ends before that is told as it is, and with more
// health answers.
func noMemory(t *testing.T) {
	for limit, want := range map[int]string{300_000: "no memory left", 720_000: "no memory left", 3_000_000: ""} {
		poor := filepath.Join("/mnt", fmt.Sprint("poor", limit))
		script := fmt.Sprintf("#!/bin/sh\nulimit -v %d\nexec %s \"$@\"\n", limit, sentinelIn("sentinel"))
		if err := os.WriteFile(poor, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		d := served(t, exec.Command(sentinelIn("sentinel-mcp"), "--sentinel", poor))("get_system_health")
		switch {
		case want == "" && d["threat_level"] == nil, want != "" && (d["error_code"] != "UNAVAILABLE" || !strings.Contains(d.Text("error"), want) || strings.Contains(fmt.Sprint(d), "goroutine")):
			t.Errorf("with %d kB: %v", limit, d)
		}
	}
}

// fillState fills where sentinel keeps its state and its journal.
func fillState(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"/var/lib", "/var/log"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=755"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("%s is not full: %v", dir, err)
		}
	}
}

// succeedUnkept runs sentinel, which has to say that there is no space to keep a field for the next run.
func succeedUnkept(t *testing.T, field string, args ...string) {
	t.Helper()
	d := succeed(t, args...)
	if all := fmt.Sprint(d["unavailable"]); !strings.Contains(all, "field:"+field+" ") || !strings.Contains(all, "no space left on device") {
		t.Errorf("%v does not say what is not kept: %s", args, all)
	}
}

// What reads answers; what changes something is refused before, because it cannot be recorded.
func diskFull(t *testing.T) {
	fillState(t)
	succeedUnkept(t, "agent_uuid")
	succeedUnkept(t, "since", "--startup-items")
	succeedUnkept(t, "new", "--logins")
	succeedUnkept(t, "grown", "--disk-usage", "/var")
	for _, args := range [][]string{{"--top"}, {"--list-blocked"}, {"--network-stats"}, {"--history"}} {
		succeed(t, args...)
	}
	victim := exec.Command("sleep", "600")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer victim.Wait()
	defer victim.Process.Kill()
	for _, args := range [][]string{{"--kill", fmt.Sprint(victim.Process.Pid)}, {"--block-ip", "203.0.113.7"}} {
		if d := ask(t, args...); d["error_code"] != "JOURNAL_FAILED" || !strings.Contains(fmt.Sprint(d["fix"]), "Free space") {
			t.Errorf("%v: %v", args, d)
		}
	}
	if err := victim.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process that could not be recorded: %v", err)
	}
	if rules := do(t, "nft", "list", "ruleset"); strings.Contains(rules, "203.0.113.7") {
		t.Errorf("blocked without a record:\n%s", rules)
	}
}
