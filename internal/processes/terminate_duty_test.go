// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"errors"
	"testing"

	"sentinel/internal/fault"
)

func TestWhatTheNetworkHasOfAProcessIsProtected(t *testing.T) {
	for message, duty := range map[string]Duty{
		"it answers this machine's own questions for names": {NameServer: true},
		WhyRouting: {Routing: true},
		WhyWayOut:  {WayOut: true},
	} {
		has := func() *victim { return facts(func(f *Facts) { f.Duty = duty }) }
		fails(t, has(), Target{}, fault.ProtectedProcess, message, "add --force")
		if _, _, err := do(t, has(), Target{Force: true}); err != nil {
			t.Error(err)
		}
	}
}

func TestUnknownIsNoPermissionToEndWhatTheNetworkNeeds(t *testing.T) {
	unread := func() *victim { return facts(func(f *Facts) { f.Duty.Unread = errors.New("no sockets") }) }
	fails(t, unread(), Target{}, fault.Unavailable, "cannot be read: no sockets", "")
	if _, _, err := do(t, unread(), Target{Force: true}); err != nil {
		t.Error(err)
	}
}
