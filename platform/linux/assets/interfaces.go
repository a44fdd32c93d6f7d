// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"
	"net"
	"net/netip"

	"sentinel/internal/assets"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/sysfs"
)

// Interfaces implements [assets.Source]. Where netlink does not answer (seccomp
// filters forbid it), /sys and /proc do, without IPv4 addresses.
func (v *Inventory) Interfaces(context.Context) ([]assets.Link, error) {
	list, err := v.links()
	if err != nil {
		return v.interfacesFromFiles()
	}
	out := make([]assets.Link, 0, len(list))
	for _, l := range list {
		out = append(out, assets.Link{
			Name: l.Name, MAC: hardwareAddress(l.MAC), MTU: int(l.MTU), Up: l.Up(), Loopback: l.Flags&interfaces.FlagLoopback != 0,
			SpeedMbps: v.speed(l), Addresses: prefixTexts(l.Addresses),
		})
	}
	return out, nil
}

// speed returns that of hardware and of bundles of it. What other virtual
// interfaces report is invented (veth: 10 Gbit/s), and asking costs a file for each.
func (v *Inventory) speed(l interfaces.Link) int {
	switch {
	case !l.Up() || l.Flags&interfaces.FlagLoopback != 0:
		return 0
	case l.Kind == "" || l.Kind == "bond" || l.Kind == "team":
		return sysfs.LinkSpeed(v.root, l.Name, l.Index)
	default:
		return 0
	}
}

func (v *Inventory) interfacesFromFiles() ([]assets.Link, error) {
	devices, err := sysfs.ReadNetDevices(v.root)
	if err != nil && len(devices) == 0 {
		return nil, reason(err)
	}
	addresses, _ := interfaces.IPv6Addresses(v.root) //nolint:errcheck // errIPv4 stands for all missing addresses
	out := make([]assets.Link, 0, len(devices))
	for _, d := range devices {
		mac, err := net.ParseMAC(d.MAC)
		if err != nil {
			mac = nil
		}
		l := interfaces.Link{Name: d.Name, Index: d.Index, Flags: d.Flags, OperState: operState(d)}
		out = append(out, assets.Link{
			Name: d.Name, MAC: hardwareAddress(mac), MTU: d.MTU, Up: l.Up(), Loopback: d.Flags&interfaces.FlagLoopback != 0,
			SpeedMbps: v.speed(l), Addresses: prefixTexts(addresses[d.Name]),
		})
	}
	return out, errIPv4
}

// operState maps the words of sysfs to numbers. An interface in an unknown state
// that is switched on counts as up: the flags in sysfs do not show the carrier.
func operState(d sysfs.NetDevice) uint8 {
	switch {
	case d.State == "up", d.State == "unknown" && d.Flags&interfaces.FlagUp != 0:
		return interfaces.OperUp
	default:
		return 2
	}
}

// hardwareAddress is empty for the zero address (loopback) and for what tunnels
// have in its place.
func hardwareAddress(mac []byte) string {
	switch len(mac) {
	case 6, 8, 20:
	default:
		return ""
	}
	for _, b := range mac {
		if b != 0 {
			return net.HardwareAddr(mac).String()
		}
	}
	return ""
}

func prefixTexts(addresses []netip.Prefix) []string {
	list := make([]string, 0, len(addresses))
	for _, a := range addresses {
		list = append(list, a.String())
	}
	return list
}
