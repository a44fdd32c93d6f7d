// SPDX-License-Identifier: Apache-2.0

// Package statefile keeps what a run saw for the next one to compare with: one JSON document in a
// file of root's.
package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sentinel/internal/atomicfile"
	"sentinel/internal/trust"
)

// Errors of a file that cannot be used.
var (
	ErrDamaged = errors.New("it is damaged")
	ErrForm    = errors.New("it does not have the expected form")
)

// A State is the content of a file.
type State interface {
	// Check returns an error, such as ErrForm, for a content that no run can have written.
	Check() error
}

// Read returns the content of the file at path, which may have limit KiB. The error is fs.ErrNotExist
// if there is none yet, and another one for a file that is damaged or that somebody other than root
// could have written.
func Read[S State](path string, limit int) (S, error) {
	raw, err := trust.RootOrSelf.Read(path, limit)
	if err != nil {
		var none S
		return none, err
	}
	return Parse[S](raw)
}

// Parse reads one JSON document without unknown members. Its error is ErrDamaged, ErrForm or that of
// Check.
func Parse[S State](raw []byte) (S, error) {
	var s, none S
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if d.Decode(&s) != nil {
		return none, ErrDamaged
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return none, ErrForm
	}
	if err := s.Check(); err != nil {
		return none, err
	}
	return s, nil
}

// Write replaces the file at path, which root alone can read. After a crash it holds the old content
// or the new one. The directory is created if it is missing. What would have more than limit KiB, and
// so could not be read, is not written.
func Write(path string, s State, limit int) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if len(raw)+1 > limit<<10 {
		return fmt.Errorf("it would be larger than %d KiB", limit)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the directory is for everyone to enter; the file is not
		return err
	}
	if err := trust.RootOrSelf.File(dir); err != nil {
		return err
	}
	return atomicfile.Write(path, append(raw, '\n'), 0o600)
}
