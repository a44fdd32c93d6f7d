// SPDX-License-Identifier: Apache-2.0

// Package probe asks other hosts, and this one, what they answer to: which TCP
// ports take connections, and through which routers a packet goes. It needs no privilege.
package probe
