// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A Backlog is what waits to be delivered.
type Backlog struct {
	Documents int
	Bytes     int64
	Oldest    time.Time // when it was made; zero without documents
}

// Waiting counts what waits below dir, for all receivers together, and changes nothing. A directory that
// does not exist holds nothing.
func Waiting(dir string) (Backlog, error) {
	var b Backlog
	receivers, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	for _, r := range receivers {
		if !r.IsDir() {
			continue
		}
		s := &Spool{dir: filepath.Join(dir, r.Name())}
		waiting, err := s.list()
		if err != nil {
			return Backlog{}, err
		}
		b.add(waiting)
	}
	return b, nil
}

func (b *Backlog) add(waiting []entry) {
	for _, e := range waiting {
		b.Documents++
		b.Bytes += e.size
		if b.Oldest.IsZero() || e.at.Before(b.Oldest) {
			b.Oldest = e.at
		}
	}
}
