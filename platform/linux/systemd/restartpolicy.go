// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/dbus"
	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
)

// RestartPolicy predicts what happens when a service ends; see [processes.TerminationSource], and
// [Connect] for root.
func RestartPolicy(ctx context.Context, root, unit string) (processes.RestartPolicy, error) {
	conn, err := Connect(ctx, root)
	if err != nil {
		return processes.RestartPolicy{}, err
	}
	defer conn.Close()
	restart, err := serviceProperty[string](ctx, conn, unit, "Restart")
	if err != nil {
		return processes.RestartPolicy{}, err
	}
	prevent, err := serviceProperty[[]any](ctx, conn, unit, "RestartPreventExitStatus")
	if err != nil {
		return processes.RestartPolicy{}, err
	}
	success, err := serviceProperty[[]any](ctx, conn, unit, "SuccessExitStatus")
	if err != nil {
		return processes.RestartPolicy{}, err
	}
	others, err := conn.GetUnitPropertiesContext(ctx, unit)
	if err != nil {
		return processes.RestartPolicy{}, fmt.Errorf("read what starts %s: %w", unit, err)
	}
	bus, err := serviceProperty[string](ctx, conn, unit, busName)
	if err != nil {
		return processes.RestartPolicy{}, err
	}
	if names, _ := others["Names"].([]string); startedByCalls(root, bus, names) {
		others[busName] = []string{bus}
	}
	main, err := serviceProperty[uint32](ctx, conn, unit, "MainPID")
	policy := doubted(Predict(restart, prevent, success), others)
	policy.MainPID = int(main)
	return policy, err
}

// busName is the setting of a service that is a name on the bus.
const busName = "BusName"

// maxNamed bounds how many units of a sort a cause names.
const maxNamed = 3

// doubted leaves it open whether a service stays away that other units may start: those that keep it on, those that
// start it when something happens, and those that its end starts; and so may a call on the bus. Versions of systemd that
// lack a property have none.
func doubted(p processes.RestartPolicy, unit map[string]any) processes.RestartPolicy {
	var causes []string
	for _, name := range []string{"UpheldBy", "TriggeredBy", "OnFailure", "OnSuccess", busName} {
		if units, ok := unit[name].([]string); ok && len(units) > 0 {
			causes = append(causes, name+"="+strings.Join(units[:min(len(units), maxNamed)], " "))
		}
	}
	if len(causes) == 0 || p.OnKill != processes.StaysAway && p.OnTerm != processes.StaysAway {
		return p
	}
	for _, then := range []*processes.Prediction{&p.OnKill, &p.OnTerm} {
		if *then == processes.StaysAway {
			*then = processes.Uncertain
		}
	}
	p.Cause = strings.TrimSuffix(p.Cause, ")") + ", " + strings.Join(causes, ", ") + ")"
	return p
}

// Predict is the table of systemd.service(5) under Restart=, with what RestartPreventExitStatus= and SuccessExitStatus=
// change of it. A process that gets SIGTERM may end by it, or exit with a status of its own.
func Predict(restart string, prevent, success []any) processes.RestartPolicy {
	p := predict(restart, lists(success, 1, unix.SIGKILL))
	if lists(prevent, 1, unix.SIGKILL) {
		p.OnKill = processes.StaysAway
	}
	if p.OnTerm == processes.ComesBack && (anyOf(prevent, 0) || lists(prevent, 1, unix.SIGTERM)) {
		p.OnTerm = processes.Uncertain
	}
	return p
}

// anyOf reports whether an exit status set has any statuses (0) or signals (1).
func anyOf(set []any, at int) bool {
	if len(set) != 2 {
		return false
	}
	list, ok := set[at].([]int32)
	return !ok || len(list) > 0
}

// lists reports whether one has the number among them.
func lists(set []any, at int, n unix.Signal) bool {
	if !anyOf(set, at) {
		return false
	}
	list, ok := set[at].([]int32)
	return !ok || slices.Contains(list, int32(n))
}

// predict is the table itself. SIGKILL is an unclean end, unless the unit takes those that are killed for a success.
// SIGTERM is a clean one, unless the process handles it.
func predict(restart string, killed bool) processes.RestartPolicy {
	p := processes.RestartPolicy{Cause: "(Restart=" + restart + ")"}
	switch restart {
	case "always":
		p.OnTerm, p.OnKill = processes.ComesBack, processes.ComesBack
	case "on-failure":
		p.OnKill = back(!killed)
	case "on-success":
		p.OnKill = back(killed)
	case "on-abnormal", "on-abort":
		p.OnTerm, p.OnKill = processes.StaysAway, back(!killed)
	case "no", "on-watchdog":
		p.OnTerm, p.OnKill = processes.StaysAway, processes.StaysAway
	}
	return p
}

func back(sure bool) processes.Prediction {
	if sure {
		return processes.ComesBack
	}
	return processes.StaysAway
}

// serviceProperty reads one property of a service
// (org.freedesktop.systemd1(5), Service Unit Objects).
func serviceProperty[T any](ctx context.Context, conn *dbus.Conn, unit, name string) (T, error) {
	var zero T
	p, err := conn.GetServicePropertyContext(ctx, unit, name)
	if err != nil {
		return zero, fmt.Errorf("read %s of %s: %w", name, unit, err)
	}
	value, ok := p.Value.Value().(T)
	if !ok {
		return zero, fmt.Errorf("read %s of %s: %s is not what was expected", name, unit, p.Value.Signature())
	}
	return value, nil
}
