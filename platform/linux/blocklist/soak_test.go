// SPDX-License-Identifier: Apache-2.0

//go:build linux && soak

package blocklist

func init() { rounds = 1000 }
