// SPDX-License-Identifier: Apache-2.0

package elevation

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
)

// No right of sudo makes more processes, so what helps is something else.
func TestAMachineWithoutProcessesIsNoRefusal(t *testing.T) {
	start := func(why syscall.Errno) error {
		return fmt.Errorf("run: %w", &fs.PathError{Op: "fork/exec", Path: Sudo, Err: why})
	}
	said := func(stderr string, exit int) sysexec.Result {
		return sysexec.Result{Stderr: []byte(stderr), Exit: exit}
	}
	for name, c := range map[string]struct {
		result sysexec.Result
		err    error
		want   string // "" for none
	}{
		"no process":            {err: start(syscall.EAGAIN), want: "cannot be started: there is no process left"},
		"no memory":             {err: start(syscall.ENOMEM), want: "cannot be started: there is no memory left"},
		"no sudo":               {err: start(syscall.ENOENT)},
		"sudo has none":         {result: said("sudo: unable to fork: Resource temporarily unavailable\n", 1), want: "no process left"},
		"sudo refuses":          {result: said("sudo: a password is required\n", 1)},
		"no thread":             {result: said("runtime: failed to create new OS thread (have 4 already; errno=11)\n", 2), want: "ended without an answer: there is no thread left"},
		"no memory in between":  {result: said("fatal error: runtime: out of memory\n", 2), want: "ended without an answer: there is no memory left"},
		"no address space":      {result: said("fatal error: failed to reserve page summary memory\n", 2), want: "ended without an answer: there is no memory left"},
		"killed":                {result: said("", 137), want: "was killed before it answered"},
		"a crash":               {result: said("panic: boom\n", 2)},
		"an answer about these": {result: sysexec.Result{Stdout: []byte("{}"), Stderr: []byte("out of memory"), Exit: 1}},
	} {
		err := Exhausted(c.result, c.err)
		if (err == nil) != (c.want == "") || err != nil && (fault.From(err).Code != fault.Unavailable || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if there := ExhaustedOn("web1", c.result); c.err == nil && ((there == nil) != (c.want == "") || there != nil && !strings.Contains(there.Error(), " on web1")) {
			t.Errorf("%s, on another machine: %v", name, there)
		}
		if refusal := Refusal(c.result, c.err); (refusal != "") != (name == "no sudo" || name == "sudo refuses") {
			t.Errorf("%s: refused with %q", name, refusal)
		}
	}
}
