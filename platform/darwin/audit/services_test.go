// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"io/fs"
	"net/netip"
	"slices"
	"testing"

	"sentinel/internal/network"
	"sentinel/internal/sysexec"
)

// listening is one socket of process 700.
type listening struct {
	sockets
	protocol network.Protocol
	port     uint16
}

func (l listening) Sockets(_ context.Context, visit func(network.Socket)) error {
	visit(network.Socket{Protocol: l.protocol, State: network.Listen, Local: netip.AddrPortFrom(netip.IPv4Unspecified(), l.port), ID: 1})
	return nil
}

func (listening) Owners(context.Context, []network.Socket) (map[uint64]network.Owner, bool, error) {
	return map[uint64]network.Owner{1: {PID: 700, Name: "ControlCenter"}}, false, nil
}

// A port is anybody's, and so is the name of a process.
func TestAPortOfMacOSIsServedByMacOS(t *testing.T) {
	const center = "/System/Library/CoreServices/ControlCenter.app/Contents/MacOS/ControlCenter"
	for _, c := range []struct {
		protocol     network.Protocol
		port         uint16
		file, status string
	}{
		{network.TCP, 5000, center, "PASS"},
		{network.TCP, 7000, center, "PASS"},
		{network.UDP, 5000, center, "WARN"},
		{network.TCP, 5000, "/Users/mira/ControlCenter", "WARN"},
		{network.TCP, 5000, "/System/Volumes/Data/Users/mira/ControlCenter", "WARN"},
		{network.TCP, 5000, "/usr/bin/nc", "WARN"},
		{network.TCP, 5000, "", "WARN"},
		{network.TCP, 3722, "/usr/libexec/rapportd", "WARN"},
		{network.UDP, 3722, "/usr/libexec/rapportd", "PASS"},
		{network.UDP, 5353, "/Applications/Browser.app/Contents/MacOS/Browser", "PASS"},
		{network.TCP, 5353, "/usr/sbin/mDNSResponder", "WARN"},
	} {
		p := parts(t, "m4-26")
		p.Sockets = listening{protocol: c.protocol, port: c.port}
		p.Runner = runner(func(_ context.Context, command sysexec.Command) (sysexec.Result, error) {
			if c.file == "" || !slices.Equal(command.Args, []string{"-nP", "+L", "-p", "700", "-Fftskn"}) {
				return sysexec.Result{}, fs.ErrNotExist
			}
			return sysexec.Result{Stdout: []byte("p700\nfcwd\ntDIR\nn/\nftxt\ntREG\nn" + c.file + "\nftxt\ntREG\nn/usr/lib/dyld\n")}, nil
		})
		if f := finding(t, p, "services.exposed"); string(f.Status) != c.status {
			t.Errorf("%s at %d/%s: %+v", c.file, c.port, c.protocol, f)
		}
	}
}
