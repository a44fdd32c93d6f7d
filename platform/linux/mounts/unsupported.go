// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package mounts

import (
	"errors"
	"io"

	"github.com/moby/sys/mountinfo"
)

func statfs(string) (Usage, error) { return Usage{}, errors.ErrUnsupported }

func readTable(io.Reader) ([]*mountinfo.Info, error) { return nil, errors.ErrUnsupported }
