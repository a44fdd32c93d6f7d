// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

const (
	headName = "journal-head"
	maxHead  = 1 << 10 // bytes
)

// A Head is where the journal ends, and where what is kept of it begins.
type Head struct {
	Seq       uint64 `json:"seq"`        // of the newest record; 0 before the first
	Hash      string `json:"hash"`       // of the newest record
	First     uint64 `json:"first"`      // sequence number of the oldest record that is kept
	FirstPrev string `json:"first_prev"` // what that one has as prev
}

var errHead = errors.New("the head of the journal cannot be read")

// readHead returns the head, an empty one when there is none. errHead says that it
// was damaged; other errors that it must not be used.
func (j *Journal) readHead() (Head, error) {
	f, err := openTrusted(filepath.Join(j.headDir, headName), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return Head{}, nil
	}
	if err != nil {
		return Head{}, err
	}
	defer f.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(f, maxHead))
	if err != nil {
		return Head{}, err
	}
	return parseHead(raw)
}

// parseHead accepts only what encode writes, so that no byte of a head can be
// changed without being noticed.
func parseHead(raw []byte) (Head, error) {
	var h Head
	if err := json.Unmarshal(raw, &h); err != nil {
		return Head{}, errHead
	}
	good := h.First > 0 && h.First <= h.Seq && h.Seq <= maxSeq && isHash(h.Hash) && (h.FirstPrev == "" || isHash(h.FirstPrev))
	again, err := h.encode()
	if err != nil || !good || !bytes.Equal(again, raw) {
		return Head{}, errHead
	}
	return h, nil
}

func (h Head) encode() ([]byte, error) {
	raw, err := json.Marshal(h)
	return append(raw, '\n'), err
}

// writeHead replaces the head. On a full disk it is overwritten in place, which
// takes no room: an outcome must not be lost for want of a block.
func (j *Journal) writeHead(h Head) error {
	raw, err := h.encode()
	if err != nil {
		return err
	}
	path := filepath.Join(j.headDir, headName)
	err = renameio.WriteFile(path, raw, 0o600, renameio.WithTempDir(j.headDir), renameio.WithStaticPermissions(0o600))
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return overwrite(path, raw, err)
	}
	if err != nil {
		return err
	}
	// A power cut takes back at most the change of name, which leaves the head
	// one record behind, as a crash before it does.
	_ = syncDir(j.headDir) //nolint:errcheck // see above
	return nil
}

// overwrite puts raw in place of the content of a file that is there already;
// full is the error that made it necessary.
func overwrite(path string, raw []byte, full error) error {
	f, err := openTrusted(path, os.O_WRONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return full
	}
	if err != nil {
		return err
	}
	_, werr := f.WriteAt(raw, 0)
	return errors.Join(werr, f.Truncate(int64(len(raw))), f.Sync(), f.Close())
}

// removeLeftovers removes heads that a crash left aside before they came into
// place.
func (j *Journal) removeLeftovers() {
	left, err := filepath.Glob(filepath.Join(j.headDir, "."+headName+"[0-9]*"))
	if err != nil {
		return
	}
	for _, path := range left {
		_ = os.Remove(path) //nolint:errcheck // in nobody's way
	}
}
