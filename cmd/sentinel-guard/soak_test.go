// SPDX-License-Identifier: Apache-2.0

//go:build soak

package main

import "time"

func init() { rounds, flood, pause = 300, 5<<30, time.Minute }
