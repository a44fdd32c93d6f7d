// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package services restarts and inspects services through systemd, over D-Bus
// (org.freedesktop.systemd1(5)).
package services

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"

	"sentinel/internal/fault"
	"sentinel/internal/services"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/systemd"
)

const (
	// callLimit bounds one call; systemd answers in milliseconds, or, while it
	// reloads its units, in a few seconds.
	callLimit = 10 * time.Second
	// maxAncestors bounds how far up the parents of this process are followed.
	maxAncestors = 64
)

// Services restarts services through systemd.
type Services struct {
	root   string
	runner sysexec.Runner
}

var (
	_ services.Source  = Services{}
	_ services.Manager = (*manager)(nil)
)

// NewServices returns the services of the system below root, "/" on a live system. It makes no
// connection.
func NewServices(root string, runner sysexec.Runner) Services { return Services{root, runner} }

// Open implements [services.Source].
func (s Services) Open(ctx context.Context) (services.Manager, error) {
	if s.root != "/" || !systemd.Booted() {
		return nil, s.unsupported()
	}
	// The connection ends with its context, and must outlive that of the caller: the effect of a
	// restart must be reported even after a cancellation.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := time.AfterFunc(callLimit, end)
	stopped := context.AfterFunc(ctx, end)
	conn, err := systemd.Connect(life, s.root)
	if !stop.Stop() || !stopped() || err != nil {
		end()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.New(fault.Unavailable, "systemd does not answer.").WithFix("See whether it answers to: systemctl is-system-running")
	}
	return &manager{conn: conn, end: end, root: s.root, procfs: procfs.New(s.root), runner: s.runner}, nil
}

// unsupported names the service manager that runs instead, recognized by its files in /run, and how
// to look at and restart a service with it; NAME stands for the service ([services.NamePlace]). Below
// /run/runit there are services once it runs; Debian's package makes the folders without.
func (s Services) unsupported() error {
	for _, other := range []struct{ mark, name, status, fix string }{
		{"run/openrc", "OpenRC", "rc-status, or rc-service NAME status", "sudo rc-service NAME restart"},
		{"run/s6-rc", "s6-rc", "s6-svstat /run/service/NAME", "sudo s6-rc -d change NAME, then sudo s6-rc -u change NAME"},
		{"run/runit/*/*", "runit", "sudo sv status NAME", "sudo sv restart NAME"},
		{"run/dinitctl", "dinit", "dinitctl status NAME", "sudo dinitctl restart NAME"},
	} {
		if seen, err := filepath.Glob(filepath.Join(s.root, other.mark)); err == nil && len(seen) > 0 {
			return fault.New(fault.Unsupported, "The services of this machine are run by "+other.name+", and sentinel knows those of systemd alone.").
				WithFix("See how it is with: " + other.status + ", and restart it with: " + other.fix)
		}
	}
	return fault.New(fault.Unsupported, "systemd does not run here, and sentinel knows services of systemd alone.").
		WithFix("Ask what runs the services of this machine, such as: service NAME status, or sudo service NAME restart")
}

// A manager is a connection to systemd.
type manager struct {
	conn   *dbus.Conn
	end    context.CancelFunc
	root   string
	procfs procfs.FS
	runner sysexec.Runner
}

// Close implements [services.Manager].
func (m *manager) Close() {
	m.conn.Close()
	m.end()
}

// Restart implements [services.Manager]. The mode is that of systemctl: conflicting jobs are
// replaced, except irreversible ones such as a shutdown. systemd asks for the limit of starts when it has stopped the
// service, and tells nobody how many it has counted; so they are forgotten first. A unit that is not loaded has none,
// and one that cannot be loaded is not stopped for its start.
func (m *manager) Restart(ctx context.Context, name string, others []string) (<-chan string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	for _, unit := range append([]string{name}, others...) {
		switch err := m.forgetStarts(ctx, unit); {
		case err == nil, errors.Is(err, services.ErrNoUnit), errors.Is(err, services.ErrMasked), errors.Is(err, services.ErrRejected):
		default:
			return nil, err
		}
	}
	done := make(chan string, 1)
	if _, err := m.conn.RestartUnitContext(ctx, name, "replace", done); err != nil {
		return nil, known(err)
	}
	return done, nil
}

// forgetStarts has systemd forget how often it has started a unit, but not the unit: one that is off stays in memory for
// its failure alone, and one that is not in a file, or not as it is there, would be lost. The mark of a failure goes with
// the count; where no limit can be reached it stays until the start, which systemd may yet reject.
func (m *manager) forgetStarts(ctx context.Context, unit string) error {
	p, err := m.conn.GetUnitPropertiesContext(ctx, unit)
	if err != nil {
		return known(err)
	}
	if p["ActiveState"] == "failed" && (p["Transient"] == true || p["NeedDaemonReload"] == true || !startLimited(p, moment(p, "StateChangeTimestamp"))) {
		return nil
	}
	return known(m.conn.ResetFailedUnitContext(ctx, unit))
}

// Names implements [services.Manager]. The names include templates.
func (m *manager) Names(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	files, err := m.conn.ListUnitFilesByPatternsContext(ctx, nil, []string{"*.service"})
	if err != nil {
		return nil, known(err)
	}
	loaded, err := m.conn.ListUnitsByPatternsContext(ctx, nil, []string{"*.service"})
	if err != nil {
		return nil, known(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Path[strings.LastIndexByte(f.Path, '/')+1:])
	}
	for _, u := range loaded {
		if u.LoadState != "not-found" {
			names = append(names, u.Name)
		}
	}
	return names, nil
}

// Ancestry implements [services.Manager].
func (m *manager) Ancestry() (services.Ancestry, error) {
	var own services.Ancestry
	for pid := os.Getpid(); pid > 1 && len(own.PIDs) < maxAncestors; {
		process, err := m.procfs.Process(pid)
		if err != nil && len(own.PIDs) == 0 {
			return services.Ancestry{}, err
		}
		if err != nil {
			break // an ancestor that has ended holds no unit any more
		}
		group, err := m.procfs.ControlGroup(pid)
		if err != nil && len(own.PIDs) == 0 {
			return services.Ancestry{}, err
		}
		own.PIDs, own.Groups = append(own.PIDs, pid), append(own.Groups, group)
		pid = process.ParentPID
	}
	return own, nil
}

// known translates the errors of systemd by their names
// (src/libsystemd/sd-bus/bus-common-errors.h).
func known(err error) error {
	name, ok := errorName(err)
	if !ok {
		return err
	}
	switch strings.TrimPrefix(strings.TrimPrefix(name, "org.freedesktop.systemd1."), "org.freedesktop.DBus.Error.") {
	case "NoSuchUnit":
		return fmt.Errorf("%w: %w", services.ErrNoUnit, err)
	case "UnitMasked":
		return fmt.Errorf("%w: %w", services.ErrMasked, err)
	case "OnlyByDependency":
		return fmt.Errorf("%w: %w", services.ErrNoManual, err)
	case "AccessDenied", "InteractiveAuthorizationRequired":
		return fmt.Errorf("%w: %w", services.ErrDenied, err)
	case "TransactionIsDestructive", "ShuttingDown":
		return fmt.Errorf("%w: %w", services.ErrBusy, err)
	case "LoadFailed", "BadUnitSetting", "JobTypeNotApplicable", "TransactionJobsConflicting", "TransactionOrderIsCyclic", "InvalidArgs":
		return fmt.Errorf("%w: %w", services.ErrRejected, err)
	}
	return err
}
