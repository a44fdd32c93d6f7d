// SPDX-License-Identifier: Apache-2.0

// Package truth holds sentinel to what other programs say about the same
// machine at the same moment: ss, free, the kernel's own counters, and a
// process's account of itself.
//
// The tests run the real binary in namespaces of their own, so that they see
// only what they made themselves and leave nothing behind on the host.
package truth
