// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
)

// childMark makes this test binary one of the processes that tests need.
const childMark = "SENTINEL_TEST_CHILD"

// lifetime ends a child that a test has forgotten.
const lifetime = time.Minute

func TestMain(m *testing.M) {
	children := map[string]func(){
		"threads": childWithThreads, "headless": headlessChild, "stubborn": stubbornChild, "planner": planningChild,
	}
	if child, ok := children[os.Getenv(childMark)]; ok {
		child()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// say tells the test that the child is ready.
func say(line string) { fmt.Fprintln(os.Stdout, line) }

// childWithThreads prints the ID of a thread that is not its first.
func childWithThreads() {
	ids := make(chan int)
	for range 8 {
		go func() {
			runtime.LockOSThread()
			ids <- unix.Gettid()
			<-time.After(lifetime)
		}()
	}
	for id := range ids {
		if id != os.Getpid() {
			say(strconv.Itoa(id))
			<-time.After(lifetime)
		}
	}
}

// headlessChild ends its first thread and lives on with the others. The first
// thread takes whatever runs once the others are busy.
func headlessChild() {
	found := make(chan bool)
	for range 200 {
		go func() {
			runtime.LockOSThread()
			if unix.Gettid() == os.Getpid() {
				close(found)
				unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
			}
			<-time.After(lifetime)
		}()
	}
	<-found
	say("headless")
	<-time.After(lifetime)
}

// stubbornChild ignores SIGTERM.
func stubbornChild() {
	signal.Ignore(unix.SIGTERM)
	say("stubborn")
	<-time.After(lifetime)
}

// A verdict is what a planningChild prints.
type verdict struct {
	Code    fault.Code
	Message string
	Summary string
}

// planningChild plans to end the process of its first argument.
func planningChild() {
	pid, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(planVerdict(processes.Target{PID: pid, Force: len(os.Args) > 2}))
}

func planVerdict(target processes.Target) verdict {
	p, err := processes.PlanTermination(context.Background(), NewTerminator("/"), target, nil)
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return verdict{Code: known.Code, Message: known.Message}
	}
	if err != nil {
		return verdict{Message: err.Error()}
	}
	defer p.Close()
	return verdict{Summary: p.Summary()}
}
