// SPDX-License-Identifier: Apache-2.0

// Package blocklist keeps addresses out with pf, the packet filter of macOS: a
// table and two rules in an anchor of its own, which the stock main ruleset refers to. It
// makes pf forget connections that are open already, and tells what must stay reachable.
package blocklist
