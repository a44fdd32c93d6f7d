// SPDX-License-Identifier: Apache-2.0

// Package blocklist keeps addresses out with the packet filters of Linux: an own
// table of nftables, or an own chain of iptables where the kernel has no nftables. It
// ends connections that are open already, and tells what must stay reachable.
package blocklist
