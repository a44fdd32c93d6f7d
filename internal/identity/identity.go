// SPDX-License-Identifier: Apache-2.0

// Package identity stores the random ID that distinguishes this installation from
// every other, including one with the same host name.
package identity

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"sentinel/internal/atomicfile"
	"sentinel/internal/trust"
)

// DefaultDir is where sentinel stores its state.
const DefaultDir = "/var/lib/sentinel"

const file = "agent-id"

// errNoID is the error when there is no ID yet. Only root may create one.
var errNoID = errors.New("none yet: the first run as root makes it")

// UUID returns the ID stored in dir, a random UUID (RFC 9562, version 4). If
// mayCreate is set and there is none, it creates one. Runs that start at the same
// time agree on one ID. A damaged file is an error, and is not replaced.
func UUID(dir string, mayCreate bool) (string, error) {
	id, err := read(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	if !mayCreate {
		return "", errNoID
	}
	if err := create(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keep a new id: %w", err)
	}
	return read(dir)
}

// maxSize is more than an ID needs, in KiB.
const maxSize = 1

func read(dir string) (string, error) {
	path := filepath.Join(dir, file)
	raw, err := trust.RootOrSelf.Read(path, maxSize)
	if err != nil && !errors.Is(err, trust.ErrTooLarge) {
		return "", err
	}
	id := strings.TrimSuffix(string(raw), "\n")
	if !valid(id) {
		return "", fmt.Errorf("%s holds no UUID; remove it to get a new one", path)
	}
	return id, nil
}

func valid(id string) bool {
	ok, err := regexp.MatchString(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, id)
	return ok && err == nil
}

// create writes the file with a new ID, unless another run was faster.
func create(dir string) error {
	// The id is not secret, and runs without root need it too.
	if err := trust.MakeDir(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, file)
	if err := trust.RootOrSelf.Dirs(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.Create(path, []byte(newUUID()+"\n"), 0o644)
}

func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
