// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package mounts

import "errors"

func statfs(string) (Usage, error) { return Usage{}, errors.ErrUnsupported }
