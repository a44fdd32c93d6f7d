// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// Newest returns the newest events below dir that want holds for, at most most, the newest last. A
// line that was changed is left out: Verify tells of it.
func Newest(ctx context.Context, dir string, most int, want func(Event) bool) ([]Event, error) {
	names, err := byTime(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var found []Event
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(found) == most && n.changed.Before(found[0].Timestamp) {
			break
		}
		if err := scan(filepath.Join(dir, n.name), func(e Event) {
			if want(e) {
				found = append(found, e)
			}
		}); err != nil && !passed(err) {
			return nil, err
		}
		slices.SortStableFunc(found, func(a, b Event) int { return a.Timestamp.Compare(b.Timestamp) })
		found = slices.Clone(found[max(0, len(found)-most):])
	}
	return found, err
}

type named struct {
	name    string
	changed time.Time
}

// byTime lists the files, those that were written last first.
func byTime(dir string) ([]named, error) {
	names, err := files(dir)
	if err != nil {
		return nil, err
	}
	var all []named
	for _, name := range names {
		if at, err := changed(filepath.Join(dir, name)); err == nil {
			all = append(all, named{name, at})
		}
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Or(b.changed.Compare(a.changed), cmp.Compare(b.name, a.name)) })
	return all, nil
}

// scan reads the events of one file.
func scan(path string, each func(Event)) error {
	_, err := readFrom(path, 0, func(e Event) error { each(e); return nil })
	return err
}

// readFrom reads the whole lines of a file that begin at an offset, and returns how many bytes they
// have. A line without an end is left.
func readFrom(path string, offset int64, each func(Event) error) (read int64, err error) {
	file, err := open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close() //nolint:errcheck // only read from
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	lines := bufio.NewReaderSize(io.LimitReader(file, maxRead), maxLine+1)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return read, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return read, err
		}
		read += int64(len(line))
		if e, _, intact, ok := parseEvent(line[:len(line)-1]); ok && intact {
			if !plain(line[:len(line)-1]) {
				e.visible()
			}
			if err := each(e); err != nil {
				return read, err
			}
		}
	}
}
