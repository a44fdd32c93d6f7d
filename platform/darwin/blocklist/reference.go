// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sentinel/internal/atomicfile"
	"sentinel/internal/lockfile"
	"sentinel/internal/trust"
	"sentinel/platform/darwin/pfctl"
)

const (
	// maxReference bounds the file of the reference, in KiB.
	maxReference = 4
	// lockTimeout is how long to wait for other runs: each needs some tens of
	// milliseconds.
	lockTimeout = 8 * time.Second
)

// A referenceFile remembers the reference that keeps pf on. A reboot drops the
// reference but not the file; pf itself tells whether it still counts.
type referenceFile struct{ path, lockPath string }

func newReferenceFile(dir string) referenceFile {
	return referenceFile{filepath.Join(dir, "pf-reference.json"), filepath.Join(dir, "pf.lock")}
}

// A reference is the content of the file.
type reference struct {
	Token uint64 `json:"token,string"` // beyond what a number of JSON is sure to hold
}

// lock keeps every other run from changing pf until release is called.
func (k referenceFile) lock(ctx context.Context) (release func(), err error) {
	if err := trust.MakeDir(filepath.Dir(k.path), 0o755); err != nil {
		return nil, err
	}
	if err := trust.RootOrSelf.Dirs(k.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return lockfile.Exclude(ctx, k.lockPath, lockTimeout)
}

// read returns the token; known is false where none is remembered, or where the
// file holds something else.
func (k referenceFile) read() (token uint64, known bool, err error) {
	raw, err := trust.RootOrSelf.Read(k.path, maxReference)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, trust.ErrTooLarge):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("%s: %w", k.path, err)
	}
	var r reference
	if json.Unmarshal(raw, &r) != nil {
		return 0, false, nil
	}
	return r.Token, true, nil
}

// write replaces the file: after a crash it holds the old token or the new one.
func (k referenceFile) write(token uint64) error {
	raw, err := json.Marshal(reference{token})
	if err != nil {
		return err
	}
	return atomicfile.Write(k.path, append(raw, '\n'), 0o600)
}

// forget removes the file, and that outlasts a power cut.
func (k referenceFile) forget() error {
	if err := os.Remove(k.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(k.path))
}

// holdReference makes sure that a reference of our own keeps pf on: those of
// others may go at any time. A reference that cannot be remembered is given back. A crash in
// between leaves one that cannot be told from those of others, until the next boot.
func (p *PF) holdReference(ctx context.Context) error {
	token, known, err := p.reference.read()
	if err != nil {
		return err
	}
	if known {
		held, err := p.tool.References(ctx)
		if err != nil || slices.Contains(held, token) {
			return err
		}
	}
	if token, err = p.tool.Enable(ctx); err != nil {
		return err
	}
	if err := p.reference.write(token); err != nil {
		return errors.Join(fmt.Errorf("remember its reference: %w", err), p.tool.Release(context.WithoutCancel(ctx), token))
	}
	return nil
}

// releaseReference gives the reference back. pf stays on where others hold one. A
// reference of an earlier boot is gone already.
func (p *PF) releaseReference(ctx context.Context) error {
	token, known, err := p.reference.read()
	if err != nil || !known {
		return err
	}
	if err := p.tool.Release(ctx, token); err != nil && !errors.Is(err, pfctl.ErrNotHeld) {
		return err
	}
	return p.reference.forget()
}
