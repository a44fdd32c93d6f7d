// SPDX-License-Identifier: Apache-2.0

// Package stuck has runs of root tell one another what a user keeps from being read. A look-up of a name in a
// directory may wait for ever, and no signal ends that (docs/decisions/0032-bounded-facts.md): the run that began it
// goes on without it, and stays until the user ends it. Without this package each run after it would stay too, as
// long as there are places for them.
package stuck

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"sentinel/internal/deadline"
)

// ErrEarlier reports what a run still waits for: this one, or an earlier one.
var ErrEarlier = errors.New("a run of sentinel still waits for it: a process keeps it from being read, or its disk or server does not answer")

// A Thing is what may be kept from being read: a process, a directory, or what a look into one comes to.
type Thing int64

// Process is what the kernel tells of a process, by the directory of it in /proc: another process that gets its ID has
// another one, whose inode is not given again while anybody waits for it. Linux numbers both within these bits (MINORBITS,
// get_next_ino).
func Process(device, inode uint64) Thing {
	return processes + Thing(device&(1<<28-1))<<32 + Thing(inode&(1<<32-1))
}

// Directory is what is directly in a directory. It is the inode, whatever path leads to it: a user can move what they
// keep from being read, and mount another directory at its path.
func Directory(device, inode uint64) Thing { return digest(device, inode) }

// digest is a number of a directory and of what is asked of it, which nobody can choose to be that of another one.
func digest(numbers ...uint64) Thing {
	var raw []byte
	for _, n := range numbers {
		raw = binary.BigEndian.AppendUint64(raw, n)
	}
	sum := sha256.Sum256(raw)
	return directories + Thing(binary.BigEndian.Uint64(sum[:])%directories)
}

const (
	processes   = 1 << 60 // and as many
	directories = 1 << 62 // above every process, and half of all
)

// A Way is that to a directory. The zero Way has not begun.
type Way struct{ at atomic.Int64 }

// At is the directory that a name is looked up in, or that was come to; 0 where it is not known.
func (w *Way) At() Thing { return Thing(w.at.Load()) }

// Call is [deadline.Call] for a look at a thing, without one where ctx has ended. It returns ErrEarlier, without a look, where a run below root, "/" on
// a live system, still waits for it.
func Call[T any](ctx context.Context, root string, of Thing, limit time.Duration, look func(context.Context) (T, error)) (T, error) {
	if Noted(root, of) {
		var zero T
		return zero, ErrEarlier
	}
	return call(ctx, root, func() Thing { return of }, limit, look)
}

// Look is [deadline.Call] for a look of a user's at path, which is below root, without one where ctx has ended. It returns ErrEarlier, without a look,
// where it would wait for a directory on the way there that a run still waits for, or where one waits for a look of that
// user's into the directory where the way ends: into what that leads to is for the user to say.
func Look[T any](ctx context.Context, root, path string, uid int, limit time.Duration, look func(context.Context) (T, error)) (T, error) {
	var w Way
	return call(ctx, root, w.At, limit, func(ctx context.Context) (none T, err error) {
		device, inode, err := w.Follow(root, path)
		if err == nil {
			of := digest(device, inode, uint64(uid))
			w.at.Store(int64(of))
			err = notedAs(root, of)
		}
		if err := onlyEarlier(err); err != nil {
			return none, err
		}
		return look(ctx)
	})
}

// grace is how long a look may still take that is given up, before others are told: one that would just have ended
// keeps nobody.
const grace = 50 * time.Millisecond

func call[T any](ctx context.Context, root string, of func() Thing, limit time.Duration, look func(context.Context) (T, error)) (T, error) {
	if err := ctx.Err(); err != nil { // a look would not even be waited for
		var zero T
		return zero, err
	}
	ended := make(chan struct{})
	value, err := deadline.Call(ctx, limit, func(ctx context.Context) (T, error) {
		defer close(ended)
		return look(ctx)
	})
	select {
	case <-ended:
		return value, err
	default:
	}
	select {
	case <-ended:
	case <-time.After(grace):
		forget := Note(root, of())
		go func() {
			<-ended
			forget()
		}()
	}
	return value, err
}

func notedAs(root string, of Thing) error {
	if Noted(root, of) {
		return ErrEarlier
	}
	return nil
}

// onlyEarlier drops what the look itself tells.
func onlyEarlier(err error) error {
	if errors.Is(err, ErrEarlier) {
		return ErrEarlier
	}
	return nil
}

// file is where the notes are: a byte of it is locked for each thing. The kernel unlocks it when the run has
// ended, with the last of its threads, which is what is wanted to be known.
func file(root string) string { return filepath.Join(root, "run", "sentinel-stuck") }
