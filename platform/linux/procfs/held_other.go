// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package procfs

import (
	"errors"
	"os"
)

// StatHeld needs Linux.
func StatHeld(string) (Held, error) { return Held{}, errors.ErrUnsupported }

// StatNamed needs Linux.
func StatNamed(string) (Held, error) { return Held{}, errors.ErrUnsupported }

// OpenHeld needs Linux.
func OpenHeld(string, func(Held) bool) (*os.File, error) { return nil, errors.ErrUnsupported }

// InMemory needs Linux.
func (h Held) InMemory() bool { return false }
