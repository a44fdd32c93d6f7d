// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package host

import "errors"

// Open fails with errors.ErrUnsupported: nothing is built for this system.
func Open(string) (*Host, error) { return nil, errors.ErrUnsupported }
