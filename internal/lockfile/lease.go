// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Lease is how long a run may hold a lock. No run needs it: each answers within a minute and ends,
// with all that it holds. A run that holds a lock for longer does not go on, and one that waits for
// the lock may end it.
const Lease = 2 * time.Minute

// maxHolding bounds the record of a holder, in bytes. Each is padded to this length, so that it
// replaces the one before in a single write that needs no space on the disk.
const maxHolding = 256

// A holding is what the holder of a lock writes into its file.
type holding struct {
	PID   int       `json:"pid"`
	Tool  string    `json:"tool,omitempty"`
	Since time.Time `json:"since"`
	// Uptime is when that was by the clock that nobody sets and that stands still while the machine
	// is suspended (CLOCK_MONOTONIC), in milliseconds.
	Uptime int64 `json:"uptime_ms"`
}

type toolKey struct{}

// WithTool returns a context whose locks say for what they are held.
func WithTool(ctx context.Context, tool string) context.Context {
	return context.WithValue(ctx, toolKey{}, tool)
}

// sign writes into a locked file who holds it. It is a help for those who wait, so a file system
// that is full or read-only does not keep anybody from holding the lock.
func sign(ctx context.Context, path string) {
	tool, _ := ctx.Value(toolKey{}).(string)
	raw, err := json.Marshal(holding{os.Getpid(), tool, time.Now().UTC().Truncate(time.Second), uptime()})
	if err != nil || len(raw) >= maxHolding {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // see above
	padded := append(bytes.Repeat([]byte{' '}, maxHolding-1), '\n')
	copy(padded, raw)
	f.WriteAt(padded, 0) //nolint:errcheck // see above
}

// signed returns what the last holder of the lock wrote, which may be another one than holds it now.
func signed(path string) (h holding, ok bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return holding{}, false
	}
	defer f.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(f, maxHolding))
	if err != nil || json.Unmarshal(raw, &h) != nil || h.PID < 1 {
		return holding{}, false
	}
	return h, true
}

// expired reports whether the lease of a holder is over. An uptime from before the last boot may be
// in the future.
func (h holding) expired() bool {
	return uptime()-h.Uptime > Lease.Milliseconds()
}

// uptime returns CLOCK_MONOTONIC in milliseconds.
func uptime() int64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) //nolint:errcheck // it has no way to fail
	return t.Nano() / int64(time.Millisecond)
}
