// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"io/fs"

	"github.com/godbus/dbus/v5"

	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
)

// A Source reads the firewall of the system below a root directory.
type Source struct {
	root   string
	nft    func() ([]firewall.Chain, error)
	legacy Legacy
	onBus  func(ctx context.Context, name string) bool
}

var _ firewall.Source = (*Source)(nil)

// NewSource returns the Source for root; "/" is the live system. Another root has no
// kernel behind it, so its rules are unreadable.
func NewSource(root string, runner sysexec.Runner) *Source {
	s := &Source{
		root: root, legacy: Legacy{Root: root, Runner: runner},
		nft:   func() ([]firewall.Chain, error) { return nil, fs.ErrPermission },
		onBus: func(context.Context, string) bool { return false },
	}
	if root == "/" {
		s.nft, s.onBus = Chains, onSystemBus
	}
	return s
}

// Firewall implements [firewall.Source].
func (s *Source) Firewall(ctx context.Context) firewall.Facts {
	f := firewall.Facts{}
	if f.Chains, f.Unreadable = s.nft(); f.Unreadable == nil {
		var old []firewall.Chain
		old, f.Unreadable = s.legacy.Chains(ctx)
		f.Chains = append(f.Chains, old...)
	}
	if ufwEnabled(s.root) {
		f.Managers = append(f.Managers, "ufw")
	}
	if f.Unreadable != nil && s.onBus(ctx, "org.fedoraproject.FirewallD1") {
		f.Managers = append(f.Managers, "firewalld")
	}
	return f
}

// onSystemBus says whether a service owns name on the system bus; anyone may
// ask. No bus means no.
func onSystemBus(ctx context.Context, name string) bool {
	conn, err := dbus.ConnectSystemBus(dbus.WithContext(ctx))
	if err != nil {
		return false
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	var owned bool
	call := conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, name)
	return call.Store(&owned) == nil && owned
}
