// SPDX-License-Identifier: Apache-2.0

package firewall

// Idle says that [Enabling.Do] would change nothing at all: a firewall is on,
// and it is somebody else's.
func (e *Enabling) Idle() bool { return e.before.State == Active && e.manager == nil }
