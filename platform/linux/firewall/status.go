// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"io/fs"
	"slices"

	"github.com/godbus/dbus/v5"

	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/interfaces"
)

// A Source reads the firewall of the system below a root directory.
type Source struct {
	root   string
	nft    func() ([]firewall.Chain, error)
	legacy Legacy
	links  func() []firewall.Link
	onBus  func(ctx context.Context, name string) bool
}

var _ firewall.Source = (*Source)(nil)

// NewSource returns the Source for root; "/" is the live system. Another root has no
// kernel behind it, so its rules are unreadable.
func NewSource(root string, runner sysexec.Runner) *Source {
	s := &Source{
		root: root, legacy: Legacy{Root: root, Runner: runner},
		nft:   func() ([]firewall.Chain, error) { return nil, fs.ErrPermission },
		links: func() []firewall.Link { return nil },
		onBus: func(context.Context, string) bool { return false },
	}
	if root == "/" {
		s.nft, s.links, s.onBus = Chains, links, onSystemBus
	}
	return s
}

// Firewall implements [firewall.Source].
func (s *Source) Firewall(ctx context.Context) firewall.Facts {
	f := firewall.Facts{Links: s.links()}
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

// links lists the interfaces that other hosts can be behind: not loopback, nor the ports of a bridge or
// bond, whose packets come in by that. One without an address is such a way too: the kernel takes packets
// for any address of this host by every interface.
func links() []firewall.Link {
	all, err := interfaces.List()
	if err != nil {
		return nil // rules that name one decide nothing then
	}
	return linksOf(all)
}

func linksOf(all []interfaces.Link) (list []firewall.Link) {
	for _, l := range all {
		if l.Flags&interfaces.FlagLoopback != 0 || !l.Up() || l.Master != 0 {
			continue
		}
		link := firewall.Link{Index: l.Index, Name: l.Name, Inner: inner(all, l)}
		for _, a := range l.Addresses {
			link.Addresses = append(link.Addresses, a.Addr().WithZone(""))
		}
		list = append(list, link)
	}
	return list
}

// inner reports whether only containers and machines of this host are behind a link: it is an end of a pair, or a
// bridge of such ends and of TAP devices. In a container that is the way out, too: only where there is hardware is it
// known not to be.
func inner(all []interfaces.Link, l interfaces.Link) bool {
	hardware := func(o interfaces.Link) bool { return o.Kind == "" && o.Flags&interfaces.FlagLoopback == 0 && o.Up() }
	end := func(o interfaces.Link) bool { return o.Pair() || o.Kind == interfaces.KindTUN }
	outside := func(o interfaces.Link) bool { return o.Master == l.Index && !end(o) }
	switch {
	case !slices.ContainsFunc(all, hardware):
		return false
	case l.Kind == "bridge":
		return !slices.ContainsFunc(all, outside)
	default:
		return l.Pair() && l.Abroad
	}
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
