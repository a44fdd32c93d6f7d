// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package local

import (
	"errors"

	"sentinel/internal/host"
)

// Open fails with errors.ErrUnsupported: this system is not supported.
func Open(string) (*host.Host, error) { return nil, errors.ErrUnsupported }
