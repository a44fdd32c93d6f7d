// SPDX-License-Identifier: Apache-2.0

// Package assets reads the inventory of a Mac. Only the level of Secure Boot of
// some Macs needs root.
package assets

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"time"

	"sentinel/internal/assets"
	"sentinel/internal/deadline"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/diskutil"
	"sentinel/platform/darwin/mount"
	"sentinel/platform/darwin/posture"
	"sentinel/platform/darwin/release"
	"sentinel/platform/darwin/routing"
	"sentinel/platform/darwin/sysctl"
	"sentinel/platform/darwin/systemprofiler"
	"sentinel/platform/darwin/vmstat"
)

// errUUID says why there is no id to derive the asset id from.
var errUUID = errors.New("the hardware UUID that system_profiler prints is not valid")

// Parts are what an inventory is taken with.
type Parts struct {
	Root   string // below which files are read; "/" on a live system
	Runner sysexec.Runner
	Now    func() time.Time
}

// programLimit bounds the wait for a program, also for one that does not end when
// it is killed.
const programLimit = 8 * time.Second

// An Inventory reads one Mac, once. The first call starts all programs side by
// side: together they take as long as the slowest, at most eight seconds. It is safe for
// concurrent use.
type Inventory struct {
	p     Parts
	start sync.Once

	report     func() (systemprofiler.Report, error)
	kernel     func() (release.Kernel, error)
	system     func() (release.OS, error)
	values     func() (sysctl.Values, error)
	memory     func() (vmstat.Memory, error)
	links      func() ([]routing.Interface, error)
	ports      func() (map[string]string, error)
	mounted    func() ([]diskutil.Volume, error)
	mounts     func() (mount.Table, error)
	containers func() ([]diskutil.Container, error)
	sip        func() (posture.SIP, error)
	gatekeeper func() (bool, error)
	vault      func() (posture.FileVault, error)
	boot       func() (posture.Boot, error)
}

var _ assets.Source = (*Inventory)(nil)

// New returns the inventory of a Mac. Nothing is read yet.
func New(p Parts) *Inventory { return &Inventory{p: p} }

// begin starts all programs unless they were started already.
func (v *Inventory) begin(ctx context.Context) {
	v.start.Do(func() {
		v.report = inBackground(ctx, v.p.Runner, systemprofiler.Read)
		v.kernel = inBackground(ctx, v.p.Runner, release.ReadKernel)
		v.system = inBackground(ctx, v.p.Runner, func(ctx context.Context, r sysexec.Runner) (release.OS, error) { return release.Read(ctx, r, v.p.Root) })
		v.values = inBackground(ctx, v.p.Runner, readValues)
		v.memory = inBackground(ctx, v.p.Runner, vmstat.Read)
		v.links = inBackground(ctx, v.p.Runner, routing.Interfaces)
		v.ports = inBackground(ctx, v.p.Runner, routing.Ports)
		v.mounted = inBackground(ctx, v.p.Runner, diskutil.Volumes)
		v.mounts = inBackground(ctx, v.p.Runner, mount.Read)
		v.containers = inBackground(ctx, v.p.Runner, diskutil.Containers)
		v.sip = inBackground(ctx, v.p.Runner, posture.ReadSIP)
		v.gatekeeper = inBackground(ctx, v.p.Runner, posture.ReadGatekeeper)
		v.vault = inBackground(ctx, v.p.Runner, posture.ReadFileVault)
		v.boot = inBackground(ctx, v.p.Runner, posture.ReadBoot)
	})
}

// inBackground starts a read and returns a function that waits for its result.
func inBackground[T any](ctx context.Context, runner sysexec.Runner, read func(context.Context, sysexec.Runner) (T, error)) func() (T, error) {
	var (
		value T
		err   error
		done  = make(chan struct{})
	)
	go func() {
		defer close(done)
		value, err = deadline.Call(ctx, programLimit, func(ctx context.Context) (T, error) { return read(ctx, runner) })
	}()
	return func() (T, error) {
		<-done
		return value, err
	}
}

// System implements [assets.Source].
func (v *Inventory) System(ctx context.Context) assets.System {
	v.begin(ctx)
	kernel, kernelErr := v.kernel()
	system, systemErr := v.system()
	return assets.System{
		Hostname:     kernel.Hostname,
		MachineID:    v.machineID(),
		Name:         fact(system.Name, systemErr),
		Version:      fact(system.Full(), systemErr),
		Build:        fact(system.Build, systemErr),
		Kernel:       fact(kernel.Release, kernelErr),
		Architecture: fact(kernel.Machine, kernelErr),
		Uptime:       v.uptime(),
	}
}

// machineID is the hardware UUID, which survives a new installation of macOS.
func (v *Inventory) machineID() assets.Fact[[16]byte] {
	report, err := v.report()
	if err != nil {
		return assets.Fact[[16]byte]{Err: err}
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(report.Hardware.UUID, "-", ""))
	if err != nil || len(raw) != 16 {
		return assets.Fact[[16]byte]{Err: errUUID}
	}
	return assets.Fact[[16]byte]{Value: [16]byte(raw)}
}

func (v *Inventory) uptime() assets.Fact[time.Duration] {
	values, err := v.values()
	if err != nil {
		return assets.Fact[time.Duration]{Err: err}
	}
	boot, err := values.BootTime()
	if err == nil && boot.After(v.p.Now()) {
		err = errors.New("the machine started in the future; the clock is wrong")
	}
	if err != nil {
		return assets.Fact[time.Duration]{Err: err}
	}
	return assets.Fact[time.Duration]{Value: v.p.Now().Sub(boot)}
}

// fact joins a value and its error; a value that was read in spite of an error
// counts.
func fact[T comparable](value T, err error) assets.Fact[T] {
	var none T
	if value != none {
		return assets.Fact[T]{Value: value}
	}
	return assets.Fact[T]{Err: err}
}
