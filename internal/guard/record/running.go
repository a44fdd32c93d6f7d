// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A RunningGuard is one that records now.
type RunningGuard struct {
	SessionID  string    `json:"session_id"`
	ServerID   string    `json:"server_id"`
	PID        int       `json:"pid"`
	Start      time.Time `json:"start"`
	ClientName string    `json:"client_name,omitempty"`
}

// maxRunning is how many running guards are told apart.
const maxRunning = 1000

// Running returns the guards that record below dir now, the newest last: those that hold the lock
// of their file, which the kernel gives up with their last breath (flock(2)), so that no other
// process that got their number is taken for them. Those that cannot record, or have another state
// folder, are not among them; where the file system has no locks, the error says so.
func Running(ctx context.Context, dir string) ([]RunningGuard, error) {
	running := []RunningGuard{}
	names, err := files(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return running, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		held, err := locked(filepath.Join(dir, name))
		if passed(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if held && len(running) < maxRunning {
			running = append(running, guardOf(dir, name))
		}
	}
	slices.SortFunc(running, func(a, b RunningGuard) int { return a.Start.Compare(b.Start) })
	return running, nil
}

// locked reports whether a guard holds the lock of a file. It tries a shared one, which others who
// ask at the same time get too.
func locked(path string) (bool, error) {
	f, err := open(path)
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // only locked
	err = flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// guardOf reads who writes a file: the first of its session tells.
func guardOf(dir, name string) RunningGuard {
	var g RunningGuard
	if end := strings.LastIndex(name, "-"); end >= 0 {
		name = name[:end] + "-0001.jsonl"
	}
	scan(filepath.Join(dir, name), func(e Event) { //nolint:errcheck // what is not known stays empty
		g.SessionID, g.ServerID = e.SessionID, e.ServerID
		switch {
		case e.Type == Session && e.Phase == "start":
			g.PID, g.Start = e.PID, e.Timestamp
		case e.Type == Session && e.Phase == "agreed":
			g.ClientName = e.ClientName
		}
	})
	return g
}
