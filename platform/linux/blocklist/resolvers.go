// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"

	"sentinel/internal/blocklist"
	"sentinel/platform/linux/resolvconf"
)

func (s *HostContext) resolvers(context.Context) (list []blocklist.ProtectedAddr, err error) {
	servers, err := resolvconf.Here(s.root)
	for _, a := range servers {
		list = append(list, blocklist.Protect(a, blocklist.WhyNameServer))
	}
	return list, err
}
