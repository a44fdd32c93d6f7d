// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

// of returns a process of a service of the system.
func of(service string) *victim {
	return facts(func(f *Facts) { f.Unit = Unit{Name: service, Service: true, RestartName: service} })
}

func TestTheEndOfAServiceIsRefusedForWhatItDoes(t *testing.T) {
	refuses := func(lifts bool) ServiceEnd {
		return func(_ context.Context, unit string, pid int, carries bool, refusal func(string, bool) *fault.Error) (string, error) {
			if unit != "dog.service" || pid != 4242 || carries {
				t.Errorf("%s, %d, %v", unit, pid, carries)
			}
			return "", refusal("when dog.service ends or fails, systemd may reboot the system", lifts)
		}
	}
	const why = `"ffmpeg" (PID 4242) must not be ended: when dog.service ends or fails, systemd may reboot the system.`
	fails(t, of("dog.service"), Target{Service: refuses(false)}, fault.ProtectedProcess, why, "nothing lifts this protection")
	fails(t, of("dog.service"), Target{Service: refuses(false), Force: true}, fault.ProtectedProcess, why, "nothing lifts this protection")
	fails(t, of("dog.service"), Target{Service: refuses(true)}, fault.ProtectedProcess, why, "add --force on the command line")
	unread := func(context.Context, string, int, bool, func(string, bool) *fault.Error) (string, error) {
		return "", fault.New(fault.Unavailable, "What depends on dog.service cannot be read.")
	}
	fails(t, of("dog.service"), Target{Service: unread}, fault.Unavailable, "What depends on dog.service cannot be read", "")
	for what, unit := range map[string]Unit{"a user's": {Name: "dog.service", Service: true, User: true}, "a scope": {Name: "a.scope"}, "none": {}} {
		v := facts(func(f *Facts) { f.Unit = unit })
		if _, _, err := do(t, v, Target{Service: unread}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What goes with a service is told, and looked at again right before the signal.
func TestWhatGoesWithAServiceIsTold(t *testing.T) {
	asked, last := 0, error(nil)
	look := func(context.Context, string, int, bool, func(string, bool) *fault.Error) (string, error) {
		if asked++; asked > 1 {
			return "", last
		}
		return " Its end also stops ssh.service.", nil
	}
	p, err := PlanTermination(t.Context(), of("carrier.service"), Target{PID: 4242, Service: look}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if want := "would be sent SIGKILL. Its end also stops ssh.service. "; !strings.Contains(p.Summary(), want) {
		t.Errorf("%q", p.Summary())
	}
	last = errors.New("it stops ssh.service by now")
	v := p.pinned.(*victim)
	if _, err := p.Do(t.Context()); !errors.Is(err, last) || v.sent != nil || asked != 2 {
		t.Errorf("%v, sent %v, asked %d times", err, v.sent, asked)
	}
}
