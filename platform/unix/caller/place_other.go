// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package caller

import "golang.org/x/sys/unix"

const setLock = unix.F_SETLK
