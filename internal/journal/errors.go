// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"sentinel/internal/fault"
	"sentinel/internal/lockfile"
)

// failed turns an error into one with a code and a fix. It wraps the cause, so
// that a caller can act on a full disk (ENOSPC).
func (j *Journal) failed(err error) error {
	var known *fault.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := fault.Wrap(fault.JournalFailed, "The journal cannot be used", err)
	var busy lockfile.BusyError
	switch {
	case errors.As(err, &busy):
		return e.WithFix(busy.Fix())
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return e.WithFix(fmt.Sprintf("Free space on the file systems of %s and %s: df -h %[1]s %[2]s", j.dir, j.headDir))
	case errors.Is(err, syscall.EROFS):
		return e.WithFix(fmt.Sprintf("Mount the file systems of %s and %s for writing: df -h %[1]s %[2]s", j.dir, j.headDir))
	case errors.Is(err, fs.ErrPermission):
		return e.WithFix("Run sentinel as root.")
	default:
		return e.WithFix(fmt.Sprintf("Move the file in the way elsewhere, then make root the owner of the journal: chown root %s %s; chmod go-w %[1]s %[2]s", j.dir, j.headDir))
	}
}
