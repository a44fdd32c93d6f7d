// SPDX-License-Identifier: Apache-2.0

//go:build soak

package main

func init() { rounds, flood = 300, 5<<30 }
