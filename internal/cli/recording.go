// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	"sentinel/internal/elevation"
	"sentinel/internal/ops"
)

// Records reports whether args are a request for what goes into the journal. What else they say is not looked at:
// a rule of sudo of the administrator's own may let more through than the shipped ones.
func Records(args []string) bool {
	return elevation.IsRequest(args) && slices.ContainsFunc(args, func(arg string) bool {
		op, known := ops.ByName(strings.TrimPrefix(arg, "--request="))
		return known && op.Writes()
	})
}
