// SPDX-License-Identifier: Apache-2.0

// Package local assembles the system that this program was built for.
package local
