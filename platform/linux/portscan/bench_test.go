// SPDX-License-Identifier: Apache-2.0

//go:build linux

package portscan

import (
	"net/netip"
	"testing"

	"sentinel/internal/portscan"
	"sentinel/internal/portscan/connectscan"
)

// The figure to beat is that of nmap -sT -T4 -n -Pn for the same ports.
func BenchmarkScanOfAllLocalPorts(b *testing.B) {
	ports := portscan.Ports{{First: 1, Last: 65535}}.List()
	job := portscan.Job{Address: netip.MustParseAddr("127.0.0.1"), Ports: ports, Local: true}
	for b.Loop() {
		r, err := connectscan.New(Dialer{}).Scan(b.Context(), job)
		if err != nil || r.Known() != len(ports) {
			b.Fatalf("%v of %d: %v", r, len(ports), err)
		}
	}
}
