// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"runtime"
	"sync"
)

// The runtime of Go ends a process that gets no thread at the moment it needs one more, and a server has to
// answer while its user has none left. So it has its threads from the start: one for each processor that
// it uses, and for what waits in the kernel, such as the programs of four calls.
const (
	processors = 2
	threads    = 12
)

// keepThreads makes the threads; the runtime keeps those that are idle.
func keepThreads() {
	runtime.GOMAXPROCS(min(processors, runtime.GOMAXPROCS(0)))
	release := make(chan struct{})
	var held, free sync.WaitGroup
	held.Add(threads)
	for range threads {
		free.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			held.Done()
			<-release
		})
	}
	held.Wait()
	close(release)
	free.Wait()
}
