// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"sentinel/internal/atomicfile"
	"sentinel/internal/trust"
)

// Bounds of the ring: 16 MB at most. All files but the last are full, so that they hold a week of the
// largest records, and mostly two.
const (
	maxSegment  = 1_000_000 // bytes
	maxSegments = 16
)

const segmentSuffix = ".records"

// A Ring holds the newest samples in files of a folder, each of which is only appended to. The oldest
// file goes when there are too many. Nothing goes by the clock, which somebody may set.
//
// A record that a crash or a full disk has cut off is no record, and neither is one that was damaged;
// those before and after it stay readable.
type Ring struct {
	Dir string

	maxSegment  int64
	maxSegments int
}

// NewRing returns the ring in dir.
func NewRing(dir string) Ring { return Ring{dir, maxSegment, maxSegments} }

// Append adds a sample, which is on the disk when save is called: that keeps what the next sample is
// compared with, and without it the next one would tell the same events again. An error, that of save too,
// leaves everything as it was. One run at a time may append.
func (r Ring) Append(s Sample, save func() error) error {
	line, err := encode(s)
	if err != nil {
		return err
	}
	numbers, err := r.segments()
	if err != nil {
		return err
	}
	last := 1
	if len(numbers) > 0 {
		last = numbers[len(numbers)-1]
	}
	full, err := r.add(last, line, save)
	if full {
		numbers = append(numbers, last+1)
		_, err = r.add(last+1, line, save)
	}
	if err != nil {
		return err
	}
	for _, old := range numbers[:max(0, len(numbers)-r.maxSegments)] {
		err = errors.Join(err, os.Remove(r.path(old)))
	}
	return err
}

// Make creates the folder, which is for root alone, and checks that nobody else can write there.
func (r Ring) Make() error {
	err := trust.RootOrSelf.File(r.Dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := trust.MakeDir(r.Dir, 0o700); err != nil {
		return err
	}
	return trust.RootOrSelf.File(r.Dir)
}

// add appends a line to a segment, unless that is full.
func (r Ring) add(number int, line []byte, save func() error) (full bool, err error) {
	f, err := os.OpenFile(r.path(number), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // what was written was synced
	info, err := f.Stat()
	switch {
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s: %w", f.Name(), trust.ErrNotRegular)
	case info.Size()+int64(len(line)) >= r.maxSegment:
		return true, nil
	}
	return false, write(f, info.Size(), line, save)
}

// write adds a line at the end of a file. What is cut off there stays apart from it, on a line of its own.
// A write that fails is taken back, which needs no space.
func write(f *os.File, size int64, line []byte, save func() error) error {
	end := []byte{'\n'}
	if size > 0 {
		if _, err := f.ReadAt(end, size-1); err != nil {
			return err
		}
	}
	if end[0] != '\n' {
		line = append([]byte{'\n'}, line...)
	}
	_, err := f.WriteAt(line, size)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = save()
	}
	if err != nil {
		return errors.Join(err, f.Truncate(size))
	}
	if size == 0 {
		return atomicfile.SyncDir(filepath.Dir(f.Name()))
	}
	return nil
}

// Records calls visit for every record, newest first, and returns how many lines are none. A record is valid
// until visit returns.
func (r Ring) Records(visit func(Record) error) (damaged int, err error) {
	numbers, err := r.segments()
	if err != nil {
		return 0, err
	}
	buf := make([]byte, r.maxSegment)
	for _, number := range slices.Backward(numbers) {
		raw, err := r.read(number, buf)
		if errors.Is(err, fs.ErrNotExist) { // it went meanwhile
			continue
		}
		if err != nil {
			return damaged, err
		}
		for line := range linesBackward(raw) {
			record, err := parse(line)
			if err == nil {
				err = visit(record)
			}
			if err != nil {
				damaged++
			}
		}
	}
	return damaged, nil
}

// linesBackward yields the lines that are not empty, the last one first.
func linesBackward(raw []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(raw) > 0 {
			at := bytes.LastIndexByte(raw, '\n')
			line := raw[at+1:]
			raw = raw[:max(at, 0)]
			if len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}

// read reads a segment into buf.
func (r Ring) read(number int, buf []byte) ([]byte, error) {
	f, err := os.OpenFile(r.path(number), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	n, err := io.ReadFull(f, buf)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

func (r Ring) path(number int) string {
	return filepath.Join(r.Dir, fmt.Sprintf("%08d%s", number, segmentSuffix))
}

// maxNames bounds how many names of the folder are read.
const maxNames = 1000

// segments lists the numbers of the files, oldest first.
func (r Ring) segments() ([]int, error) {
	d, err := os.Open(r.Dir)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only read from
	names, err := d.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var numbers []int
	for _, name := range names {
		n, err := strconv.Atoi(strings.TrimLeft(strings.TrimSuffix(name, segmentSuffix), "0"))
		if err == nil && n > 0 && filepath.Base(r.path(n)) == name {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}
