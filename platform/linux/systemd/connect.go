// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package systemd talks to the service manager over D-Bus (org.freedesktop.systemd1(5)).
package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"

	"sentinel/internal/privilege"
)

// ErrNotRunning reports that another program is the service manager (sd_booted(3)).
var ErrNotRunning = errors.New("systemd does not run here")

// Booted reports whether systemd is the service manager (sd_booted(3)).
func Booted() bool {
	info, err := os.Lstat("/run/systemd/system")
	return err == nil && info.IsDir()
}

// Connect opens a connection, which ends with ctx. root is "/" on a live system;
// below another one there is no systemd, and this machine's must not answer for it.
//
// As root it prefers systemd's private socket: that works while the bus daemon is down, which is
// when failed units matter most, and it tells of the end of every job. The bus tells of a
// job only while whoever queued it is connected.
func Connect(ctx context.Context, root string) (*dbus.Conn, error) {
	if root != "/" || !Booted() {
		return nil, ErrNotRunning
	}
	if privilege.IsRoot() {
		if conn, err := connectPrivate(ctx); err == nil {
			return conn, nil
		}
	}
	conn, err := dbus.NewSystemConnectionContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("systemd does not answer: %w", err)
	}
	return conn, nil
}

// connectPrivate makes one connection for calls and signals, where
// [dbus.NewSystemdConnectionContext] makes two. The library wants two because handlers of
// unit subscriptions make calls of their own; there are none here, and a second connection
// takes as long as the restart of a small service.
func connectPrivate(ctx context.Context) (*dbus.Conn, error) {
	conn, err := godbus.Dial("unix:path=/run/systemd/private", godbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	if err := conn.Auth([]godbus.Auth{godbus.AuthExternal(strconv.Itoa(privilege.EffectiveUID()))}); err != nil {
		conn.Close() //nolint:errcheck // given up
		return nil, err
	}
	return dbus.NewConnection(func() (*godbus.Conn, error) { return conn, nil })
}
