// SPDX-License-Identifier: Apache-2.0

package links

import (
	"fmt"
	"syscall"
)

// List returns the interfaces of the caller's network namespace, by index.
func List() ([]Link, error) {
	links, err := syscall.NetlinkRIB(syscall.RTM_GETLINK, syscall.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	addresses, err := syscall.NetlinkRIB(syscall.RTM_GETADDR, syscall.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	return parse(links, addresses)
}
