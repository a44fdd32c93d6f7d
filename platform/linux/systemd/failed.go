// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package systemd asks the service manager over D-Bus (org.freedesktop.systemd1(5)).
package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/coreos/go-systemd/v22/dbus"

	"sentinel/internal/health"
	"sentinel/internal/privilege"
)

// ErrNotRunning says that another program is the service manager (sd_booted(3)).
var ErrNotRunning = errors.New("systemd does not run here")

// FailedUnits lists the units in state failed. root is "/" on a live system;
// another one has no systemd, and must not be answered for by this machine's.
func FailedUnits(ctx context.Context, root string) ([]health.Unit, error) {
	if root != "/" || !Booted() {
		return nil, ErrNotRunning
	}
	conn, err := connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("systemd does not answer: %w", err)
	}
	defer conn.Close()
	found, err := conn.ListUnitsFilteredContext(ctx, []string{"failed"})
	if err != nil {
		return nil, fmt.Errorf("systemd does not answer: %w", err)
	}
	units := make([]health.Unit, 0, len(found))
	for _, u := range found {
		units = append(units, health.Unit{Name: u.Name, Description: u.Description})
	}
	return units, nil
}

// Booted says whether systemd is the service manager (sd_booted(3)).
func Booted() bool {
	info, err := os.Lstat("/run/systemd/system")
	return err == nil && info.IsDir()
}

// connect prefers, as root, systemd's private socket: it works while the bus
// daemon is down, which is when failed units matter most.
func connect(ctx context.Context) (*dbus.Conn, error) {
	if privilege.IsRoot() {
		if conn, err := dbus.NewSystemdConnectionContext(ctx); err == nil {
			return conn, nil
		}
	}
	return dbus.NewSystemConnectionContext(ctx)
}
