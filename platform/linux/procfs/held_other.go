// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package procfs

import "errors"

// StatHeld needs Linux.
func StatHeld(string) (Held, error) { return Held{}, errors.ErrUnsupported }
