// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package links

import "errors"

// List fails: rtnetlink is Linux's.
func List() ([]Link, error) { return nil, errors.ErrUnsupported }
