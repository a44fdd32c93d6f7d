// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sentinel/internal/guard/limits"
)

// quotaOf returns what the variables of the first gateway let each tool be called. Those that are
// not used are named on stderr.
func quotaOf(cmd *cobra.Command) (limits.Quota, error) {
	quota, unused, err := limits.FromEnvironment(os.Environ())
	if err != nil {
		return limits.Quota{}, &exit{StatusUsage, err}
	}
	if len(unused) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "sentinel-guard: %s: not used yet, nobody can be asked\n", shown(strings.Join(unused, ", "))) //nolint:errcheck // there is nobody else to tell
	}
	return quota, nil
}
