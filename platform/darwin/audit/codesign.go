// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"

	"sentinel/platform/darwin/codesign"
	"sentinel/platform/darwin/posture"
)

// signers asks codesign about all programs at once.
func (m *machine) signers(ctx context.Context, s launchItems) (map[string]codesign.Signature, error) {
	return m.signatures.Get(func() (map[string]codesign.Signature, error) {
		programs := s.programs(m)
		switch {
		case len(programs) == 0:
			return nil, nil
		case len(programs) > maxSigned:
			return nil, errors.New("there are too many launch items")
		case m.Runner == nil:
			return nil, posture.ErrNotLive
		}
		return codesign.Of(ctx, m.Runner, programs...)
	})
}
