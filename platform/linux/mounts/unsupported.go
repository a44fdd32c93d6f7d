// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package mounts

import (
	"errors"
	"io"

	"github.com/moby/sys/mountinfo"
)

func statfs(string) (Usage, error) { return Usage{}, errors.ErrUnsupported }

func parseEach(io.Reader, func(*mountinfo.Info) error) error { return errors.ErrUnsupported }

func statMounts([]*mountinfo.Info) ([]*mountinfo.Info, error) { return nil, errRead }
