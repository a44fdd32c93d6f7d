// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// lockedEnv names the file that the process of [ManyLocks] locks first.
const lockedEnv = "SENTINEL_TEST_LOCKED"

// ManyLocks returns what has another process lock a file, and then 30,000 times parts of others, behind which the
// first stands in /proc/locks. They go with the test. It runs the calling test again, which must call this first.
func ManyLocks(t testing.TB, lock func(path string) error) (hold func(path string)) {
	t.Helper()
	if locked := os.Getenv(lockedEnv); locked != "" {
		holdMany(locked, lock)
	}
	return func(path string) {
		t.Helper()
		startHolding(t, path)
	}
}

func startHolding(t testing.TB, path string) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	c.Env = append(os.Environ(), lockedEnv+"="+path)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		c.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

// holdMany never returns. The kernel has a list for each processor, with the newest first, so all are taken on one.
func holdMany(path string, lock func(path string) error) {
	runtime.LockOSThread()
	var own, one unix.CPUSet
	must(unix.SchedGetaffinity(0, &own))
	for cpu := 0; one.Count() == 0; cpu++ {
		if own.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	must(unix.SchedSetaffinity(0, &one))
	must(lock(path))
	for range 150 {
		other := path + ".other"
		fd, err := unix.Open(other, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		must(err)
		must(os.Remove(other))
		for part := range int64(200) {
			must(unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: 1000 - 2*part, Len: 1}))
		}
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
