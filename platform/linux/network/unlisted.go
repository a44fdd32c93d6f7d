// SPDX-License-Identifier: Apache-2.0

//go:build linux

package network

import (
	"context"

	"sentinel/internal/network"
	"sentinel/platform/linux/sockdiag"
	"sentinel/platform/unix/hostfile"
)

// maxVSock bounds how many listeners of AF_VSOCK are told: users have as many as they like.
const maxVSock = 1 << 16

var _ network.Unlister = (*Source)(nil)

// Unlisted implements [network.Unlister]. A kernel that does not have AF_VSOCK at this time is not asked for it, which
// would have it load that.
func (s *Source) Unlisted(ctx context.Context) (found network.Unlisted, err error) {
	sockets, err := s.proc.Protocols()
	if hostfile.Missing(err) {
		return found, nil
	}
	kernels := map[string]int{"SCTP": 1} // which the kernel counts in each network namespace for itself (sctp_ctrlsock_init)
	for _, protocol := range []string{"SCTP", "DCCP"} {
		n := sockets[protocol] + sockets[protocol+"v6"]
		if n -= min(n, kernels[protocol]); n > 0 {
			found.Open = append(found.Open, network.Count{Protocol: protocol, Sockets: n})
		}
	}
	if _, has := sockets["AF_VSOCK"]; !has || s.vsock == nil {
		return found, err
	}
	err = s.vsock(ctx, func(v sockdiag.VSock) {
		if !v.Inside() && len(found.Machines) < maxVSock {
			found.Machines = append(found.Machines, network.VSock{Port: v.Port, ID: v.Inode})
		}
	})
	return found, err
}
