// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package privilege

import "errors"

func takeOn(Identity) (back func() error, err error) { return nil, errors.ErrUnsupported }
