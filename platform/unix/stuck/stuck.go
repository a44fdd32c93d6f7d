// SPDX-License-Identifier: Apache-2.0

// Package stuck has runs of root tell one another what a user keeps from being read. A look-up of a name in a
// directory may wait for ever, and no signal ends that (docs/decisions/0032-bounded-facts.md): the run that began it
// goes on without it, and stays until the user ends it. Without this package each run after it would stay too, as
// long as there are places for them.
package stuck

import (
	"context"
	"errors"
	"hash/fnv"
	"path/filepath"
	"time"

	"sentinel/internal/deadline"
)

// ErrEarlier reports what an earlier run still waits for.
var ErrEarlier = errors.New("an earlier run of sentinel still waits for it: a process of its user keeps it from being read, or its server is gone")

// A Thing is what may be kept from being read: what belongs to a user, a process, or a directory.
type Thing int64

// User is what belongs to a user.
func User(uid int) Thing { return Thing(uid) }

// Process is what the kernel tells of a process, by its ID in the PID namespace of this run: another may share /run.
func Process(pid int) Thing { return processes + Thing(namespace())<<pidBits + Thing(pid) }

// Directory is what is directly in a directory, by its path.
func Directory(path string) Thing {
	h := fnv.New64a()
	h.Write([]byte(path))
	return directories + Thing(h.Sum64()%directories)
}

const (
	pidBits     = 22      // PID_MAX_LIMIT of proc_pid_max(5), /proc/sys/kernel/pid_max
	processes   = 1 << 60 // above every user ID, and a multiple of all that is added
	directories = 1 << 62 // above every process, and half of all
)

// Call is [deadline.Call] for a look at a thing. It returns ErrEarlier, without a look, where an earlier run
// below root, "/" on a live system, still waits for it.
func Call[T any](ctx context.Context, root string, of Thing, limit time.Duration, look func(context.Context) (T, error)) (T, error) {
	if Noted(root, of) {
		var zero T
		return zero, ErrEarlier
	}
	ended := make(chan struct{})
	value, err := deadline.Call(ctx, limit, func(ctx context.Context) (T, error) {
		defer close(ended)
		return look(ctx)
	})
	select {
	case <-ended:
	default:
		forget := Note(root, of)
		go func() {
			<-ended
			forget()
		}()
	}
	return value, err
}

// file is where the notes are: a byte of it is locked for each thing. The kernel unlocks it when the run has
// ended, with the last of its threads, which is what is wanted to be known.
func file(root string) string { return filepath.Join(root, "run", "sentinel-stuck") }
