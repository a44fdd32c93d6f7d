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

	"sentinel/internal/atomicfile"
	"sentinel/internal/hashchain"
)

const (
	headName = "journal-head"
	maxHead  = 1 << 10 // bytes
)

// A Head says where the journal ends and where the records that are kept begin.
type Head struct {
	Seq       uint64 `json:"seq"`        // sequence number of the newest record; 0 before the first
	Hash      string `json:"hash"`       // hash of the newest record
	First     uint64 `json:"first"`      // sequence number of the oldest record that is kept
	FirstPrev string `json:"first_prev"` // the prev member of that record
}

var errHead = errors.New("the head of the journal cannot be read")

// readHead returns the head, an empty one if there is none. errHead means that it
// is damaged; any other error means that it must not be used.
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

// parseHead accepts only what encode writes, so that a change of any byte is
// noticed.
func parseHead(raw []byte) (Head, error) {
	var h Head
	if err := json.Unmarshal(raw, &h); err != nil {
		return Head{}, errHead
	}
	good := h.First > 0 && h.First <= h.Seq && h.Seq <= maxSeq && hashchain.IsHash(h.Hash) && (h.FirstPrev == "" || hashchain.IsHash(h.FirstPrev))
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

// writeHead replaces the head. On a full disk it overwrites the file in place,
// which takes no space: an outcome must not be lost because a block is missing.
func (j *Journal) writeHead(h Head) error {
	raw, err := h.encode()
	if err != nil {
		return err
	}
	path := filepath.Join(j.headDir, headName)
	err = atomicfile.Write(path, raw, 0o600)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return overwrite(path, raw, err)
	}
	if err == nil {
		return nil
	}
	// When only the directory could not be synced, the head is in place. A power
	// cut can then leave the previous one, as a crash before this write does.
	if current, readErr := j.readHead(); readErr == nil && current == h {
		return nil
	}
	return err
}

// overwrite replaces the content of an existing file with raw. It returns full,
// the error that made it necessary, if there is no such file.
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
