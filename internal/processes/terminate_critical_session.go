// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"

	"sentinel/internal/sshserver"
)

// servesSession says that the process is what an SSH server of root has made for
// a session, whoever it runs as. What a person calls sshd has another parent; where the
// parent cannot be looked at, it counts as root's.
func (p *Termination) servesSession(ctx context.Context) bool {
	if !p.facts.is(sshserver.Names()...) || p.facts.Parent.PID < 1 {
		return false
	}
	parent, err := p.source.Pin(p.facts.Parent.PID)
	if err != nil {
		return !errors.Is(err, ErrNoProcess)
	}
	defer parent.Close() //nolint:errcheck // nothing was written
	facts, err := parent.Facts(ctx)
	if err != nil {
		return !errors.Is(err, ErrNoProcess)
	}
	return facts.UserID == 0 && facts.is(sshserver.Names()...)
}
