// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"strings"

	"sentinel/internal/humanize"
)

// SecurityUpdates judges the names of the security updates that are not installed
// yet, as returned by read. asked names the source they are read from.
func SecurityUpdates(ctx context.Context, read func(context.Context) ([]string, error), asked, fix string) Finding {
	if read == nil {
		return Unseen(asked + " cannot be asked here")
	}
	names, err := read(ctx)
	switch {
	case err != nil:
		return Unread(asked, err)
	case len(names) == 0:
		return Passed("None waits")
	default:
		return Failed(humanize.Count(len(names), "security update waits", "security updates wait"), fix, Prefixed(strings.TrimPrefix(asked, "the ")+": ", names)...)
	}
}
