// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sentinel/internal/guard/limits"
	"sentinel/internal/guard/policy"
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
		tell(cmd.ErrOrStderr(), shown(strings.Join(unused, ", "))+": not used yet, nobody can be asked")
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

// bounds are all that calls are held to besides the rules.
type bounds struct {
	Limits policy.Limits `json:"limits"`              // the tightest of all files
	Quota  *toolQuota    `json:"variables,omitempty"` // what the variables of the first gateway set
}

// A toolQuota is how often each tool may be called.
type toolQuota struct {
	Calls   int `json:"calls_per_tool"`
	Seconds int `json:"window_seconds"`
}

func boundsOf(cmd *cobra.Command, set *policy.Set) (bounds, error) {
	b := bounds{Limits: set.Limits()}
	q, err := quotaOf(cmd)
	if err == nil && q.Calls > 0 {
		b.Quota = &toolQuota{q.Calls, int(q.Span / time.Second)}
	}
	return b, err
}

// text returns the bounds in words, "" when there are none.
func (b bounds) text() string {
	var parts []string
	if text := b.Limits.Text(); text != "" {
		parts = append(parts, text)
	}
	if b.Quota != nil {
		parts = append(parts, fmt.Sprintf("%d calls of each tool in %d seconds (%s)", b.Quota.Calls, b.Quota.Seconds, limits.CallsVariable))
	}
	return strings.Join(parts, ", ")
}

// inForce says what holds of all files and variables together.
func (b bounds) inForce() string {
	text := b.text()
	if text == "" {
		return ""
	}
	return wrapped("Limits in force: "+text, "")
}
