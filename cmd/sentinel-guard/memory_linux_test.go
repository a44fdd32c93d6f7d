// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// anonymous returns the memory in bytes that a process shares with no file.
func anonymous(t *testing.T, pid int) (bytes int) {
	t.Helper()
	return memory(t, pid, "RssAnon:")
}

// peak returns the most memory in bytes that a process has had.
func peak(t *testing.T, pid int) (bytes int) {
	t.Helper()
	return memory(t, pid, "VmHWM:")
}

// memory returns a figure of proc_pid_status(5).
func memory(t *testing.T, pid int, field string) (bytes int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), field)
	if _, err := fmt.Sscan(rest, &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes << 10
}

func TestAGuardThatWaitsGivesMemoryBack(t *testing.T) {
	const size = 40_000_000
	p := guard(t, `read x; printf '{"jsonrpc":"2.0","id":1,"result":{"x":"'; head -c 40000000 /dev/zero | tr '\0' x; echo '"}}'; cat >&2`)
	p.send(request)
	if got := p.line(); len(got) < size {
		t.Fatalf("the result has %d bytes", len(got))
	}
	testenv.WaitAtMost(t, 20*time.Second, "the memory of a large result is given back", func() bool {
		return anonymous(t, p.cmd.Process.Pid) < size/2
	})
}
