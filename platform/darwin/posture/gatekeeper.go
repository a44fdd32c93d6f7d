// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"context"

	"sentinel/internal/sysexec"
)

// ReadGatekeeper asks spctl(8) whether programs are assessed before they run
// for the first time.
func ReadGatekeeper(ctx context.Context, runner sysexec.Runner) (bool, error) {
	r, err := ask(ctx, runner, "/usr/sbin/spctl", "--status")
	if err != nil {
		return false, err
	}
	return ParseGatekeeper(r)
}

// ParseGatekeeper reads what spctl --status prints: "assessments enabled" with
// exit status 0, or "assessments disabled" with 1. Both have to agree, because any failure
// of the tool has an exit status other than 0 as well.
func ParseGatekeeper(r sysexec.Result) (bool, error) {
	state, found := after(r.Stdout, "assessments ")
	on, err := onOff(state, found, "enabled", "disabled")
	if err != nil || on != (r.Exit == 0) || r.Exit > 1 {
		return false, ErrFormat
	}
	return on, nil
}
