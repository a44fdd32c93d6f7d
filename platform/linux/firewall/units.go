// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
)

// A unit is what systemd knows about one.
type unit struct {
	loaded, masked, enabled, active bool
	starting                        bool // on the way to active
}

// units are what is needed of the service manager.
type units interface {
	// running says whether systemd is the service manager (sd_booted(3)).
	running() bool
	// state describes a unit; the zero value when it is not there or systemd
	// does not answer.
	state(ctx context.Context, name string) unit
	// listen returns what the active one of some socket units listens on, in the
	// form of ListenStream= (systemd.socket(5)).
	listen(ctx context.Context, names []string) ([]string, error)
	// enable and disable change what starts at boot. They are idempotent.
	enable(ctx context.Context, name string) error
	disable(ctx context.Context, name string) error
	// start and stop wait until the unit has started or ended.
	start(ctx context.Context, name string) error
	stop(ctx context.Context, name string) error
}

// A bus asks systemd over its private socket, which works for root while the
// bus daemon is down.
type bus struct{}

var _ units = bus{}

func (bus) running() bool {
	info, err := os.Lstat("/run/systemd/system")
	return err == nil && info.IsDir()
}

// with runs f with a connection. go-systemd leaves the time limit to ctx.
func (b bus) with(ctx context.Context, limit time.Duration, f func(context.Context, *dbus.Conn) error) error {
	if !b.running() {
		return errors.New("systemd does not run here")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := dbus.NewSystemdConnectionContext(ctx)
	if err != nil {
		return fmt.Errorf("systemd does not answer: %w", err)
	}
	defer conn.Close()
	return f(ctx, conn)
}

func (b bus) state(ctx context.Context, name string) unit {
	var u unit
	err := b.with(ctx, askLimit, func(ctx context.Context, conn *dbus.Conn) error {
		p, err := conn.GetUnitPropertiesContext(ctx, name)
		u = unit{
			loaded: p["LoadState"] == "loaded", masked: p["LoadState"] == "masked",
			active: p["ActiveState"] == "active", starting: p["ActiveState"] == "activating",
			enabled: p["UnitFileState"] == "enabled" || p["UnitFileState"] == "static",
		}
		return err
	})
	if err != nil {
		return unit{}
	}
	return u
}

func (b bus) listen(ctx context.Context, names []string) ([]string, error) {
	if !b.running() {
		return nil, nil
	}
	var list []string
	err := b.with(ctx, askLimit, func(ctx context.Context, conn *dbus.Conn) error {
		for _, name := range names {
			if p, err := conn.GetUnitPropertyContext(ctx, name, "ActiveState"); err != nil || p.Value.Value() != "active" {
				continue
			}
			p, err := conn.GetUnitTypePropertyContext(ctx, name, "Socket", "Listen")
			if err != nil {
				return fmt.Errorf("ask %s: %w", name, err)
			}
			list = append(list, streams(p.Value.Value())...)
		}
		return nil
	})
	return list, err
}

// streams takes the addresses out of the property Listen, an array of pairs of
// a kind and an address (org.freedesktop.systemd1(5)).
func streams(value any) []string {
	pairs, ok := value.([][]any)
	if !ok {
		return nil
	}
	var list []string
	for _, p := range pairs {
		if len(p) != 2 || p[0] != "Stream" {
			continue
		}
		if address, ok := p[1].(string); ok {
			list = append(list, address)
		}
	}
	return list
}

func (b bus) enable(ctx context.Context, name string) error {
	return b.with(ctx, changeLimit, func(ctx context.Context, conn *dbus.Conn) error {
		if _, _, err := conn.EnableUnitFilesContext(ctx, []string{name}, false, false); err != nil {
			return fmt.Errorf("enable %s: %w", name, err)
		}
		return conn.ReloadContext(ctx)
	})
}

func (b bus) disable(ctx context.Context, name string) error {
	return b.with(ctx, changeLimit, func(ctx context.Context, conn *dbus.Conn) error {
		if _, err := conn.DisableUnitFilesContext(ctx, []string{name}, false); err != nil {
			return fmt.Errorf("disable %s: %w", name, err)
		}
		return conn.ReloadContext(ctx)
	})
}

func (b bus) start(ctx context.Context, name string) error {
	return b.job(ctx, "start", name, (*dbus.Conn).StartUnitContext)
}

func (b bus) stop(ctx context.Context, name string) error {
	return b.job(ctx, "stop", name, (*dbus.Conn).StopUnitContext)
}

// job queues a job and waits for its result.
func (b bus) job(ctx context.Context, verb, name string, queue func(*dbus.Conn, context.Context, string, string, chan<- string) (int, error)) error {
	return b.with(ctx, changeLimit, func(ctx context.Context, conn *dbus.Conn) error {
		result := make(chan string, 1)
		if _, err := queue(conn, ctx, name, "replace", result); err != nil {
			return fmt.Errorf("%s %s: %w", verb, name, err)
		}
		select {
		case word := <-result:
			if word != "done" {
				return fmt.Errorf("%s %s: the job ended as %q", verb, name, word)
			}
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%s %s: %w", verb, name, ctx.Err())
		}
	})
}
