// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"context"
	"fmt"

	"github.com/coreos/go-systemd/v22/dbus"

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
	main, err := serviceProperty[uint32](ctx, conn, unit, "MainPID")
	policy := Predict(restart)
	policy.MainPID = int(main)
	return policy, err
}

// Predict is the table of systemd.service(5) under Restart=. SIGKILL is an
// unclean end. SIGTERM is a clean one, unless the process handles it and exits with a
// status of its own.
func Predict(restart string) processes.RestartPolicy {
	p := processes.RestartPolicy{Cause: "(Restart=" + restart + ")"}
	switch restart {
	case "always":
		p.OnTerm, p.OnKill = processes.ComesBack, processes.ComesBack
	case "on-failure":
		p.OnKill = processes.ComesBack
	case "on-success":
		p.OnKill = processes.StaysAway
	case "on-abnormal", "on-abort":
		p.OnTerm, p.OnKill = processes.StaysAway, processes.ComesBack
	case "no", "on-watchdog":
		p.OnTerm, p.OnKill = processes.StaysAway, processes.StaysAway
	}
	return p
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
