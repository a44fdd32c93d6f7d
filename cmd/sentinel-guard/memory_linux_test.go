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

// held checks that the guard never has had more than most bytes of memory.
func (p *program) held(most int) {
	p.t.Helper()
	if n := peak(p.t, p.cmd.Process.Pid); n > most {
		p.t.Errorf("it has held %d bytes", n)
	}
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

// What a client has asked for before it stopped reading waits for it, most of it in the server.
func TestAClientThatStopsReadingLosesNothing(t *testing.T) {
	const calls, size = 64, 1_000_000
	p := guard(t, ready+`x=$(head -c 1000000 /dev/zero | tr '\0' x)
while read -r line; do id=${line#*'"id":'}; id=${id%%,*}; echo '{"jsonrpc":"2.0","id":'$id',"result":{"x":"'$x'"}}'; done; exit 5`)
	pid := p.pid()
	for id := range calls {
		p.send(strings.Replace(request, "1", fmt.Sprint(id), 1))
	}
	<-time.After(pause)
	for id := range calls {
		if got := p.line(); !strings.HasPrefix(got, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, id)) || len(got) < size || !strings.HasSuffix(got, `x"}}`) {
			t.Fatalf("%d: %d bytes, %.60s", id, len(got), got)
		}
	}
	p.held(48 << 20) // of 64 MB that were asked for
	p.in.Close()
	if got := p.status(); got != 5 {
		t.Errorf("status %d\n%s", got, p.said())
	}
	gone(t, pid)
}
