// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"fmt"

	"sentinel/platform/linux/systemd"
)

// RestoreTimer is the shipped unit that runs "sentinel --restore-blocklist" every minute.
const RestoreTimer = "sentinel-restore.timer"

// units are what is needed of the service manager; see [systemd.Units].
type units interface {
	State(ctx context.Context, name string) systemd.UnitState
	Queue(ctx context.Context, name string, start bool) error
}

// Watch starts or stops [RestoreTimer]. It does not wait until that is done: at boot the timer
// starts after what waits for this run. Where the timer is not installed, or systemd does not
// run, it does nothing.
func Watch(ctx context.Context, u units, on bool) error {
	switch state := u.State(ctx, RestoreTimer); {
	case on && state.Masked:
		return fmt.Errorf("%s is masked: what another program removes from the packet filter does not come back by itself", RestoreTimer)
	case !state.Loaded, state.Active == on:
		return nil
	}
	return u.Queue(ctx, RestoreTimer, on)
}
