// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"time"

	"sentinel/platform/linux/systemd"
)

// units are what is needed of the service manager; see [systemd.Units].
type units interface {
	Running() bool
	State(ctx context.Context, name string) systemd.UnitState
	Listening(ctx context.Context, names []string) ([]string, error)
	Enable(ctx context.Context, name string) error
	Disable(ctx context.Context, name string) error
	Start(ctx context.Context, name string) error
	StartNow(ctx context.Context, name string) error
	Queue(ctx context.Context, name string, start bool) error
	Stop(ctx context.Context, name string) error
	Later(ctx context.Context, about string, after time.Duration, command ...string) error
	CancelLater(ctx context.Context) error
}

var _ units = systemd.Units{}
