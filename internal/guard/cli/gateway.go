// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sentinel/internal/guard/limits"
	"sentinel/internal/guard/record"
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

// auditOf returns the file that the first gateway wrote what it refused to, nil where none is named.
func auditOf() (*record.Audit, error) {
	path, ok := os.LookupEnv(record.AuditVariable)
	if !ok {
		return nil, nil
	}
	audit, err := record.OpenAudit(path)
	if err != nil {
		return nil, &exit{StatusUsage, err}
	}
	return audit, nil
}
