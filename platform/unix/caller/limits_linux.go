// SPDX-License-Identifier: Apache-2.0

package caller

import "golang.org/x/sys/unix"

// ownLimits are those that Linux alone has. The runtime of Go has all threads change their user with a
// real-time signal, which a limit of pending ones keeps the kernel from queueing (sigqueue_alloc in
// kernel/signal.c); it would wait for the threads for ever.
var ownLimits = map[int]unix.Rlimit{unix.RLIMIT_SIGPENDING: {Cur: 4096, Max: 4096}}
