// SPDX-License-Identifier: Apache-2.0

package elevation

import (
	"bytes"
	"errors"
	"syscall"

	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
)

// lastWords are what the runtime of Go prints when it ends a program because the system gives it no thread
// or no memory (newosproc, sysInit and throw in src/runtime; pthread_create with cgo), and what sudo does.
var lastWords = []struct{ printed, what string }{
	{"failed to create new OS thread", "thread"},
	{"pthread_create failed", "thread"},
	{"unable to fork", "process"},
	{"out of memory", "memory"},
	{"cannot allocate memory", "memory"},
	{"failed to reserve page summary memory", "memory"},
}

// killed is the exit status of a program that SIGKILL has ended.
const killed = 128 + int(syscall.SIGKILL)

// Exhausted returns why a run of sentinel could not begin, or ended without an answer, because this machine
// or its user has no process, thread or memory left; nil for anything else.
func Exhausted(result sysexec.Result, err error) error {
	return exhausted("", "this machine", result, err)
}

// ExhaustedOn is [Exhausted] for a run that another machine began.
func ExhaustedOn(host string, result sysexec.Result) error {
	return exhausted(" there", host, result, nil)
}

func exhausted(there, machine string, result sysexec.Result, err error) error {
	sentence := ""
	switch what := scarce(result, err); {
	case what != "" && err != nil:
		sentence = "sentinel cannot be started: there is no " + what + " left for this user on " + machine + "."
	case what != "":
		sentence = "sentinel ended without an answer: there is no " + what + " left for this user on " + machine + "."
	case err == nil && result.Exit == killed:
		sentence = "sentinel on " + machine + " was killed before it answered, as the kernel does for want of memory."
	default:
		return nil
	}
	return fault.New(fault.Unavailable, sentence).
		WithFix("Try again in a moment. If it stays so, the user has to end programs that are not needed; which have most threads, root sees" + there + " with: ps -eo nlwp,pid,user,comm --sort=-nlwp")
}

// scarce returns what there is none of.
func scarce(result sysexec.Result, err error) string {
	switch {
	case errors.Is(err, syscall.EAGAIN): // fork(2)
		return "process"
	case errors.Is(err, syscall.ENOMEM):
		return "memory"
	case err != nil || len(bytes.TrimSpace(result.Stdout)) > 0:
		return ""
	}
	for _, last := range lastWords {
		if bytes.Contains(result.Stderr, []byte(last.printed)) {
			return last.what
		}
	}
	return ""
}
