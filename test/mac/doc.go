// SPDX-License-Identifier: Apache-2.0

// Package mac runs sentinel on a real Mac. On other systems it is empty.
//
// What only reads always runs. The tests that change the Mac (they end a process and
// restart a job of their own, block a documentation address and switch the Application Firewall on and
// back) need root and SENTINEL_MAC_WRITES=yes.
package mac
