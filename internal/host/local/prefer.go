// SPDX-License-Identifier: Apache-2.0

package local

import "runtime"

// processors is how many something short uses at a time. The runtime makes threads for as many as it
// may use, dozens on a large machine, and ends the process where it gets none.
const processors = 2

// Prefer makes this process one for something short: with few threads, and root's, until it ends, with a
// better place among all others on this machine, which what it starts has not.
func Prefer(root bool) {
	runtime.GOMAXPROCS(min(processors, runtime.GOMAXPROCS(0)))
	if root {
		preferRoot()
	}
}
