// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"

	"sentinel/internal/answer"
)

// Pending says what [List.Restore] would do now. It changes nothing: a damaged
// file stays where it is. Its errors are those of Restore.
func (l *List) Pending(ctx context.Context) (RestoreResult, error) {
	b, err := l.filter(ctx)
	if err != nil && l.nothingListed() {
		return RestoreResult{Warnings: l.quarantineWarnings(), Unavailable: answer.Gaps{}}, nil
	}
	if err != nil {
		return RestoreResult{}, err
	}
	known, err := l.read(fileContent{})
	if err != nil {
		return RestoreResult{}, err
	}
	r := &restoreRun{list: l, backend: b}
	if r.known, r.kernel, err = l.observe(ctx, b, known); err != nil {
		return RestoreResult{}, err
	}
	r.begin()
	protected, unknown := l.hostContext.ProtectedAddrs(ctx)
	r.review(depends{protected: protected, unknown: unknown})
	r.changes(l.now())
	return r.result, ctx.Err()
}

// Idle says that there is nothing to restore.
func (r RestoreResult) Idle() bool {
	return r.Added+r.Corrected+r.Removed+r.Expired+r.Suspended+r.Resumed+r.Adopted == 0
}
