// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
)

const (
	askLimit    = 5 * time.Second
	changeLimit = 20 * time.Second // for a change, the job of a unit that starts slowly included
)

// A UnitState holds what systemd reports about a unit.
type UnitState struct {
	Loaded, Masked, Enabled, Active bool
	Starting                        bool // in state activating
}

// Units are the units of this machine. The zero value is ready for use; each
// call has a connection and a time limit of its own.
type Units struct{}

// Running reports whether systemd is the service manager.
func (Units) Running() bool { return Booted() }

// with runs f with a connection. go-systemd leaves the time limit to ctx.
func with(ctx context.Context, limit time.Duration, f func(context.Context, *dbus.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := Connect(ctx, "/")
	if err != nil {
		return err
	}
	defer conn.Close()
	return f(ctx, conn)
}

// State describes a unit. It returns the zero value if there is no such unit or systemd does not
// answer.
func (Units) State(ctx context.Context, name string) UnitState {
	var u UnitState
	err := with(ctx, askLimit, func(ctx context.Context, conn *dbus.Conn) error {
		p, err := conn.GetUnitPropertiesContext(ctx, name)
		u = UnitState{
			Loaded: p["LoadState"] == "loaded", Masked: p["LoadState"] == "masked",
			Active: p["ActiveState"] == "active", Starting: p["ActiveState"] == "activating",
			Enabled: p["UnitFileState"] == "enabled" || p["UnitFileState"] == "static",
		}
		return err
	})
	if err != nil {
		return UnitState{}
	}
	return u
}

// Listening returns the addresses on which the active ones of the socket units listen, in the form
// of ListenStream= (systemd.socket(5)). Without systemd it returns none.
func (Units) Listening(ctx context.Context, names []string) ([]string, error) {
	if !Booted() {
		return nil, nil
	}
	var list []string
	err := with(ctx, askLimit, func(ctx context.Context, conn *dbus.Conn) error {
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

// streams extracts the addresses from the property Listen, an array of pairs of a kind and an
// address (org.freedesktop.systemd1(5)).
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

// Enable makes a unit start at boot. It is idempotent.
func (Units) Enable(ctx context.Context, name string) error {
	return with(ctx, changeLimit, func(ctx context.Context, conn *dbus.Conn) error {
		if _, _, err := conn.EnableUnitFilesContext(ctx, []string{name}, false, false); err != nil {
			return fmt.Errorf("enable %s: %w", name, err)
		}
		return conn.ReloadContext(ctx)
	})
}

// Disable keeps a unit from starting at boot. It is idempotent.
func (Units) Disable(ctx context.Context, name string) error {
	return with(ctx, changeLimit, func(ctx context.Context, conn *dbus.Conn) error {
		if _, err := conn.DisableUnitFilesContext(ctx, []string{name}, false); err != nil {
			return fmt.Errorf("disable %s: %w", name, err)
		}
		return conn.ReloadContext(ctx)
	})
}

// Start starts a unit and waits until it has started.
func (Units) Start(ctx context.Context, name string) error {
	return job(ctx, "start", name, (*dbus.Conn).StartUnitContext)
}

// StartNow is [Units.Start] without the dependencies of the unit. A job of Start waits for whatever is started
// before it, which may be the unit that this program runs in; what the unit requires has to run already.
func (Units) StartNow(ctx context.Context, name string) error {
	return job(ctx, "start", name, func(conn *dbus.Conn, ctx context.Context, name, _ string, result chan<- string) (int, error) {
		return conn.StartUnitContext(ctx, name, "ignore-dependencies", result)
	})
}

// Stop stops a unit and waits until it has ended.
func (Units) Stop(ctx context.Context, name string) error {
	return job(ctx, "stop", name, (*dbus.Conn).StopUnitContext)
}

// Queue queues a job that starts or stops a unit, and does not wait for it.
func (Units) Queue(ctx context.Context, name string, start bool) error {
	return with(ctx, askLimit, func(ctx context.Context, conn *dbus.Conn) error {
		verb, queue := "stop", (*dbus.Conn).StopUnitContext
		if start {
			verb, queue = "start", (*dbus.Conn).StartUnitContext
		}
		if _, err := queue(conn, ctx, name, "replace", nil); err != nil {
			return fmt.Errorf("%s %s: %w", verb, name, err)
		}
		return nil
	})
}

// job queues a job and waits for its result.
func job(ctx context.Context, verb, name string, queue func(*dbus.Conn, context.Context, string, string, chan<- string) (int, error)) error {
	return with(ctx, changeLimit, func(ctx context.Context, conn *dbus.Conn) error {
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
