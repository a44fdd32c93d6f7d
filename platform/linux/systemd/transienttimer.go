// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

const (
	laterPrefix = "sentinel-later-"
	notice      = 5 // syslog(3)
)

// Later runs a command once, after a delay, even if this process and its session have ended: by a
// transient timer with a service of the same name, as systemd-run(1) creates them. Both are gone
// once they have run. The journal gets what the command writes to standard error, and nothing of a run that
// goes well. A command that fails is run again every minute, for a quarter of an hour.
func (Units) Later(ctx context.Context, about string, after time.Duration, command ...string) error {
	type elapse struct { // of TimersMonotonic (org.freedesktop.systemd1(5)); the time in microseconds
		Base string
		Time uint64
	}
	timer := []dbus.Property{
		dbus.PropDescription(about),
		{Name: "TimersMonotonic", Value: godbus.MakeVariant([]elapse{{"OnActiveSec", uint64(after.Microseconds())}})},
		{Name: "AccuracyUSec", Value: godbus.MakeVariant(uint64(100_000))},
		{Name: "RemainAfterElapse", Value: godbus.MakeVariant(false)},
	}
	name := fmt.Sprintf(laterPrefix+"%d-%d", os.Getpid(), time.Now().UnixNano())
	service := dbus.PropertyCollection{Name: name + ".service", Properties: []dbus.Property{
		dbus.PropDescription(about),
		dbus.PropExecStart(command, false),
		{Name: "StandardOutput", Value: godbus.MakeVariant("null")},
		{Name: "StandardError", Value: godbus.MakeVariant("journal")},
		{Name: "LogLevelMax", Value: godbus.MakeVariant(int32(notice))},
		{Name: "Restart", Value: godbus.MakeVariant("on-failure")},
		{Name: "RestartUSec", Value: godbus.MakeVariant(uint64(time.Minute.Microseconds()))},
		{Name: "StartLimitIntervalUSec", Value: godbus.MakeVariant(uint64(time.Hour.Microseconds()))},
		{Name: "StartLimitBurst", Value: godbus.MakeVariant(uint32(15))},
		{Name: "CollectMode", Value: godbus.MakeVariant("inactive-or-failed")},
	}}
	return job(ctx, "start", name+".timer", func(conn *dbus.Conn, ctx context.Context, name, mode string, result chan<- string) (int, error) {
		return conn.StartTransientUnitAux(ctx, name, mode, timer, []dbus.PropertyCollection{service}, result)
	})
}

// CancelLater stops all timers of [Units.Later] that have not run out. A command that runs goes on.
func (u Units) CancelLater(ctx context.Context) error {
	var timers []dbus.UnitStatus
	err := with(ctx, askLimit, func(ctx context.Context, conn *dbus.Conn) (err error) {
		timers, err = conn.ListUnitsByPatternsContext(ctx, nil, []string{laterPrefix + "*.timer"})
		return err
	})
	for _, t := range timers {
		err = errors.Join(err, u.Stop(ctx, t.Name))
	}
	return err
}
