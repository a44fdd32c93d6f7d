// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"context"

	"sentinel/internal/sysexec"
)

// ReadGatekeeper asks spctl(8) whether programs are assessed before their first
// run.
func ReadGatekeeper(ctx context.Context, runner sysexec.Runner) (bool, error) {
	r, err := run(ctx, runner, "/usr/sbin/spctl", "--status")
	if err != nil {
		return false, err
	}
	return ParseGatekeeper(r)
}

// ParseGatekeeper parses the output of spctl --status: "assessments enabled" with
// exit status 0, or "assessments disabled" with 1. Both must agree, because a failure of the
// tool also has an exit status other than 0.
func ParseGatekeeper(r sysexec.Result) (bool, error) {
	state, found := lineAfter(r.Stdout, "assessments ")
	on, err := onOff(state, found, "enabled", "disabled")
	if err != nil || on != (r.Exit == 0) || r.Exit > 1 {
		return false, ErrFormat
	}
	return on, nil
}
