// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"sync"

	"sentinel/platform/darwin/codesign"
	"sentinel/platform/darwin/posture"
)

// A programOf is a program and the user who chose it; root's are the [Parts.Owner]'s.
type programOf struct {
	uid  int
	path string
}

// signers asks codesign about all programs, about those of each user by themselves: codesign waits for
// ever at a pipe that a user puts in the place of a program, and then the others have their answers. It
// has root's rights, because it finds the services that judge a certificate in its own session alone; of
// each program it says who signed it and no more.
func (m *machine) signers(ctx context.Context, s launchItems) (map[programOf]codesign.Signature, error) {
	return m.signatures.Get(func() (map[programOf]codesign.Signature, error) {
		programs, total := s.programs(m)
		switch {
		case total == 0:
			return nil, nil
		case total > maxSigned:
			return nil, errors.New("there are too many launch items")
		case m.Runner == nil:
			return nil, posture.ErrNotLive
		}
		var all sync.WaitGroup
		var writing sync.Mutex
		known, failed := map[programOf]codesign.Signature{}, error(nil)
		for uid, list := range programs {
			all.Go(func() {
				signed, err := codesign.Of(ctx, m.Runner, list...)
				writing.Lock()
				defer writing.Unlock()
				if err != nil {
					failed = err
				}
				for program, one := range signed {
					known[programOf{uid, program}] = one
				}
			})
		}
		all.Wait()
		if len(known) > 0 {
			failed = nil // startupSigned names one without an answer
		}
		return known, failed
	})
}
