// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package updates

import "errors"

// isLocked needs what Linux alone has.
func isLocked(string) (bool, error) { return false, errors.ErrUnsupported }
