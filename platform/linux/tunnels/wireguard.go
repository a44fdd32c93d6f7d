// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tunnels

import (
	"fmt"
	"net/netip"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/wireguard"
)

// wireGuard tells the peer that has the remote address behind it.
func (w *walk) wireGuard(t *sessions.Tunnel, index int, remote netip.Addr) {
	d, err := w.device(index)
	if err != nil {
		t.Unknown = fmt.Sprintf("the peers of the tunnel %s cannot be read (%v)", title(t.Interface), err)
		return
	}
	if d.Port != 0 {
		t.Ports = []sessions.Port{{Protocol: "udp", Number: d.Port}}
	}
	if p, ok := d.Behind(remote); ok && p.Endpoint.IsValid() {
		t.Addresses = []netip.Addr{p.Endpoint}
	}
}

func (r *Reader) device(index int) (wireguard.Device, error) {
	messages, err := r.kernel.wireGuard(index)
	if err != nil {
		return wireguard.Device{}, err
	}
	return wireguard.Parse(messages)
}
