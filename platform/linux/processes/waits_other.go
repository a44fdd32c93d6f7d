// SPDX-License-Identifier: Apache-2.0

//go:build linux && !amd64

package processes

// oldWaits are calls that this architecture does not have.
var oldWaits []wait
