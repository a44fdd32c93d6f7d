// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sentinel/internal/sysexec"
)

// A Machine replays the programs of a whole machine, any number of times. Transcripts with the same
// command line are played in the order of their file names, and the last one is repeated.
//
// A transcript may name an error in its comment in place of an exit status:
// "error: missing" for a program that is not there, "error: hang" for one that does not
// end by itself, "error: flood" for one whose output is cut at its limit.
type Machine struct {
	// Unknown, if set, is called with each command without a transcript. The
	// command fails as a missing program does.
	Unknown func(argv string)

	mu    sync.Mutex
	plays map[string][]transcript
}

var _ sysexec.Runner = (*Machine)(nil)

// OpenMachine reads the transcripts, *.txtar, of all directories. Those of a later
// directory replace all those of earlier ones with the same command line.
func OpenMachine(dirs ...string) (*Machine, error) {
	return new(Machine).With(dirs...)
}

// With returns another machine with the transcripts of m and those of directories, as [OpenMachine] reads them.
func (m *Machine) With(dirs ...string) (*Machine, error) {
	m.mu.Lock()
	plays := maps.Clone(m.plays)
	m.mu.Unlock()
	if plays == nil {
		plays = map[string][]transcript{}
	}
	for _, dir := range dirs {
		own, err := loadAll(dir)
		if err != nil {
			return nil, err
		}
		maps.Copy(plays, own)
	}
	return &Machine{plays: plays}, nil
}

// loadAll reads the transcripts of a directory by their command lines.
func loadAll(dir string) (map[string][]transcript, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar")) // sorted
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no transcripts in %s", dir)
	}
	plays := map[string][]transcript{}
	for _, file := range files {
		one, err := load(file)
		if err != nil {
			return nil, err
		}
		plays[one.argv] = append(plays[one.argv], one)
	}
	return plays, nil
}

// Programs returns the paths of all programs with a transcript, sorted.
func (m *Machine) Programs() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var paths []string
	for argv := range m.plays {
		path, _, _ := strings.Cut(argv, " ")
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Run implements [sysexec.Runner].
func (m *Machine) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, err)
	}
	argv := strings.Join(append([]string{c.Path}, c.Args...), " ")
	one, ok := m.next(argv)
	if !ok {
		if m.Unknown != nil {
			m.Unknown(argv)
		}
		one.failure = "missing"
	}
	switch one.failure {
	case "missing":
		return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, fs.ErrNotExist)
	case "hang":
		<-ctx.Done()
		return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, ctx.Err())
	case "flood":
		return c.Passed(one.result), fmt.Errorf("run %s: %w", c.Path, sysexec.ErrOutputTooLarge)
	}
	return c.Passed(one.result), nil
}

func (m *Machine) next(argv string) (transcript, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.plays[argv]
	if len(list) == 0 {
		return transcript{}, false
	}
	if len(list) > 1 {
		m.plays[argv] = list[1:]
	}
	return list[0], true
}
