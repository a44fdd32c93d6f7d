// SPDX-License-Identifier: Apache-2.0

//go:build linux && soak

package remedy

func init() { rounds = 3000 }
