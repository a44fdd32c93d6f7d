// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"net/netip"
	"time"

	"sentinel/internal/network"
)

// today is the day on which the machines are looked at.
var today = time.Date(2026, 5, 31, 12, 0, 0, 0, time.UTC)

// testListeners are the sockets of the machines.
var testListeners = map[string][]testListener{
	"hardened": {{network.TCP, "0.0.0.0:22", "sshd"}, {network.TCP, "[::]:22", "systemd"}, {network.TCP, "127.0.0.1:5432", "postgres"}, {network.UDP, "0.0.0.0:68", "dhclient"}, {network.UDP, "[::]:45123", "dig"}},
	"debian":   {{network.TCP, "0.0.0.0:22", "sshd"}, {network.TCP, "[::]:80", "nginx"}, {network.TCP, "0.0.0.0:80", "nginx"}},
	"broken":   {{network.TCP, "0.0.0.0:23", "inetd"}, {network.TCP, "[::]:6379", "redis-server"}, {network.TCP, "192.0.2.4:3306", ""}, {network.UDP, "0.0.0.0:69", "in.tftpd"}},
}

// waiting are the security updates of the machines.
var waiting = map[string][]string{
	"hardened": {},
	"debian":   {},
	"broken":   {"openssl", "libc6"},
}

// withHostState adds what is not in the files of a machine.
func withHostState(name string, p Parts) Parts {
	p.Now = today
	if w, ok := waiting[name]; ok {
		p.SecurityUpdates = func(context.Context) ([]string, error) { return w, nil }
		p.Sockets = testSockets(testListeners[name])
	}
	return p
}

type testListener struct {
	protocol network.Protocol
	address  string
	owner    string
}

type testSockets []testListener

func (d testSockets) Sockets(_ context.Context, visit func(network.Socket)) error {
	for i, one := range d {
		visit(network.Socket{Protocol: one.protocol, State: network.Listen, Local: netip.MustParseAddrPort(one.address), ID: uint64(i + 1)})
		visit(network.Socket{Protocol: one.protocol, State: network.Established, Local: netip.MustParseAddrPort(one.address), ID: 99})
	}
	return nil
}

func (d testSockets) Owners(_ context.Context, list []network.Socket) (map[uint64]network.Owner, bool, error) {
	owners := map[uint64]network.Owner{}
	for _, k := range list {
		id := k.ID
		if one := d[id-1]; one.owner != "" {
			owners[id] = network.Owner{PID: int(100 + id), Name: one.owner}
		}
	}
	return owners, false, nil
}

func (d testSockets) Interfaces(context.Context) ([]network.Interface, error) { return nil, nil }
